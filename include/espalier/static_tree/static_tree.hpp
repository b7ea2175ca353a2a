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
/// - Streams: the last argument is a stream; an empty stream is the default stream of the device. A method returns when
///   its results are complete. Its `_async` form returns when the work is enqueued; results are complete, and errors
///   are thrown, at stream::synchronize(). On a GPU, copies from and to memory that is not pinned block the caller even
///   in the `_async` form.
/// - Lifetime: the tree and all memory given to an `_async` call must live until the stream is synchronised.
/// - Thread safety: all const methods may run concurrently. Calls on one stream run in order; threads that call
///   concurrently use one stream each (device::make_stream). A move or the destructor must not run concurrently with
///   another call.
/// - Complexity: per query; n is size(). A search makes three dependent memory accesses for smooth keys, and O(log n)
///   for any keys (layout.hpp).
template <KeyType Key, class Value = void>
class static_tree : public single_key_reads<static_tree<Key, Value>, Key, Value> {
  using single_key = single_key_reads<static_tree, Key, Value>;
  static constexpr bool is_set = std::is_void_v<Value>;
  using slot = std::conditional_t<is_set, unsigned char, Value>;
  using summand = std::conditional_t<is_set, Key, slot>;
  static_assert(std::is_trivially_copyable_v<slot>, "values must be trivially copyable");
  static_assert(sizeof(slot) <= 16, "values have at most 16 bytes: store an index to larger ones");

  template <class T>
  using in = std::span<const T>;
  template <class T>
  using out = std::span<T>;
  using keys_in = in<Key>;
  using mask_out = out<std::uint8_t>;
  using ranks_out = out<std::uint64_t>;

 public:
  using key_type = Key;
  using value_type = Value;
  using batch_type = std::span<const Key>;
  using sum_type = sum_of<summand>;
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

  // ---- point queries -----------------------------------------------------------------------------------
  using single_key::contains;
  using single_key::find;

  /// Writes the value of the first element with each key; found[i] is 1 if there is one. Otherwise found[i] is 0 and
  /// the value is zero bytes. `values` and `found` are optional.
  void find(keys_in keys, out<slot> values, mask_out found = {}, const query_options& options = {},
            const stream& s = {}) const requires(!is_set) {
    find_on(keys, values, found, options, wait(s));
  }
  /// As contains(): a set has no values, and `values` is not written.
  void find(keys_in keys, out<slot> values, mask_out found, const query_options& options = {},
            const stream& s = {}) const requires(is_set) {
    find_on(keys, values, found, options, wait(s));
  }
  /// As contains().
  void find(keys_in keys, mask_out found) const requires(is_set) { contains(keys, found); }
  void find_async(keys_in keys, out<slot> values, mask_out found, const query_options& options = {},
                  const stream& s = {}) const {
    find_on(keys, values, found, options, enqueue(s));
  }

  /// found[i] is 1 if the tree has an element with key i.
  void contains(keys_in keys, mask_out found, const query_options& options = {}, const stream& s = {}) const {
    find_on(keys, {}, found, options, wait(s));
  }
  void contains_async(keys_in keys, mask_out found, const query_options& options = {}, const stream& s = {}) const {
    find_on(keys, {}, found, options, enqueue(s));
  }

  /// Writes the first element whose key is not less than the query. Without one, found[i] is 0 and key and value are
  /// zero bytes. All outputs are optional. Of equal keys, the element is the first one.
  void lower_bound(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const query_options& options = {},
                   const stream& s = {}) const {
    seek_on(detail::seek_kind::lower_bound, keys, out_keys, values, found, options, wait(s));
  }
  void lower_bound_async(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found,
                         const query_options& options = {}, const stream& s = {}) const {
    seek_on(detail::seek_kind::lower_bound, keys, out_keys, values, found, options, enqueue(s));
  }
  /// Writes the first element with a greater key than the query; outputs as for lower_bound().
  void upper_bound(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const query_options& options = {},
                   const stream& s = {}) const {
    successor(keys, out_keys, values, found, options, s);
  }
  void upper_bound_async(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found,
                         const query_options& options = {}, const stream& s = {}) const {
    successor_async(keys, out_keys, values, found, options, s);
  }
  /// As upper_bound().
  void successor(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const query_options& options = {},
                 const stream& s = {}) const {
    seek_on(detail::seek_kind::successor, keys, out_keys, values, found, options, wait(s));
  }
  void successor_async(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found,
                       const query_options& options = {}, const stream& s = {}) const {
    seek_on(detail::seek_kind::successor, keys, out_keys, values, found, options, enqueue(s));
  }
  /// Writes the last element with a smaller key than the query; outputs as for lower_bound(). Of equal keys, the
  /// element is the last one.
  void predecessor(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const query_options& options = {},
                   const stream& s = {}) const {
    seek_on(detail::seek_kind::predecessor, keys, out_keys, values, found, options, wait(s));
  }
  void predecessor_async(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found,
                         const query_options& options = {}, const stream& s = {}) const {
    seek_on(detail::seek_kind::predecessor, keys, out_keys, values, found, options, enqueue(s));
  }

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

