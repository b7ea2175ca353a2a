// blink_trace.hpp - traces of B-link trees with 64-bit keys, from user threads and kernels.
//
//   auto tree = blink_tree<std::uint64_t, std::uint64_t>::build(keys, values, options, dev);
//   recorded_trace trace = begin_trace(tree);
//   trace_recorder recorder(tree.get_device(), 1 << 16);
//   const auto ref = tree.ref(n);
//   ref.insert(traced_team(scalar_team{}, recorder.ring(), 0), key, value);
//   end_trace(trace, tree, recorder);
//   write_trace(file, trace);
//
// Between begin_trace() and end_trace() only refs may write to the tree: bulk writes and maintain() record no events.
#pragma once

#include <type_traits>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/inspect/recorder.hpp"
#include "espalier/inspect/trace.hpp"

namespace espalier {

namespace detail {

/// The header of a trace of this tree.
[[nodiscard]] trace_header blink_trace_header(const blink_index& tree);
/// All nodes as data; keys are words.
[[nodiscard]] trace_state blink_state(const blink_index& tree);

}  // namespace detail

/// The current nodes as data; keys are words of key_codec<Key>. Precondition: no ref writes to the tree. O(n).
template <class Key, class Value, class Policy>
[[nodiscard]] trace_state state_of(const blink_tree<Key, Value, Policy>& tree) {
  return detail::blink_state(tree.untyped());
}
/// Starts a trace with the current tree. Precondition: no ref writes to the tree. O(n).
template <class Key, class Value, class Policy>
[[nodiscard]] recorded_trace begin_trace(const blink_tree<Key, Value, Policy>& tree) {
  static_assert(std::is_same_v<Key, std::uint64_t>, "traces have keys of type std::uint64_t");
  recorded_trace trace;
  trace.header = detail::blink_trace_header(tree.untyped());
  trace.start = state_of(tree);
  return trace;
}
/// Completes a trace with the recorded events and the current tree. Precondition: all traced teams have finished. O(n +
/// events).
template <class Key, class Value, class Policy>
void end_trace(recorded_trace& trace, const blink_tree<Key, Value, Policy>& tree, trace_recorder& recorder) {
  append(trace, recorder.take());
  trace.lost = recorder.lost();
  trace.final = state_of(tree);
}

}  // namespace espalier
