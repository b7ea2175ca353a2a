// index.hpp - the type-erased radix tree that the typed owner (radix_tree.hpp) calls. One is compiled per value slot
// (0, 4, 8, 16 bytes) and device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "espalier/index/elements.hpp"
#include "espalier/index/seek.hpp"
#include "espalier/radix_tree/key.hpp"
#include "espalier/radix_tree/options.hpp"

namespace espalier::detail {

/// A batch of n keys in host or device memory.
struct byte_keys {
  byte_batch batch;
  std::size_t n = 0;
  std::size_t bytes = 0;  ///< bytes of all keys, if there are no offsets
  /// Owner of a copy of the caller's keys, if there is one; it lives as long as the enqueued work.
  std::shared_ptr<const void> copy;
};

/// The elements that a query selects: those of a range, those whose keys begin with the query, the first one not less,
/// the first one greater, or the last one less.
enum class radix_slice : std::uint8_t { range, prefix, lower_bound, successor, predecessor };

/// Result with keys: query i owns elements [offsets[i], offsets[i + 1]); element e has key bytes [key_offsets[e],
/// key_offsets[e + 1]).
struct byte_range_buffers {
  buffer<std::uint64_t> offsets;
  buffer<std::uint64_t> key_offsets;
  raw_buffer key_bytes;
  raw_buffer values;
  std::uint64_t total = 0, total_bytes = 0;
};

/// Pointers may refer to host or device memory; null outputs are skipped.
class radix_index {
 public:
  virtual ~radix_index() = default;

  [[nodiscard]] virtual const device& get_device() const = 0;
  [[nodiscard]] virtual element_type elements() const = 0;
  /// Does not wait for operations in progress.
  [[nodiscard]] virtual std::size_t size() const = 0;
  [[nodiscard]] virtual radix_stats stats() const = 0;
  [[nodiscard]] virtual validation validate() const = 0;
  /// Calls read(view, root_info) with a copy of the tree in host memory, a radix_view<ValueSlot>, and the word of the
  /// root's latch. The copy ends with the call.
  virtual void copy_nodes(const std::function<void(const void* view, std::uint32_t root_info)>& read) const = 0;
  [[nodiscard]] std::string dump(bool graphviz) const;
  /// The plan of n queries of any kind.
  [[nodiscard]] explanation explain(std::size_t n) const;
  /// Copies the radix_view<ValueSlot> for refs to `to`, with ranks.
  virtual void view(void* to) const = 0;

  virtual void find(const byte_keys& keys, void* values, std::uint8_t* found, const execution& ex) const = 0;
  /// Writes the number of keys before each query.
  virtual void rank(bound_type what, const byte_keys& keys, std::uint64_t* ranks, const execution& ex) const = 0;
  /// `hi` is used for ranges only.
  virtual void count(radix_slice what, const byte_keys& lo, const byte_keys& hi, const range_options& options,
                     std::uint64_t* counts, const execution& ex) const = 0;
  [[nodiscard]] virtual byte_range_buffers list(radix_slice what, const byte_keys& lo, const byte_keys& hi,
                                                const range_options& options, const execution& ex) const = 0;
  /// Query i selects the element of ranks[i], or none if the tree has no such rank.
  [[nodiscard]] virtual byte_range_buffers select(const std::uint64_t* ranks, std::size_t n,
                                                  const execution& ex) const = 0;
  /// `out` is an array of sum_of<Value> for sum, of values for min and max (found[i] is 0 for an empty slice), and of
  /// double for avg (NaN for an empty slice). `hi` and `ends` are used for ranges only.
  virtual void aggregate(aggregate_op op, radix_slice what, const byte_keys& lo, const byte_keys& hi, interval ends,
                         void* out, std::uint8_t* found, const execution& ex) const = 0;
  /// Writes the length of the longest key that is a prefix of each query; found[i] is 0 if there is none.
  virtual void longest_prefix(const byte_keys& keys, std::uint32_t* lengths, void* values, std::uint8_t* found,
                              const execution& ex) const = 0;
  /// done[i] is 1 if the key was new (insert, insert_or_assign) or present (update, erase). Of equal keys of a batch
  /// the last one wins, for insert the first one. Strong exception guarantee.
  virtual void write(write_op op, const byte_keys& keys, const void* values, std::uint8_t* done, radix_path path,
                     const execution& ex) = 0;
};

/// Builds an index from keys in any order; of equal keys the last one wins. Strong exception guarantee.
[[nodiscard]] std::unique_ptr<radix_index> build_radix_index(const device& dev, element_type elements,
                                                             const byte_keys& keys, const void* values,
                                                             const radix_options& options, const stream& order);

}  // namespace espalier::detail
