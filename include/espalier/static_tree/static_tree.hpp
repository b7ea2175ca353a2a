// static_tree.hpp - a read-only ordered multimap: built once, queried in bulk, on CPU or GPU.
//
//   auto tree = espalier::static_tree<std::uint32_t, float>::build(keys, values);
//   tree.find(queries, out, found);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "espalier/core/scalar.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/index/bulk_reads.hpp"
#include "espalier/index/result.hpp"
#include "espalier/index/single_key.hpp"
#include "espalier/static_tree/index.hpp"
#include "espalier/static_tree/options.hpp"
#include "espalier/static_tree/ref.hpp"

namespace espalier {

/// Read-only ordered multimap in the memory of one device. `Value` = void makes a multiset, whose aggregates are over
/// the keys. Equal keys keep their input order. No key and no value is reserved. Move-only.
///
/// These rules hold for every method unless it says otherwise:
/// - Memory: spans are in host or device memory. Output spans have one element per query; a mismatch throws `error`
///   before anything is written. Optional outputs are empty spans.
/// - Streams: the last argument is a stream, or a CUDA stream of the caller (cudaStream_t, cuda::stream_ref); an empty
///   stream is the default stream of the device. A method returns when its results are complete. Its `_async` form
///   returns when the work is enqueued; results are complete, and errors are thrown, at stream::synchronize(). On a
///   GPU, copies from and to memory that is not pinned block the caller even in the `_async` form.
/// - Lifetime: the tree and all memory given to an `_async` call must live until the stream is synchronised.
/// - Thread safety: all const methods may run concurrently. Calls on one stream run in order; threads that call
///   concurrently use one stream each (device::make_stream). A move or the destructor must not run concurrently with
///   another call.
/// - Complexity: per query; n is size(). A search makes three dependent memory accesses for smooth keys, and O(log n)
///   for any keys (layout.hpp).
template <KeyType Key, class Value = void>
class static_tree : public single_key_reads<static_tree<Key, Value>, Key, Value>,
                    public bulk_reads<static_tree<Key, Value>, Key, Value> {
  using single_key = single_key_reads<static_tree, Key, Value>;
  using bulk = bulk_reads<static_tree, Key, Value>;
  using bulk::elements, bulk::enqueue, bulk::is_set, bulk::wait;
  using typename bulk::keys_in, typename bulk::mask_out, typename bulk::ranks_out, typename bulk::slot;
  template <class T>
  using in = std::span<const T>;
  template <class T>
  using out = std::span<T>;

 public:
  using ref_type = static_tree_ref<Key, Value>;

  // ---- build -------------------------------------------------------------------------------------------

  /// Builds a tree on `dev` from pairs in any order. Requires as many values as keys. Throws `error` if options.sorted
  /// is set and keys descend, and out_of_memory. O(n) after a radix sort, which is skipped for sorted input.
  [[nodiscard]] static static_tree build(keys_in keys, in<slot> values, const build_options& options = {},
                                         const device& dev = device::default_device(),
                                         const stream& s = {}) requires(!is_set) {
    return make(keys, values, options, dev, {dev.resolve(s), true});
  }
  [[nodiscard]] static static_tree build(keys_in keys, const build_options& options = {},
                                         const device& dev = device::default_device(),
                                         const stream& s = {}) requires(is_set) {
    return make(keys, {}, options, dev, {dev.resolve(s), true});
  }
  /// As build(), enqueued on `s`. Blocks once for a few bytes, because the size of the top table depends on the keys.
  /// Every later call on a tree whose build failed throws its error.
  [[nodiscard]] static static_tree build_async(keys_in keys, in<slot> values, const build_options& options,
                                               const device& dev, const stream& s) requires(!is_set) {
    return make(keys, values, options, dev, {dev.resolve(s), false});
  }
  [[nodiscard]] static static_tree build_async(keys_in keys, const build_options& options, const device& dev,
                                               const stream& s) requires(is_set) {
    return make(keys, {}, options, dev, {dev.resolve(s), false});
  }

  // ---- queries -----------------------------------------------------------------------------------------
  // find, contains, lower_bound, upper_bound, successor, predecessor, count, range, range_rows, sum, min, max and avg
  // are in index/bulk_reads.hpp. A count takes two searches and an aggregate O(log n), whatever the length of the
  // range.
  using bulk::contains;
  using bulk::find;
  using single_key::contains;
  using single_key::find;

  /// Writes the number of elements with a smaller key than each query or, with bound_type::upper, with a key that is
  /// not greater: the position of the lower or upper bound, at most size().
  void rank(keys_in keys, ranks_out ranks, bound_type bound = bound_type::lower, const query_options& options = {},
            const stream& s = {}) const {
    rank_on(bound, keys, ranks, options, wait(s));
  }
  void rank_async(keys_in keys, ranks_out ranks, bound_type bound = bound_type::lower,
                  const query_options& options = {}, const stream& s = {}) const {
    rank_on(bound, keys, ranks, options, enqueue(s));
  }
  /// Writes the element of each rank. For a rank of size() or more, found[i] is 0 and key and value are zero bytes. All
  /// outputs are optional. O(1).
  void select(in<std::uint64_t> ranks, out<Key> keys, out<slot> values, mask_out found, const stream& s = {}) const {
    select_on(ranks, keys, values, found, wait(s));
  }
  void select_async(in<std::uint64_t> ranks, out<Key> keys, out<slot> values, mask_out found,
                    const stream& s = {}) const {
    select_on(ranks, keys, values, found, enqueue(s));
  }

  // ---- ranges into the caller's memory --------------------------------------------------------------------

  /// Step one of range() without blocking: writes the queries + 1 offsets of the elements.
  void range_offsets_async(keys_in lo, keys_in hi, ranks_out offsets, const range_options& options = {},
                           const stream& s = {}) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    detail::require_equal("range offsets", lo.size() + 1, offsets.size());
    index_->range_offsets(lo.data(), hi.data(), lo.size(), options, offsets.data(), enqueue(s));
  }
  /// Step two: writes the elements to the caller's memory at these offsets. `keys` and `values` should hold
  /// offsets.back() elements; elements that do not fit are omitted. One of them may be empty.
  void range_fill_async(keys_in lo, in<std::uint64_t> offsets, out<Key> keys, out<slot> values,
                        const range_options& options = {}, const stream& s = {}) const {
    detail::require_equal("range offsets", lo.size() + 1, offsets.size());
    if (!keys.empty()) detail::require_optional("range values", keys.size(), values.size());
    const std::size_t room = keys.empty() ? values.size() : keys.size();
    index_->range_fill(lo.data(), lo.size(), options, offsets.data(), room, keys.data(), values.data(), enqueue(s));
  }

