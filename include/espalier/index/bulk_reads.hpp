// bulk_reads.hpp - the typed bulk queries of an owner with keys of fixed width, over its untyped index.
//
// Written once for static_tree, blink_tree and hybrid_tree. Each call checks the sizes of its spans and forwards to the
// virtual function of the same name of Tree::untyped(); its `_async` form enqueues instead of waiting. The class
// comment of the owner states the rules for memory, streams, lifetime and threads, and what a query costs.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "espalier/core/scalar.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/index/elements.hpp"
#include "espalier/index/options.hpp"
#include "espalier/index/result.hpp"
#include "espalier/index/seek.hpp"
#include "espalier/index/single_key.hpp"

namespace espalier {

/// Base of `Tree`. `Value` = void is a set, whose aggregates are over the keys. `Options` are those of find() and
/// contains(). `Stream` is detail::no_stream for an owner without streams: it has neither `_async` forms nor overloads
/// with a stream.
template <class Tree, KeyType Key, class Value, class Options = query_options, class Stream = stream>
class bulk_reads {
 protected:
  static constexpr bool is_set = std::is_void_v<Value>;
  static constexpr bool has_streams = std::is_same_v<Stream, stream>;
  using slot = detail::value_or_placeholder<Value>;
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

  // ---- point queries -------------------------------------------------------------------------------------
  // If there is no such element, found[i] is 0 and key and value are zero bytes. All outputs are optional.

  /// Writes the value of the first element with each key.
  void find(keys_in keys, out<slot> values, mask_out found = {}, const Options& options = {},
            const Stream& s = {}) const requires(!is_set) {
    find_on(keys, values, found, options, wait(s));
  }
  void find(keys_in keys, out<slot> values, mask_out found, const stream& s) const requires(!is_set && has_streams) {
    find_on(keys, values, found, {}, wait(s));
  }
  template <StreamArgument S>
  void find(keys_in keys, out<slot> values, const S& s) const requires(!is_set && has_streams) {
    find_on(keys, values, {}, {}, wait(s));
  }
  /// As contains(): a set has no values, and `values` is not written.
  void find(keys_in keys, out<slot> values, mask_out found, const Options& options = {}, const Stream& s = {}) const
      requires(is_set) {
    find_on(keys, values, found, options, wait(s));
  }
  /// As contains().
  void find(keys_in keys, mask_out found) const requires(is_set) { contains(keys, found); }
  void find_async(keys_in keys, out<slot> values, mask_out found, const Options& options = {},
                  const Stream& s = {}) const requires(has_streams) {
    find_on(keys, values, found, options, enqueue(s));
  }
  void find_async(keys_in keys, out<slot> values, mask_out found, const stream& s) const requires(has_streams) {
    find_on(keys, values, found, {}, enqueue(s));
  }
  template <StreamArgument S>
  void find_async(keys_in keys, out<slot> values, const S& s) const requires(!is_set && has_streams) {
    find_on(keys, values, {}, {}, enqueue(s));
  }

  /// found[i] is 1 if there is an element with key i.
  void contains(keys_in keys, mask_out found, const Options& options = {}, const Stream& s = {}) const {
    find_on(keys, {}, found, options, wait(s));
  }
  void contains(keys_in keys, mask_out found, const stream& s) const requires(has_streams) {
    find_on(keys, {}, found, {}, wait(s));
  }
  void contains_async(keys_in keys, mask_out found, const Options& options = {}, const Stream& s = {}) const
      requires(has_streams) {
    find_on(keys, {}, found, options, enqueue(s));
  }
  void contains_async(keys_in keys, mask_out found, const stream& s) const requires(has_streams) {
    find_on(keys, {}, found, {}, enqueue(s));
  }