  // ---- ranges ------------------------------------------------------------------------------------------
  // A range whose lower end is above its upper end is empty. lo and hi have equal sizes.

  /// Writes the number of elements of each range, at most options.limit. Two searches, whatever the length.
  void count(keys_in lo, keys_in hi, ranks_out counts, const range_options& options = {}, const stream& s = {}) const {
    count_on(lo, hi, counts, options, wait(s));
  }
  void count_async(keys_in lo, keys_in hi, ranks_out counts, const range_options& options = {},
                   const stream& s = {}) const {
    count_on(lo, hi, counts, options, enqueue(s));
  }

  /// Returns all elements of every range, at most options.limit each, compact and in key order, in buffers on the
  /// device of the tree. O(elements) beyond the two searches.
  [[nodiscard]] range_result<Key, Value> range(keys_in lo, keys_in hi, const range_options& options = {},
                                               const stream& s = {}) const {
    return range_on(lo, hi, options, wait(s));
  }
  /// As range(). Blocks until the total is known; on a GPU the elements are complete for work enqueued on `s` later.
  [[nodiscard]] range_result<Key, Value> range_async(keys_in lo, keys_in hi, const range_options& options = {},
                                                     const stream& s = {}) const {
    return range_on(lo, hi, options, enqueue(s));
  }
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

  /// Writes the first options.limit elements of range i to positions [i * limit, (i + 1) * limit) of the outputs, and
  /// their number to counts[i]; the other positions are unspecified. Requires outputs of lo.size() * limit elements or
  /// empty ones. One pass, without blocking for a total. O(limit).
  void range_rows(keys_in lo, keys_in hi, out<Key> out_keys, out<slot> values, out<std::uint64_t> counts,
                  const range_options& options, const stream& s = {}) const {
    rows_on(lo, hi, out_keys, values, counts, options, wait(s));
  }
  void range_rows_async(keys_in lo, keys_in hi, out<Key> out_keys, out<slot> values, out<std::uint64_t> counts,
                        const range_options& options, const stream& s = {}) const {
    rows_on(lo, hi, out_keys, values, counts, options, enqueue(s));
  }

  // ---- aggregates over ranges ----------------------------------------------------------------------------
  // The tree must have been built with build_options::keep for the aggregate, and its values (for a set: its keys) must
  // be numbers; otherwise `error` is thrown. O(log n), whatever the length of the range.

