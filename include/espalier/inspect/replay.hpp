// replay.hpp - replays a trace step by step, forwards and backwards.
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/inspect/trace.hpp"

namespace espalier {

/// The tree at one position of a trace. Not thread-safe.
class trace_replay {
 public:
  /// Starts at position 0, the start state. Lifetime: borrows the trace, to which events may be appended between calls.
  explicit trace_replay(const recorded_trace& trace) : trace_(trace), state_(trace.start) {}

  [[nodiscard]] std::uint64_t position() const { return position_; }
  /// The tree at position(). Lifetime: the reference is valid while the replay lives; steps change the state.
  [[nodiscard]] const trace_state& state() const { return state_; }
  /// Applies event position(). Throws `error` if the event does not fit the tree; then nothing has changed.
  void step();
  /// Undoes event position() - 1. Throws `error` at position 0.
  void step_back();
  /// Steps until position() == to. Throws `error` if there is no such position. O(|to - position()|).
  void go(std::uint64_t to);

 private:
  /// A node before an event.
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
  /// Checks a node that a team only read.
  void met(const trace_event& e) const;
  // Radix trees (replay_radix.cpp):
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
  std::vector<std::uint32_t> versions_;  ///< versions before `unlatch` events
  std::vector<trace_state> replaced_;    ///< states before `state` events
};

}  // namespace espalier