  /// Writes the first element whose key is not less than the query. Of equal keys, the element is the first one.
  void lower_bound(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const query_options& options = {},
                   const Stream& s = {}) const {
    seek_on(detail::seek_kind::lower_bound, keys, out_keys, values, found, options, wait(s));
  }
  void lower_bound(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const stream& s) const
      requires(has_streams) {
    lower_bound(keys, out_keys, values, found, query_options{}, s);
  }
  void lower_bound_async(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found,
                         const query_options& options = {}, const Stream& s = {}) const requires(has_streams) {
    seek_on(detail::seek_kind::lower_bound, keys, out_keys, values, found, options, enqueue(s));
  }
  void lower_bound_async(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const stream& s) const
      requires(has_streams) {
    lower_bound_async(keys, out_keys, values, found, query_options{}, s);
  }
  /// Writes the first element with a greater key than the query.
  void upper_bound(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const query_options& options = {},
                   const Stream& s = {}) const {
    successor(keys, out_keys, values, found, options, s);
  }
  void upper_bound(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const stream& s) const
      requires(has_streams) {
    successor(keys, out_keys, values, found, query_options{}, s);
  }
  void upper_bound_async(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found,
                         const query_options& options = {}, const Stream& s = {}) const requires(has_streams) {
    successor_async(keys, out_keys, values, found, options, s);
  }
  void upper_bound_async(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const stream& s) const
      requires(has_streams) {
    successor_async(keys, out_keys, values, found, query_options{}, s);
  }
  /// As upper_bound().
  void successor(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const query_options& options = {},
                 const Stream& s = {}) const {
    seek_on(detail::seek_kind::successor, keys, out_keys, values, found, options, wait(s));
  }
  void successor(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const stream& s) const
      requires(has_streams) {
    successor(keys, out_keys, values, found, query_options{}, s);
  }
  void successor_async(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found,
                       const query_options& options = {}, const Stream& s = {}) const requires(has_streams) {
    seek_on(detail::seek_kind::successor, keys, out_keys, values, found, options, enqueue(s));
  }
  void successor_async(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const stream& s) const
      requires(has_streams) {
    successor_async(keys, out_keys, values, found, query_options{}, s);
  }
  /// Writes the last element with a smaller key than the query. Of equal keys, the element is the last one.
  void predecessor(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const query_options& options = {},
                   const Stream& s = {}) const {
    seek_on(detail::seek_kind::predecessor, keys, out_keys, values, found, options, wait(s));
  }
  void predecessor(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const stream& s) const
      requires(has_streams) {
    predecessor(keys, out_keys, values, found, query_options{}, s);
  }
  void predecessor_async(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found,
                         const query_options& options = {}, const Stream& s = {}) const requires(has_streams) {
    seek_on(detail::seek_kind::predecessor, keys, out_keys, values, found, options, enqueue(s));
  }
  void predecessor_async(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const stream& s) const
      requires(has_streams) {
    predecessor_async(keys, out_keys, values, found, query_options{}, s);
  }

  // ---- ranges ------------------------------------------------------------------------------------------
  // A range whose lower end is above its upper end is empty. lo and hi have equal sizes.

  /// Writes the number of elements of each range, at most options.limit.
  void count(keys_in lo, keys_in hi, ranks_out counts, const range_options& options = {}, const Stream& s = {}) const {
    count_on(lo, hi, counts, options, wait(s));
  }
  void count_async(keys_in lo, keys_in hi, ranks_out counts, const range_options& options = {},
                   const Stream& s = {}) const requires(has_streams) {
    count_on(lo, hi, counts, options, enqueue(s));
  }

  /// Returns all elements of every range, at most options.limit each, compact and in key order, in buffers on the
  /// device of the tree (of a hybrid_tree: in host memory). O(elements) beyond the searches. A blink_tree throws
  /// `error` if refs keep changing the ranges during the call; repeat it when they are done.
  [[nodiscard]] range_result<Key, Value> range(keys_in lo, keys_in hi, const range_options& options = {},
                                               const Stream& s = {}) const {
    return range_on(lo, hi, options, wait(s));
  }
  /// As range(). Blocks until the total is known; on a GPU the elements are complete for work enqueued on `s` later.
  [[nodiscard]] range_result<Key, Value> range_async(keys_in lo, keys_in hi, const range_options& options = {},
                                                     const Stream& s = {}) const requires(has_streams) {
    return range_on(lo, hi, options, enqueue(s));
  }