  /// Writes the sum of each range; 0 for an empty one. Integer sums are exact. Float sums add block sums in double,
  /// never differences of prefix sums.
  void sum(keys_in lo, keys_in hi, out<sum_type> sums, interval ends = interval::closed, const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::sum, lo, hi, sums, {}, ends, wait(s));
  }
  void sum_async(keys_in lo, keys_in hi, out<sum_type> sums, interval ends = interval::closed,
                 const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::sum, lo, hi, sums, {}, ends, enqueue(s));
  }
  /// As sum(), into 64 bits. Throws `overflow`, with nothing written, if a sum does not fit.
  void sum(keys_in lo, keys_in hi, out<summand> sums, interval ends = interval::closed, const stream& s = {}) const
      requires(sizeof(sum_type) == 16) {
    detail::require_equal("sum", lo.size(), sums.size());
    const stream order = get_device().resolve(s);
    const buffer<sum_type> wide(get_device(), lo.size(), order);
    sum(lo, hi, wide.span(), ends, order);
    const std::vector<sum_type> exact = wide.to_vector();
    std::vector<summand> narrow(exact.size());
    for (std::size_t i = 0; i < exact.size(); ++i) narrow[i] = detail::narrow_sum<summand>(exact[i], i);
    if (narrow.empty()) return;
    get_device().copy(sums.data(), narrow.data(), narrow.size() * sizeof(summand), order);
    order.synchronize();
  }

  /// Writes the smallest value of each range. For an empty range, found[i] is 0 and the value is zero bytes. `found` is
  /// optional.
  void min(keys_in lo, keys_in hi, out<summand> values, mask_out found, interval ends = interval::closed,
           const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::min, lo, hi, values, found, ends, wait(s));
  }
  void min_async(keys_in lo, keys_in hi, out<summand> values, mask_out found, interval ends = interval::closed,
                 const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::min, lo, hi, values, found, ends, enqueue(s));
  }
  /// Writes the largest value of each range; outputs as for min(). NaN is the largest value.
  void max(keys_in lo, keys_in hi, out<summand> values, mask_out found, interval ends = interval::closed,
           const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::max, lo, hi, values, found, ends, wait(s));
  }
  void max_async(keys_in lo, keys_in hi, out<summand> values, mask_out found, interval ends = interval::closed,
                 const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::max, lo, hi, values, found, ends, enqueue(s));
  }
  /// Writes the mean of each range, or NaN for an empty range. Requires kept sums.
  void avg(keys_in lo, keys_in hi, out<double> means, interval ends = interval::closed, const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::avg, lo, hi, means, {}, ends, wait(s));
  }
  void avg_async(keys_in lo, keys_in hi, out<double> means, interval ends = interval::closed,
                 const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::avg, lo, hi, means, {}, ends, enqueue(s));
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
    constexpr detail::element_type elements{scalar_kind_of<Key>, is_set ? scalar_kind::opaque : scalar_kind_of<slot>,
                                            is_set ? 0u : unsigned{sizeof(slot)}};
    return static_tree(detail::build_static_index(dev, elements, keys.data(), values.data(), keys.size(), options, ex));
  }
  detail::execution wait(const stream& s) const { return {get_device().resolve(s), true}; }
  detail::execution enqueue(const stream& s) const { return {get_device().resolve(s), false}; }

  void find_on(keys_in keys, out<slot> values, mask_out found, const query_options& options,
               const detail::execution& ex) const {
    detail::require_optional("find values", keys.size(), values.size());
    detail::require_optional("find mask", keys.size(), found.size());
    index_->find(keys.data(), keys.size(), values.data(), found.data(), options, ex);
  }
  void rank_on(bound_type bound, keys_in keys, ranks_out ranks, const query_options& options,
               const detail::execution& ex) const {
    detail::require_equal("ranks", keys.size(), ranks.size());
    index_->rank(bound, keys.data(), keys.size(), ranks.data(), options, ex);
  }
  void seek_on(detail::seek_kind kind, keys_in keys, out<Key> out_keys, out<slot> values, mask_out found,
               const query_options& options, const detail::execution& ex) const {
    detail::require_optional("seek keys", keys.size(), out_keys.size());
    detail::require_optional("seek values", keys.size(), values.size());
    detail::require_optional("seek mask", keys.size(), found.size());
    index_->seek(kind, keys.data(), keys.size(), out_keys.data(), values.data(), found.data(), options, ex);
  }
  void select_on(in<std::uint64_t> ranks, out<Key> keys, out<slot> values, mask_out found,
                 const detail::execution& ex) const {
    detail::require_optional("select keys", ranks.size(), keys.size());
    detail::require_optional("select values", ranks.size(), values.size());
    detail::require_optional("select mask", ranks.size(), found.size());
    index_->select(ranks.data(), ranks.size(), keys.data(), values.data(), found.data(), ex);
  }
  [[nodiscard]] range_result<Key, Value> range_on(keys_in lo, keys_in hi, const range_options& options,
                                                  const detail::execution& ex) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    return range_result<Key, Value>(index_->range(lo.data(), hi.data(), lo.size(), options, ex));
  }
  void count_on(keys_in lo, keys_in hi, ranks_out counts, const range_options& options,
                const detail::execution& ex) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    detail::require_equal("count answers", lo.size(), counts.size());
    index_->count(lo.data(), hi.data(), lo.size(), options, counts.data(), ex);
  }
  void rows_on(keys_in lo, keys_in hi, out<Key> out_keys, out<slot> values, out<std::uint64_t> counts,
               const range_options& options, const detail::execution& ex) const {
    detail::require_rows(lo.size(), hi.size(), counts.size(), options.limit, out_keys.size(), values.size());
    index_->rows(lo.data(), hi.data(), lo.size(), options, out_keys.empty() ? nullptr : out_keys.data(),
                 values.empty() ? nullptr : values.data(), counts.data(), ex);
  }
  template <class T>
  void aggregate_on(detail::aggregate_op op, keys_in lo, keys_in hi, out<T> results, mask_out found, interval ends,
                    const detail::execution& ex) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    detail::require_equal("aggregate answers", lo.size(), results.size());
    detail::require_optional("aggregate mask", lo.size(), found.size());
    index_->aggregate(op, lo.data(), hi.data(), lo.size(), ends, results.data(), found.data(), ex);
  }

  std::unique_ptr<detail::static_index> index_;
};

}  // namespace espalier
