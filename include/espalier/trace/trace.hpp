// trace.hpp - a recorded trace: where it comes from, the tree before, the events, the tree after; and its file.
//
//   trace t = begin_trace(tree);         // the tree as it is
//   ... traced teams work, recorder.hpp ...
//   append(t, recorder.take());
//   finish(t, tree, recorder.lost());
//   write_trace(file, t);
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "espalier/trace/event.hpp"
#include "espalier/trace/state.hpp"

namespace espalier {

struct trace_header {
  static constexpr unsigned format = 1;
  std::string index = "blink";
  std::string protocol = "link";
  std::string upper;  ///< empty: says nothing
  unsigned slots = 0;
  std::string key = "u64";
  std::string device = "cpu";
  std::string team = "thread";
  std::string clock = "ns";
  std::string title;

  /// A tree with right links: a B-link or B+tree, alone or as the regular layout of a hybrid tree.
  [[nodiscard]] bool is_linked() const { return protocol != "none"; }
};

struct recorded_trace {
  trace_header header;
  trace_state start;
  std::vector<trace_event> events;  ///< complete: times count from the first one and never fall
  std::vector<trace_state> states;  ///< those of events of kind state
  std::uint64_t lost = 0;
  trace_state final;
  std::string left_out;  ///< a sentence, or empty

  std::uint64_t clock_began = 0;  ///< what the device's clock said at the first event
};

/// Completes what a recorder gives and adds it: times, and by which way nodes were reached.
void append(recorded_trace& trace, const std::vector<trace_event>& raw);
/// Why a trace carries a whole tree.
enum class trace_state_why : std::uint8_t {
  maintain,  ///< it was made anew
  write,     ///< events do not tell what a write changed
};
/// The tree is now like this.
void append_state(recorded_trace& trace, trace_state now, trace_state_why why = trace_state_why::maintain);

/// docs/trace-format.md. Throws `error` if the stream fails.
void write_trace(std::ostream& out, const recorded_trace& trace);

/// Parts of it, as JSON.
void write_header(std::ostream& out, const trace_header& header, const trace_state* start);
void write_event(std::ostream& out, const recorded_trace& trace, std::uint64_t i);
void write_state(std::ostream& out, const trace_state& state);
void write_end(std::ostream& out, std::uint64_t events, std::uint64_t lost, const std::string& left_out,
               const trace_state& final);

namespace detail {

/// How a node was reached (event.what of kind reach).
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