  /// Writes the first options.limit elements of range i to positions [i * limit, (i + 1) * limit) of the outputs, and
  /// their number to counts[i]; the other positions are unspecified. Requires outputs of lo.size() * limit elements or
  /// empty ones. One pass, without blocking for a total. O(limit) beyond the search.
  void range_rows(keys_in lo, keys_in hi, out<Key> out_keys, out<slot> values, ranks_out counts,
                  const range_options& options, const Stream& s = {}) const {
    rows_on(lo, hi, out_keys, values, counts, options, wait(s));
  }
  void range_rows_async(keys_in lo, keys_in hi, out<Key> out_keys, out<slot> values, ranks_out counts,
                        const range_options& options, const Stream& s = {}) const requires(has_streams) {
    rows_on(lo, hi, out_keys, values, counts, options, enqueue(s));
  }

  // ---- aggregates over ranges ----------------------------------------------------------------------------
  // The values (of a set: the keys) must be numbers, and a static_tree must have been built with build_options::keep
  // for the aggregate; otherwise `error` is thrown.

  /// Writes the sum of each range; 0 for an empty one. Integer sums are exact; floats are added in double, never as
  /// differences of prefix sums.
  void sum(keys_in lo, keys_in hi, out<sum_type> sums, interval ends = interval::closed, const Stream& s = {}) const {
    aggregate_on(detail::aggregate_op::sum, lo, hi, sums, {}, ends, wait(s));
  }
  void sum_async(keys_in lo, keys_in hi, out<sum_type> sums, interval ends = interval::closed,
                 const Stream& s = {}) const requires(has_streams) {
    aggregate_on(detail::aggregate_op::sum, lo, hi, sums, {}, ends, enqueue(s));
  }
  /// As sum(), into 64 bits. Throws `overflow`, with nothing written, if a sum does not fit.
  void sum(keys_in lo, keys_in hi, out<summand> sums, interval ends = interval::closed, const Stream& s = {}) const
      requires(sizeof(sum_type) == 16 && has_streams) {
    detail::require_equal("sum", lo.size(), sums.size());
    const device& dev = tree().get_device();
    const stream order = dev.resolve(s);
    const buffer<sum_type> wide(dev, lo.size(), order);
    sum(lo, hi, wide.span(), ends, order);
    const std::vector<sum_type> exact = wide.to_vector();
    std::vector<summand> narrow(exact.size());
    for (std::size_t i = 0; i < exact.size(); ++i) narrow[i] = detail::narrow_sum<summand>(exact[i], i);
    if (narrow.empty()) return;
    dev.copy(sums.data(), narrow.data(), narrow.size() * sizeof(summand), order);
    order.synchronize();
  }

  /// Writes the smallest value of each range. For an empty range, found[i] is 0 and the value is zero bytes. `found` is
  /// optional.
  void min(keys_in lo, keys_in hi, out<summand> values, mask_out found, interval ends = interval::closed,
           const Stream& s = {}) const {
    aggregate_on(detail::aggregate_op::min, lo, hi, values, found, ends, wait(s));
  }
  void min_async(keys_in lo, keys_in hi, out<summand> values, mask_out found, interval ends = interval::closed,
                 const Stream& s = {}) const requires(has_streams) {
    aggregate_on(detail::aggregate_op::min, lo, hi, values, found, ends, enqueue(s));
  }
  /// Writes the largest value of each range; outputs as for min(). NaN is the largest value.
  void max(keys_in lo, keys_in hi, out<summand> values, mask_out found, interval ends = interval::closed,
           const Stream& s = {}) const {
    aggregate_on(detail::aggregate_op::max, lo, hi, values, found, ends, wait(s));
  }
  void max_async(keys_in lo, keys_in hi, out<summand> values, mask_out found, interval ends = interval::closed,
                 const Stream& s = {}) const requires(has_streams) {
    aggregate_on(detail::aggregate_op::max, lo, hi, values, found, ends, enqueue(s));
  }
  /// Writes the mean of each range, or NaN for an empty range. A static_tree needs kept sums.
  void avg(keys_in lo, keys_in hi, out<double> means, interval ends = interval::closed, const Stream& s = {}) const {
    aggregate_on(detail::aggregate_op::avg, lo, hi, means, {}, ends, wait(s));
  }
  void avg_async(keys_in lo, keys_in hi, out<double> means, interval ends = interval::closed,
                 const Stream& s = {}) const requires(has_streams) {
    aggregate_on(detail::aggregate_op::avg, lo, hi, means, {}, ends, enqueue(s));
  }