  // ---- visiting all elements: for_each, transform and reduce are free functions in visit.hpp ---------------

  // ---- properties ----------------------------------------------------------------------------------------

  /// Number of elements. O(1).
  [[nodiscard]] std::size_t size() const { return index_->stats().size; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  /// The device of the tree.
  [[nodiscard]] const device& get_device() const { return index_->get_device(); }
  /// Sizes of the parts of the tree. O(1).
  [[nodiscard]] tree_stats stats() const { return index_->stats(); }
  /// Checks every invariant. Copies a tree on a GPU to the host. O(n).
  [[nodiscard]] validation validate() const { return index_->validate(); }
  /// The plan for a batch of this many point queries, with the predicted time of each candidate.
  [[nodiscard]] explanation explain(std::size_t queries, const query_options& options = {}) const {
    return index_->explain(queries, options);
  }
  /// Returns a trivially copyable, non-owning ref for kernels and CPU threads. Lifetime: the ref is valid until the
  /// tree is destroyed; a move of the tree keeps it valid.
  [[nodiscard]] ref_type ref() const { return ref_type(index_->view()); }
  /// The untyped index, for the library's own layers.
  [[nodiscard]] const detail::static_index& untyped() const { return *index_; }

 private:
  explicit static_tree(std::unique_ptr<detail::static_index> index) : index_(std::move(index)) {}

  static static_tree make(keys_in keys, in<slot> values, const build_options& options, const device& dev,
                          const detail::execution& ex) {
    if constexpr (!is_set) detail::require_equal("build values", keys.size(), values.size());
    return static_tree(detail::build_static_index(dev, elements, keys.data(), values.data(), keys.size(), options, ex));
  }
  void rank_on(bound_type bound, keys_in keys, ranks_out ranks, const query_options& options,
               const detail::execution& ex) const {
    detail::require_equal("ranks", keys.size(), ranks.size());
    index_->rank(bound, keys.data(), keys.size(), ranks.data(), options, ex);
  }
  void select_on(in<std::uint64_t> ranks, out<Key> keys, out<slot> values, mask_out found,
                 const detail::execution& ex) const {
    detail::require_optional("select keys", ranks.size(), keys.size());
    detail::require_optional("select values", ranks.size(), values.size());
    detail::require_optional("select mask", ranks.size(), found.size());
    index_->select(ranks.data(), ranks.size(), detail::optional_data(keys), detail::optional_data(values),
                   detail::optional_data(found), ex);
  }
  std::unique_ptr<detail::static_index> index_;
};

}  // namespace espalier
