// replay.hpp - a trace gone through step by step: the tree of any moment, forwards and backwards.
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/trace/trace.hpp"

namespace espalier {

class trace_replay {
 public:
  /// Borrows the trace, which may grow meanwhile. Position 0: its start.
  explicit trace_replay(const recorded_trace& trace) : trace_(trace), state_(trace.start) {}

  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] const trace_state& state() const { return state_; }
  /// Applies event position(). Throws `error` with a sentence if it does not fit the tree; then nothing has changed.
  void step();
  /// Undoes event position() - 1.
  void step_back();
  /// Steps until position() == to; throws `error` if there is no such position.
  void go(std::uint64_t to);

 private:
  /// A node as it was before an event.
  struct saved {
    trace_name name;
    bool existed;
    trace_node_state node;
  };

  void apply(const trace_event& e);
  void split(const trace_event& e);
  void link(const trace_event& e);
  void grow(const trace_event& e);
  void merge(const trace_event& e);
  void rename(const trace_event& e);
  /// A node that a team only looked at.
  void met(const trace_event& e) const;
  // Of radix trees, replay_radix.cpp:
  void new_leaf(const trace_event& e);
  void post_radix(const trace_event& e);
  void branch(const trace_event& e);
  void drop(const trace_event& e);
  void join(const trace_event& e);
  void put_slot(const trace_event& e);
  void take_slot(const trace_event& e);
  void save(trace_name n);
  void restore(std::size_t count);
  [[nodiscard]] bool is_radix() const { return trace_.header.index == "radix"; }
  [[nodiscard]] trace_node_state& node(trace_name n);

  const recorded_trace& trace_;
  trace_state state_;
  std::uint64_t position_ = 0;
  std::vector<saved> saved_;
  std::vector<std::uint32_t> versions_;  ///< before unlatches
  std::vector<trace_state> replaced_;    ///< before events of kind state
};

}  // namespace espalier