 protected:
  static constexpr detail::element_type elements{
      scalar_kind_of<Key>, is_set ? scalar_kind::opaque : scalar_kind_of<slot>, is_set ? 0u : unsigned{sizeof(slot)}};

  [[nodiscard]] detail::execution wait(const Stream& s) const { return detail::waiting(tree().get_device(), s); }
  [[nodiscard]] detail::execution enqueue(const Stream& s) const { return detail::enqueued(tree().get_device(), s); }

 private:
  [[nodiscard]] const Tree& tree() const { return static_cast<const Tree&>(*this); }

  void find_on(keys_in keys, out<slot> values, mask_out found, const Options& options,
               const detail::execution& ex) const {
    detail::require_optional("find values", keys.size(), values.size());
    detail::require_optional("find mask", keys.size(), found.size());
    tree().untyped().find(keys.data(), keys.size(), detail::optional_data(values), detail::optional_data(found),
                          options, ex);
  }
  void seek_on(detail::seek_kind kind, keys_in keys, out<Key> out_keys, out<slot> values, mask_out found,
               const query_options& options, const detail::execution& ex) const {
    detail::require_optional("seek keys", keys.size(), out_keys.size());
    detail::require_optional("seek values", keys.size(), values.size());
    detail::require_optional("seek mask", keys.size(), found.size());
    tree().untyped().seek(kind, keys.data(), keys.size(), detail::optional_data(out_keys),
                          detail::optional_data(values), detail::optional_data(found), options, ex);
  }
  void count_on(keys_in lo, keys_in hi, ranks_out counts, const range_options& options,
                const detail::execution& ex) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    detail::require_equal("count answers", lo.size(), counts.size());
    tree().untyped().count(lo.data(), hi.data(), lo.size(), options, counts.data(), ex);
  }
  [[nodiscard]] range_result<Key, Value> range_on(keys_in lo, keys_in hi, const range_options& options,
                                                  const detail::execution& ex) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    return range_result<Key, Value>(tree().untyped().range(lo.data(), hi.data(), lo.size(), options, ex));
  }
  void rows_on(keys_in lo, keys_in hi, out<Key> out_keys, out<slot> values, ranks_out counts,
               const range_options& options, const detail::execution& ex) const {
    detail::require_rows(lo.size(), hi.size(), counts.size(), options.limit, out_keys.size(), values.size());
    tree().untyped().rows(lo.data(), hi.data(), lo.size(), options, detail::optional_data(out_keys),
                          detail::optional_data(values), counts.data(), ex);
  }
  template <class T>
  void aggregate_on(detail::aggregate_op op, keys_in lo, keys_in hi, out<T> results, mask_out found, interval ends,
                    const detail::execution& ex) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    detail::require_equal("aggregate answers", lo.size(), results.size());
    detail::require_optional("aggregate mask", lo.size(), found.size());
    tree().untyped().aggregate(op, lo.data(), hi.data(), lo.size(), ends, results.data(), detail::optional_data(found),
                               ex);
  }
};

}  // namespace espalier
