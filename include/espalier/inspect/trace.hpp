// trace.hpp - a recorded trace: header, start state, events, final state; and its file.
//
//   recorded_trace t = begin_trace(tree);   // blink_trace.hpp, radix_trace.hpp
//   ... traced teams work (recorder.hpp) ...
//   end_trace(t, tree, recorder);
//   write_trace(file, t);
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "espalier/inspect/state.hpp"
#include "espalier/trace/event.hpp"

namespace espalier {

/// The header line of a trace (docs/trace-format.md).
struct trace_header {
  static constexpr unsigned format = 1;
  std::string index = "blink";
  std::string protocol = "link";
  std::string upper;  ///< empty: absent from the header
  unsigned slots = 0;
  std::string key = "u64";
  std::string device = "cpu";
  std::string team = "thread";
  std::string clock = "ns";
  std::string title;

  /// True for trees with right links: B-link trees, B+trees, and the regular layout of a hybrid tree.
  [[nodiscard]] bool is_linked() const { return protocol != "none"; }
};

/// A trace in host memory.
struct recorded_trace {
  trace_header header;
  trace_state start;
  std::vector<trace_event> events;  ///< times count from the first event and never decrease
  std::vector<trace_state> states;  ///< states of `state` events
  std::uint64_t lost = 0;
  trace_state final;
  std::string left_out;  ///< a sentence about missing events, or empty

  std::uint64_t clock_began = 0;  ///< the device's clock at the first event
};

/// Appends the events of a recorder, with times relative to the first event and the way in which nodes were reached.
void append(recorded_trace& trace, const std::vector<trace_event>& raw);
/// Reason of a `state` event.
enum class trace_state_why : std::uint8_t {
  maintain,  ///< the owner rebuilt the tree
  write,     ///< a write changed the tree without events
};
/// Appends a `state` event that replaces the whole tree.
void append_state(recorded_trace& trace, trace_state now, trace_state_why why = trace_state_why::maintain);

/// Writes a trace as JSON Lines (docs/trace-format.md). Throws `error` if the stream fails.
void write_trace(std::ostream& out, const recorded_trace& trace);

/// Write the parts of a trace as JSON.
void write_header(std::ostream& out, const trace_header& header, const trace_state* start);
void write_event(std::ostream& out, const recorded_trace& trace, std::uint64_t i);
void write_state(std::ostream& out, const trace_state& state);
void write_end(std::ostream& out, std::uint64_t events, std::uint64_t lost, const std::string& left_out,
               const trace_state& final);

namespace detail {

/// How a node was reached (`what` of a `reach` event).
enum class trace_by : std::uint8_t { root, child, link, lane, again };

inline constexpr const char* trace_op_names[] = {"find", "insert", "assign", "update", "erase", "range"};
inline constexpr const char* trace_result_names[] = {"done", "unchanged", "no_room"};
inline constexpr const char* trace_why_names[] = {"busy", "changed", "restart"};
inline constexpr const char* trace_state_why_names[] = {"maintain", "write"};
inline constexpr const char* trace_by_names[] = {"root", "child", "link", "lane", "again"};
inline constexpr const char* trace_node_kind_names[] = {"plain",   "node4", "node16", "node48",
                                                        "node256", "leaf",  "root"};
inline constexpr const char* trace_kind_names[] = {"begin",  "end",   "reach", "latch",  "unlatch", "insert", "erase",
                                                   "assign", "split", "link",  "post",   "grow",    "merge",  "retry",
                                                   "kind",   "state", "leaf",  "branch", "drop",    "join"};

}  // namespace detail
}  // namespace espalier
