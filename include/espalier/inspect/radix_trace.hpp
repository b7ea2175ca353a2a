// radix_trace.hpp - traces of radix trees whose keys are 64-bit numbers, encoded in eight bytes.
//
//   auto tree = radix_tree<std::uint64_t>::build(keys, values, options, dev);   // keys: byte_key(number)
//   recorded_trace trace = begin_trace(tree);
//   trace_recorder recorder(tree.get_device(), 1 << 16);
//   traced_radix_calls work(tree, recorder, 4);   // four CPU threads, or threads of the GPU
//   work.insert(more_keys, more_values);
//   work.find(keys);
//   end_trace(trace, tree, recorder);
//   write_trace(file, trace);
//
// Refs record events as well if a traced_team calls them. Between begin_trace() and end_trace() only traced calls may
// write to the tree: writes of the tree itself record no events.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "espalier/core/byte_key.hpp"
#include "espalier/inspect/recorder.hpp"
#include "espalier/inspect/trace.hpp"
#include "espalier/radix_tree/radix_tree.hpp"

namespace espalier {

namespace detail {

/// The header of a trace of this tree.
[[nodiscard]] trace_header radix_trace_header(const radix_index& tree);
/// All nodes as data. Throws `error` unless all keys have eight bytes.
[[nodiscard]] trace_state radix_state(const radix_index& tree);

/// A call that is recorded. Keys have eight bytes.
struct radix_traced_call {
  trace_op op = trace_op::find;
  byte_keys keys;  ///< for ranges: the lower ends
  const void* values = nullptr;
  std::uint64_t to = 0;  ///< for ranges: the last key, as a number
  unsigned teams = 1;    ///< team w takes the keys at w, w + teams, ...
  event_log ring;
  std::uint64_t most_found = 0;  ///< maximum number of keys of a range to return
};
struct radix_traced_outcome {
  std::uint64_t done = 0, unchanged = 0;  ///< numbers of keys
  std::uint64_t count = 0;                ///< elements of the last range
  std::vector<std::uint64_t> found;       ///< the first of these elements
};
/// Returns when all teams have finished. Throws `error` unless the tree's values have eight bytes.
radix_traced_outcome run_traced(radix_index& tree, const radix_traced_call& call);

}  // namespace detail

/// The current nodes as data. Throws `error` unless all keys have eight bytes. O(n).
template <class Value>
[[nodiscard]] trace_state state_of(const radix_tree<Value>& tree) {
  return detail::radix_state(tree.untyped());
}
/// Starts a trace with the current tree. Throws `error` unless all keys have eight bytes. O(n).
template <class Value>
[[nodiscard]] recorded_trace begin_trace(const radix_tree<Value>& tree) {
  recorded_trace trace;
  trace.header = detail::radix_trace_header(tree.untyped());
  trace.start = state_of(tree);
  return trace;
}
/// Completes a trace with the recorded events and the current tree. Precondition: all traced calls have finished. O(n +
/// events).
template <class Value>
void end_trace(recorded_trace& trace, const radix_tree<Value>& tree, trace_recorder& recorder) {
  append(trace, recorder.take());
  trace.lost = recorder.lost();
  trace.final = state_of(tree);
}

/// Calls of a radix tree that record events, executed by `teams` threads of the tree's device. One team processes the
/// keys in order. Several teams execute a batch, in which keys that change nothing are recorded before keys that change
/// nodes. Precondition: all keys have eight bytes; otherwise `error` is thrown and nothing has changed. Lifetime:
/// borrows the tree and the recorder, which must be on the tree's device. Thread safety: one thread at a time.
template <class Value>
class traced_radix_calls {
  static_assert(detail::value_slot(sizeof(Value)) == 8, "calls are traced in trees with values of 8 bytes");
  using keys_in = const byte_string_batch&;
  using values_in = std::span<const Value>;

 public:
  /// Numbers of keys that were found, inserted, assigned or erased, and of the others.
  struct outcome {
    std::uint64_t done, unchanged;
  };

  traced_radix_calls(radix_tree<Value>& tree, trace_recorder& recorder, unsigned teams = 1)
      : tree_(tree.untyped()), ring_(recorder.ring()), teams_(teams == 0 ? 1 : teams) {}

  /// The operations of radix_tree, with events. Writes require as many values as keys.
  outcome insert(keys_in keys, values_in values) { return write(trace_op::insert, keys, values); }
  outcome insert_or_assign(keys_in keys, values_in values) { return write(trace_op::assign, keys, values); }
  outcome update(keys_in keys, values_in values) { return write(trace_op::update, keys, values); }
  outcome erase(keys_in keys) { return run(trace_op::erase, keys); }
  outcome find(keys_in keys) const { return run(trace_op::find, keys); }
  /// Reads the elements of [first, last] and returns their number.
  std::uint64_t range(std::uint64_t first, std::uint64_t last) const {
    const std::string from = byte_key(first);
    return call(trace_op::range, byte_string_batch(std::span<const char>(from), from.size()), nullptr, last, 1).count;
  }

 private:
  outcome write(trace_op op, keys_in keys, values_in values) const {
    detail::require_equal("values to write", keys.size(), values.size());
    return run(op, keys, values.data());
  }
  outcome run(trace_op op, keys_in keys, const void* values = nullptr) const {
    const detail::radix_traced_outcome o = call(op, keys, values, 0, teams_);
    return {o.done, o.unchanged};
  }
  detail::radix_traced_outcome call(trace_op op, keys_in keys, const void* values, std::uint64_t to,
                                    unsigned teams) const {
    return detail::run_traced(tree_, {op, keys.raw(), values, to, teams, ring_, 0});
  }

  detail::radix_index& tree_;
  event_log ring_;
  unsigned teams_;
};

}  // namespace espalier
