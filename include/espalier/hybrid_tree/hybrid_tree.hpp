// hybrid_tree.hpp - an ordered map in host memory whose inner levels a GPU walks, for data larger than GPU memory.
//
//   auto tree = espalier::hybrid_tree<std::uint64_t, std::uint64_t>::build(keys, values);
//   tree.find(queries, out, found);          // the GPU walks the inner levels, the CPU continues in the leaves
//
// Pinned queries and answers are transferred without a copy by the CPU (espalier/device/buffer.hpp):
//   auto gpu = espalier::device::default_device();
//   espalier::buffer<std::uint64_t> queries(gpu.with_pool(gpu.host_pool()), n);   // pass queries.span()
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "espalier/hybrid_tree/index.hpp"
#include "espalier/hybrid_tree/options.hpp"
#include "espalier/index/bulk_reads.hpp"
#include "espalier/index/bulk_writes.hpp"
#include "espalier/index/result.hpp"
#include "espalier/index/single_key.hpp"
#include "espalier/static_tree/static_tree.hpp"

namespace espalier {

/// Ordered map in host memory. `Value` = void makes a set, whose aggregates are over the keys. A key occurs at most
/// once. No key and no value is reserved. Without a GPU the tree runs on the CPU alone; a CPU device can stand in for
/// the GPU (hybrid_placement::shared). Move-only.
///
/// These rules hold for every method unless it says otherwise:
/// - Memory: spans are in host memory. Output spans have one element per query; a mismatch throws `error` before
///   anything is written. Optional outputs are empty spans.
/// - Calls block until their results are complete.
/// - Thread safety: all methods except construction, move and destruction may run concurrently. Reads run concurrently;
///   one at a time uses the device. A write is exclusive: readers see all of a batch or nothing.
/// - Failure: a call that throws has changed nothing. If the device fails, the CPU completes the call, and explain()
///   gives the reason.
/// - Complexity: per query; n is size(). A search is O(log n).
template <KeyType Key, class Value = void>
class hybrid_tree
    : public single_key_writes<hybrid_tree<Key, Value>, Key, Value>,
      public bulk_reads<hybrid_tree<Key, Value>, Key, Value, hybrid_query_options, detail::no_stream>,
      public bulk_writes<hybrid_tree<Key, Value>, std::span<const Key>, Value, update_mode, detail::no_stream> {
  using single_key = single_key_writes<hybrid_tree, Key, Value>;
  using bulk = bulk_reads<hybrid_tree, Key, Value, hybrid_query_options, detail::no_stream>;
  using writes = bulk_writes<hybrid_tree, std::span<const Key>, Value, update_mode, detail::no_stream>;
  friend writes;
  using bulk::elements, bulk::is_set;
  using typename bulk::keys_in, typename bulk::mask_out, typename bulk::slot;

  template <class T>
  using in = std::span<const T>;
  template <class T>
  using out = std::span<T>;

 public:
  /// Makes an empty tree. `dev` is the device that walks the inner levels.
  explicit hybrid_tree(const hybrid_options& options = {}, const device& dev = device::default_device())
      : hybrid_tree({}, {}, options, dev) {}
  /// Builds a tree from pairs in any order; of equal keys the last one wins. Requires as many values as keys.
  [[nodiscard]] static hybrid_tree build(keys_in keys, in<slot> values, const hybrid_options& options = {},
                                         const device& dev = device::default_device()) requires(!is_set) {
    detail::require_equal("build values", keys.size(), values.size());
    return hybrid_tree(keys, values, options, dev);
  }
  [[nodiscard]] static hybrid_tree build(keys_in keys, const hybrid_options& options = {},
                                         const device& dev = device::default_device()) requires(is_set) {
    return hybrid_tree(keys, {}, options, dev);
  }

  // ---- queries -----------------------------------------------------------------------------------------------------
  // find, contains, lower_bound, upper_bound, successor, predecessor, count, range, sum, min, max and avg are in
  // index/bulk_reads.hpp, without `_async` forms and streams. find, contains and range_rows use the device as their
  // hybrid_query_options select; all other queries run on the CPU. count and aggregates are O(log n) in the implicit
  // layout, and linear in the leaves of the range in the regular one. An aggregate throws `error` if the implicit
  // layout does not keep it (hybrid_options::keep). range() returns buffers in host memory.
  using bulk::contains;
  using bulk::find;
  using single_key::contains;
  using single_key::find;

  /// Writes the first options.limit elements of range i to positions [i * limit, (i + 1) * limit) of the outputs, and
  /// their number to counts[i]; the other positions are unspecified. Requires outputs of lo.size() * limit elements or
  /// empty ones. Uses the device as find() does; intended for many short ranges. O(log n + limit).
  void range_rows(keys_in lo, keys_in hi, out<Key> out_keys, out<slot> values, out<std::uint64_t> counts,
                  const range_options& options, const hybrid_query_options& how = {}) const {
    detail::require_rows(lo.size(), hi.size(), counts.size(), options.limit, out_keys.size(), values.size());
    index_->rows(lo.data(), hi.data(), lo.size(), options, detail::optional_data(out_keys),
                 detail::optional_data(values), counts.data(), how);
  }
  /// Estimates the number of elements in [lo, hi]: exact in the implicit layout, otherwise as
  /// blink_tree::estimate_count().
  [[nodiscard]] std::uint64_t estimate_count(const Key& lo, const Key& hi) const { return index_->estimate(&lo, &hi); }

  // ---- positions ---------------------------------------------------------------------------------------------------
  // On the CPU.

  /// Writes the number of elements with a smaller key than each query or, with bound_type::upper, with a key that is
  /// not greater. May run concurrently with all other calls. O(log n); in the regular layout the first call after a
  /// write also counts the elements of all leaves, in parallel.
  void rank(keys_in keys, out<std::uint64_t> ranks, bound_type bound = bound_type::lower) const {
    detail::require_equal("ranks", keys.size(), ranks.size());
    index_->rank(bound, keys.data(), keys.size(), ranks.data());
  }
  /// Writes the element of each rank. For a rank of size() or more, found[i] is 0 and key and value are zero bytes. All
  /// outputs are optional. May run concurrently with all other calls. O(1) in the implicit layout; in the regular one
  /// O(log n), and as for rank() after a write.
  void select(in<std::uint64_t> ranks, out<Key> keys, out<slot> values, mask_out found) const {
    detail::require_optional("select keys", ranks.size(), keys.size());
    detail::require_optional("select values", ranks.size(), values.size());
    detail::require_optional("select mask", ranks.size(), found.size());
    index_->select(ranks.data(), ranks.size(), detail::optional_data(keys), detail::optional_data(values),
                   detail::optional_data(found));
  }

  // ---- writes -----------------------------------------------------------------------------------------------------
  // insert_or_assign, insert (sets) and erase are in index/bulk_writes.hpp. Of equal keys in a batch the last one wins.
  // The implicit layout is rebuilt by every write; `options`, an update_mode, applies to the regular layout.
  using single_key::erase;
  using single_key::insert;
  using single_key::insert_or_assign;
  using writes::erase;
  using writes::insert;
  using writes::insert_or_assign;

  // ---- properties --------------------------------------------------------------------------------------------------

  /// Number of elements, with those of completed writes. O(1) without a lock.
  [[nodiscard]] std::size_t size() const { return index_->size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  /// The device that walks the inner levels.
  [[nodiscard]] const device& get_device() const { return index_->get_device(); }
  /// Sizes, placement and the last update. Waits for the call that uses the device and queries the page sizes of the
  /// system, which takes milliseconds.
  [[nodiscard]] hybrid_stats stats() const { return index_->stats(); }
  /// Checks every invariant of the host tree, and that the device's inner levels equal the host's. O(n).
  [[nodiscard]] validation validate() const { return index_->validate(); }
  /// Describes the placement of large batches and the mode of the last write, with the reasons.
  [[nodiscard]] std::string explain() const {
    const hybrid_stats s = stats();
    const std::string walks = to_string(s.placement) + ": " + s.reason;
    if (s.update.reason.empty()) return walks;
    return walks + " Last write, " + to_string(s.update.way) + ": " + s.update.reason;
  }
  /// Measures all placements with these queries, which should resemble later ones, and tries a failed device again.
  /// Without tune(), large calls with a GPU measure while they run; a CPU device is then not used. Large calls try
  /// another placement from time to time, also after tune(), because the load may change;
  /// hybrid_query_options::placement prevents this. Throws out_of_memory if host memory for the answers is missing;
  /// results of other calls do not change.
  void tune(keys_in keys) { index_->tune(keys.data(), keys.size()); }
  /// The untyped index, for the library's own layers.
  [[nodiscard]] const detail::hybrid_index& untyped() const { return *index_; }

 private:
  hybrid_tree(keys_in keys, in<slot> values, const hybrid_options& options, const device& dev)
      : index_(detail::build_hybrid_index(dev, elements, options, keys.data(), values.data(), keys.size())) {}

  void write_on(write_op op, keys_in keys, const void* values, std::uint8_t* done, update_mode mode,
                const detail::execution&) {
    if (op == write_op::insert) op = write_op::insert_or_assign;  // of a set, whose elements have no values
    index_->write(op, keys.data(), values, keys.size(), done, mode);
  }

  std::unique_ptr<detail::hybrid_index> index_;
};

}  // namespace espalier
