// index.hpp - the radix tree without types: what the typed owner (radix_tree.hpp) calls. One is compiled per value slot
// (0, 4, 8, 16 bytes) and device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "espalier/radix_tree/key.hpp"
#include "espalier/radix_tree/options.hpp"
#include "espalier/static_tree/index.hpp"  // element_type, execution
#include "espalier/trace/note.hpp"
#include "espalier/trace/state.hpp"

namespace espalier::detail {

/// n keys, in host or device memory.
struct byte_keys {
  byte_batch batch;
  std::size_t n = 0;
  std::size_t bytes = 0;  ///< of all keys, if there are no offsets
  /// What holds a copy of the caller's keys, if there is one: it lives as long as work that is still to be done.
  std::shared_ptr<const void> copy;
};

enum class radix_bound : std::uint8_t { lower, upper };
/// Which elements a query is about: those of a range, those whose keys begin with it, or the first one not less, the
/// first greater, the last one less.
enum class radix_slice : std::uint8_t { range, prefix, at_or_after, successor, predecessor };
enum class radix_write : std::uint8_t { insert, insert_or_assign, update, erase };

/// Answers with keys: query i owns elements [offsets[i], offsets[i + 1]), element e has key bytes [key_offsets[e],
/// key_offsets[e + 1]).
struct byte_range_buffers {
  buffer<std::uint64_t> offsets;
  buffer<std::uint64_t> key_offsets;
  raw_buffer key_bytes;
  raw_buffer values;
  std::uint64_t total = 0, total_bytes = 0;
};

/// A call that is recorded (trace/radix_trace.hpp). Keys have eight bytes.
struct radix_traced_call {
  trace_op op = trace_op::find;
  byte_keys keys;  ///< of ranges: where they begin
  const void* values = nullptr;
  std::uint64_t to = 0;  ///< of ranges: the last key, as a number
  unsigned teams = 1;    ///< team w takes the keys at w, w + teams, ...
  event_log ring;
  std::uint64_t most_found = 0;  ///< keys of a range that are wanted
};
struct radix_traced_outcome {
  std::uint64_t done = 0, unchanged = 0;  ///< keys
  std::uint64_t count = 0;                ///< elements of the last range
  std::vector<std::uint64_t> found;       ///< the first of them
};

/// Pointers may be host or device memory; null outputs are skipped.
class radix_index {
 public:
  virtual ~radix_index() = default;

  [[nodiscard]] virtual const device& get_device() const = 0;
  [[nodiscard]] virtual element_type elements() const = 0;
  [[nodiscard]] virtual radix_stats stats() const = 0;
  [[nodiscard]] virtual validation validate() const = 0;
  [[nodiscard]] virtual std::string dump(bool graphviz) const = 0;
  /// The same as data, for traces. Throws `error` if a key has not eight bytes.
  [[nodiscard]] virtual trace_state state() const = 0;
  /// Copies the radix_view<ValueSlot> that refs are made from to `to`; it knows ranks.
  virtual void view(void* to) const = 0;

  virtual void find(const byte_keys& keys, void* values, std::uint8_t* found, const execution& ex) const = 0;
  /// How many keys are before each of these.
  virtual void rank(radix_bound what, const byte_keys& keys, std::uint64_t* ranks, const execution& ex) const = 0;
  /// `hi` counts for ranges only.
  virtual void count(radix_slice what, const byte_keys& lo, const byte_keys& hi, const range_options& options,
                     std::uint64_t* counts, const execution& ex) const = 0;
  [[nodiscard]] virtual byte_range_buffers list(radix_slice what, const byte_keys& lo, const byte_keys& hi,
                                                const range_options& options, const execution& ex) const = 0;
  /// out: sum_of<Value> for sum, values for min and max (found says which slices held anything), double for avg (NaN
  /// where there is nothing). `hi` counts for ranges only, and so do the ends.
  virtual void aggregate(aggregate_op op, radix_slice what, const byte_keys& lo, const byte_keys& hi, interval ends,
                         void* out, std::uint8_t* found, const execution& ex) const = 0;
  /// lengths[i]: of the longest key that the i-th one begins with; found[i] = 0: there is none.
  virtual void longest_prefix(const byte_keys& keys, std::uint32_t* lengths, void* values, std::uint8_t* found,
                              const execution& ex) const = 0;
  /// done[i] = 1: insert, insert_or_assign: the key was new; update, erase: it was there. Of equal keys of a batch the
  /// last one counts, of those that insert the first. Strong guarantee.
  virtual void write(radix_write op, const byte_keys& keys, const void* values, std::uint8_t* done, radix_path path,
                     const execution& ex) = 0;
  /// Returns when all teams are done. Throws `error` if the tree's values have not eight bytes.
  virtual radix_traced_outcome run_traced(const radix_traced_call& call) = 0;
};

/// Keys in any order; of equal ones the last counts. Strong guarantee.
[[nodiscard]] std::unique_ptr<radix_index> build_radix_index(const device& dev, element_type elements,
                                                             const byte_keys& keys, const void* values,
                                                             const radix_options& options, const stream& order);

}  // namespace espalier::detail
