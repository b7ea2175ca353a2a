// radix_tree.hpp - an ordered map from byte strings, on CPU threads or a GPU: an adaptive radix tree, flat in one
// buffer per kind of node.
//
//   auto tree = espalier::radix_tree<std::uint32_t>::build(keys, values);
//   tree.find(queries, out, found);
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "espalier/core/scalar.hpp"
#include "espalier/index/bulk_writes.hpp"
#include "espalier/index/result.hpp"
#include "espalier/index/single_key.hpp"
#include "espalier/radix_tree/batch.hpp"
#include "espalier/radix_tree/index.hpp"
#include "espalier/radix_tree/ref.hpp"

namespace espalier {

/// Ordered map from byte strings in the memory of one device. `Value` is a trivially copyable type of at most 16 bytes;
/// void makes a set. Move-only.
///
/// Keys are strings of any bytes and any length; empty keys, zero bytes and keys that are prefixes of others are
/// allowed. They are ordered byte by byte, unsigned. byte_key.hpp encodes numbers, dates and tuples. A batch of keys is
/// given as strings in host memory, or as bytes and offsets (or keys of one length) in host or device memory
/// (batch.hpp).
///
/// These rules hold for every method unless it says otherwise:
/// - Memory: spans are in host or device memory. Output spans have one element per query; a mismatch throws `error`
///   before anything is written. Optional outputs are empty spans.
/// - Streams: the last argument is a stream, or a CUDA stream of the caller (cudaStream_t, cuda::stream_ref); an empty
///   stream is the default stream of the device. A method returns when its results are complete. Its `_async` form
///   returns when the work is enqueued; results are complete, and errors are thrown, at stream::synchronize(). On a GPU
///   these `_async` calls block the host: inserts and erases (all but the last step), updates of keys with offsets (the
///   offsets are checked first), the first ordered query after an insert or erase, and the first aggregate after a
///   write (they build the leaf order and block aggregates).
/// - Lifetime: the tree and all memory given to an `_async` call must live until the stream is synchronised. Keys given
///   as strings are copied.
/// - Thread safety: all methods except construction, move and destruction may run concurrently, with one stream per
///   thread (device::make_stream). Queries run concurrently; a write is exclusive.
/// - Failure: a call that throws has changed nothing.
/// - Complexity: per key of L bytes; n is size(). A search is O(L): it reads the nodes of one path and compares the key
///   once.
///
/// Limits, beyond which `error` is thrown: keys of fewer than 2^32 - 1 bytes; builds and batches of writes of fewer
/// than 2^32 - 1 keys; at most 2^28 - 1 leaves of each of four classes (keys of up to 8, 16, 32 bytes, and longer) and
/// 2^28 - 1 inner nodes of each kind. Split larger data over several trees.
template <class Value = void>
class radix_tree : public single_key_map_writes<radix_tree<Value>, std::string_view, Value, byte_string_batch>,
                   public bulk_map_writes<radix_tree<Value>, const byte_string_batch&, Value, radix_path> {
  using single_key = single_key_map_writes<radix_tree, std::string_view, Value, byte_string_batch>;
  using writes = bulk_map_writes<radix_tree, const byte_string_batch&, Value, radix_path>;
  friend bulk_writes<radix_tree, const byte_string_batch&, Value, radix_path>;
  static constexpr bool is_set = std::is_void_v<Value>;
  using slot = detail::value_or_placeholder<Value>;
  static_assert(std::is_trivially_copyable_v<slot>, "values must be trivially copyable");
  static_assert(sizeof(slot) <= 16, "values have at most 16 bytes: store an index to larger ones");
  using keys_in = const byte_string_batch&;
  template <class T>
  using in = std::span<const T>;
  template <class T>
  using out = std::span<T>;
  using mask_out = std::span<std::uint8_t>;
  using aggregate = detail::aggregate_op;
  using slice = detail::radix_slice;

 public:
  using key_type = std::string_view;
  using value_type = Value;
  using batch_type = byte_string_batch;
  using sum_type = sum_of<slot>;

  /// Makes an empty tree.
  explicit radix_tree(const device& dev = device::default_device(), const radix_options& options = {},
                      const stream& s = {})
      : radix_tree(detail::build_radix_index(dev, elements(), byte_string_batch({}).raw(), nullptr, options,
                                             dev.resolve(s))) {}

  /// Builds a tree from keys in any order; of equal keys the last one wins. Requires as many values as keys.
  [[nodiscard]] static radix_tree build(keys_in keys, in<slot> values, const radix_options& options = {},
                                        const device& dev = device::default_device(),
                                        const stream& s = {}) requires(!is_set) {
    detail::require_equal("build values", keys.size(), values.size());
    return radix_tree(detail::build_radix_index(dev, elements(), keys.raw(), values.data(), options, dev.resolve(s)));
  }
  [[nodiscard]] static radix_tree build(keys_in keys, const radix_options& options = {},
                                        const device& dev = device::default_device(),
                                        const stream& s = {}) requires(is_set) {
    return radix_tree(detail::build_radix_index(dev, elements(), keys.raw(), nullptr, options, dev.resolve(s)));
  }

  // ---- point queries -----------------------------------------------------------------------------------------
  // On a GPU the _async forms block for the CPU's part if radix_options::long_keys gives it one.
  using single_key::contains;
  using single_key::find;

  /// Writes the value of each key. For a missing key, found[i] is 0 and the value is zero bytes. Outputs are optional.
  void find(keys_in keys, out<slot> values, mask_out found = {}, const stream& s = {}) const requires(!is_set) {
    find_on(keys, values, found, wait(s));
  }
  template <StreamArgument S>
  void find(keys_in keys, out<slot> values, const S& s) const requires(!is_set) {
    find_on(keys, values, {}, wait(s));
  }
  void find_async(keys_in keys, out<slot> values, mask_out found, const stream& s) const requires(!is_set) {
    find_on(keys, values, found, enqueue(s));
  }
  /// found[i] is 1 if the key is present.
  void contains(keys_in keys, mask_out found, const stream& s = {}) const { find_on(keys, {}, found, wait(s)); }
  void contains_async(keys_in keys, mask_out found, const stream& s) const { find_on(keys, {}, found, enqueue(s)); }

  // ---- ranks ---------------------------------------------------------------------------------------------------

  /// Writes the number of keys less than each query or, with bound_type::upper, not greater.
  void rank(keys_in keys, out<std::uint64_t> ranks, bound_type bound = bound_type::lower, const stream& s = {}) const {
    rank_on(bound, keys, ranks, wait(s));
  }
  void rank_async(keys_in keys, out<std::uint64_t> ranks, bound_type bound, const stream& s) const {
    rank_on(bound, keys, ranks, enqueue(s));
  }
  /// Returns the element of each rank; no element for a rank of size() or more. O(L) each. The _async form blocks until
  /// the number of bytes is known.
  [[nodiscard]] byte_range_result<Value> select(in<std::uint64_t> ranks, const stream& s = {}) const {
    return byte_range_result<Value>(index_->select(ranks.data(), ranks.size(), wait(s)));
  }
  [[nodiscard]] byte_range_result<Value> select_async(in<std::uint64_t> ranks, const stream& s) const {
    return byte_range_result<Value>(index_->select(ranks.data(), ranks.size(), enqueue(s)));
  }
  /// Writes the number of keys of each range, at most options.limit. Two searches, whatever the length.
  void count(keys_in lo, keys_in hi, out<std::uint64_t> counts, const range_options& options = {},
             const stream& s = {}) const {
    count_on(slice::range, lo, hi, counts, options, wait(s));
  }
  void count_async(keys_in lo, keys_in hi, out<std::uint64_t> counts, const range_options& options,
                   const stream& s) const {
    count_on(slice::range, lo, hi, counts, options, enqueue(s));
  }
  /// Writes the number of keys that begin with each prefix, at most options.limit.
  void count_prefix(keys_in prefixes, out<std::uint64_t> counts, const range_options& options = {},
                    const stream& s = {}) const {
    count_on(slice::prefix, prefixes, prefixes, counts, options, wait(s));
  }
  void count_prefix_async(keys_in prefixes, out<std::uint64_t> counts, const range_options& options,
                          const stream& s) const {
    count_on(slice::prefix, prefixes, prefixes, counts, options, enqueue(s));
  }

  // ---- aggregates over the values of a range, or of the keys with a prefix ------------------------------------
  // O(L + log n), whatever the length, after the first aggregate of a write has built the block aggregates (O(n)). On a
  // CPU short ranges walk the leaves instead while they are few. The values must be numbers.

  /// Writes the sum of each range; 0 for an empty one. Integer sums are exact; floats are added in double.
  void sum(keys_in lo, keys_in hi, out<sum_type> sums, interval ends = interval::closed, const stream& s = {}) const {
    aggregate_on(aggregate::sum, slice::range, lo, hi, sums, {}, ends, wait(s));
  }
  void sum_async(keys_in lo, keys_in hi, out<sum_type> sums, interval ends, const stream& s) const {
    aggregate_on(aggregate::sum, slice::range, lo, hi, sums, {}, ends, enqueue(s));
  }
  /// Writes the sum over the keys that begin with each prefix.
  void sum_prefix(keys_in prefixes, out<sum_type> sums, const stream& s = {}) const {
    prefix_aggregate_on(aggregate::sum, prefixes, sums, {}, wait(s));
  }
  void sum_prefix_async(keys_in prefixes, out<sum_type> sums, const stream& s) const {
    prefix_aggregate_on(aggregate::sum, prefixes, sums, {}, enqueue(s));
  }
  /// Writes the smallest value of each range. For an empty range, found[i] is 0 and the value is zero bytes. `found` is
  /// optional.
  void min(keys_in lo, keys_in hi, out<slot> values, mask_out found, interval ends = interval::closed,
           const stream& s = {}) const {
    aggregate_on(aggregate::min, slice::range, lo, hi, values, found, ends, wait(s));
  }
  void min_async(keys_in lo, keys_in hi, out<slot> values, mask_out found, interval ends, const stream& s) const {
    aggregate_on(aggregate::min, slice::range, lo, hi, values, found, ends, enqueue(s));
  }
  void min_prefix(keys_in prefixes, out<slot> values, mask_out found, const stream& s = {}) const {
    prefix_aggregate_on(aggregate::min, prefixes, values, found, wait(s));
  }
  void min_prefix_async(keys_in prefixes, out<slot> values, mask_out found, const stream& s) const {
    prefix_aggregate_on(aggregate::min, prefixes, values, found, enqueue(s));
  }
  /// Writes the largest value of each range; outputs as for min().
  void max(keys_in lo, keys_in hi, out<slot> values, mask_out found, interval ends = interval::closed,
           const stream& s = {}) const {
    aggregate_on(aggregate::max, slice::range, lo, hi, values, found, ends, wait(s));
  }
  void max_async(keys_in lo, keys_in hi, out<slot> values, mask_out found, interval ends, const stream& s) const {
    aggregate_on(aggregate::max, slice::range, lo, hi, values, found, ends, enqueue(s));
  }
  void max_prefix(keys_in prefixes, out<slot> values, mask_out found, const stream& s = {}) const {
    prefix_aggregate_on(aggregate::max, prefixes, values, found, wait(s));
  }
  void max_prefix_async(keys_in prefixes, out<slot> values, mask_out found, const stream& s) const {
    prefix_aggregate_on(aggregate::max, prefixes, values, found, enqueue(s));
  }
  /// Writes the mean of each range, or NaN for an empty range.
  void avg(keys_in lo, keys_in hi, out<double> means, interval ends = interval::closed, const stream& s = {}) const {
    aggregate_on(aggregate::avg, slice::range, lo, hi, means, {}, ends, wait(s));
  }
  void avg_async(keys_in lo, keys_in hi, out<double> means, interval ends, const stream& s) const {
    aggregate_on(aggregate::avg, slice::range, lo, hi, means, {}, ends, enqueue(s));
  }
  void avg_prefix(keys_in prefixes, out<double> means, const stream& s = {}) const {
    prefix_aggregate_on(aggregate::avg, prefixes, means, {}, wait(s));
  }
  void avg_prefix_async(keys_in prefixes, out<double> means, const stream& s) const {
    prefix_aggregate_on(aggregate::avg, prefixes, means, {}, enqueue(s));
  }

  // ---- elements: keys and values, compact and in key order ---------------------------------------------------
  // The _async forms block until the number of bytes is known; on a GPU the elements are complete for work enqueued on
  // the stream later.

  /// Returns the elements of each range, at most options.limit each.
  [[nodiscard]] byte_range_result<Value> range(keys_in lo, keys_in hi, const range_options& options = {},
                                               const stream& s = {}) const {
    return list(slice::range, lo, hi, options, wait(s));
  }
  [[nodiscard]] byte_range_result<Value> range_async(keys_in lo, keys_in hi, const range_options& options,
                                                     const stream& s) const {
    return list(slice::range, lo, hi, options, enqueue(s));
  }
  /// Returns the elements whose keys begin with each prefix, at most options.limit each.
  [[nodiscard]] byte_range_result<Value> prefix(keys_in prefixes, const range_options& options = {},
                                                const stream& s = {}) const {
    return list(slice::prefix, prefixes, prefixes, options, wait(s));
  }
  [[nodiscard]] byte_range_result<Value> prefix_async(keys_in prefixes, const range_options& options,
                                                      const stream& s) const {
    return list(slice::prefix, prefixes, prefixes, options, enqueue(s));
  }
  /// Returns the first element whose key is not less than each query; no element if there is none.
  [[nodiscard]] byte_range_result<Value> lower_bound(keys_in keys, const stream& s = {}) const {
    return list(slice::lower_bound, keys, keys, {}, wait(s));
  }
  [[nodiscard]] byte_range_result<Value> lower_bound_async(keys_in keys, const stream& s) const {
    return list(slice::lower_bound, keys, keys, {}, enqueue(s));
  }
  /// Returns the first element with a greater key than each query; no element if there is none.
  [[nodiscard]] byte_range_result<Value> upper_bound(keys_in keys, const stream& s = {}) const {
    return successor(keys, s);
  }
  [[nodiscard]] byte_range_result<Value> upper_bound_async(keys_in keys, const stream& s) const {
    return successor_async(keys, s);
  }
  /// As upper_bound().
  [[nodiscard]] byte_range_result<Value> successor(keys_in keys, const stream& s = {}) const {
    return list(slice::successor, keys, keys, {}, wait(s));
  }
  [[nodiscard]] byte_range_result<Value> successor_async(keys_in keys, const stream& s) const {
    return list(slice::successor, keys, keys, {}, enqueue(s));
  }
  /// Returns the last element with a smaller key than each query; no element if there is none.
  [[nodiscard]] byte_range_result<Value> predecessor(keys_in keys, const stream& s = {}) const {
    return list(slice::predecessor, keys, keys, {}, wait(s));
  }
  [[nodiscard]] byte_range_result<Value> predecessor_async(keys_in keys, const stream& s) const {
    return list(slice::predecessor, keys, keys, {}, enqueue(s));
  }

  /// Writes length and value of the longest key that is a prefix of each query; found[i] is 0 if there is none. Outputs
  /// are optional.
  void longest_prefix(keys_in keys, out<std::uint32_t> lengths, out<slot> values, mask_out found,
                      const stream& s = {}) const {
    longest_prefix_on(keys, lengths, values, found, wait(s));
  }
  void longest_prefix_async(keys_in keys, out<std::uint32_t> lengths, out<slot> values, mask_out found,
                            const stream& s) const {
    longest_prefix_on(keys, lengths, values, found, enqueue(s));
  }

  // ---- writes ------------------------------------------------------------------------------------------------
  // insert, insert_or_assign, update and erase are in index/bulk_writes.hpp. Of equal keys in a batch the first one
  // sets `done`; every update of a present key does. insert keeps the value of the first of equal keys,
  // insert_or_assign and update that of the last. `options` is a radix_path: it selects between changing nodes in place
  // and rebuilding the tree, with the same result; an update always changes values in place. Writes invalidate refs.
  using single_key::erase;
  using single_key::insert;
  using single_key::insert_or_assign;
  using single_key::update;
  using writes::erase;
  using writes::insert;
  using writes::insert_or_assign;
  using writes::update;
  using writes::update_async;
  /// An update without a path.
  template <StreamArgument S>
  void update(keys_in keys, in<slot> values, mask_out done, const S& s) requires(!is_set) {
    writes::update(keys, values, done, radix_path::automatic, s);
  }
  void update_async(keys_in keys, in<slot> values, mask_out done, const stream& s) requires(!is_set) {
    writes::update_async(keys, values, done, radix_path::automatic, s);
  }

  /// Returns a trivially copyable, non-owning, read-only ref for kernels and CPU threads. Lifetime: invalidated by the
  /// next write and by destruction.
  [[nodiscard]] radix_tree_ref<Value> ref() const {
    typename radix_tree_ref<Value>::view_type view;
    index_->view(&view);
    return radix_tree_ref<Value>(&view);
  }

  /// Number of keys, with those of completed writes. O(1) without a lock.
  [[nodiscard]] std::size_t size() const { return index_->size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  /// The device of the tree.
  [[nodiscard]] const device& get_device() const { return index_->get_device(); }
  /// Numbers of nodes and leaves, and sizes of the parts of the tree.
  [[nodiscard]] radix_stats stats() const { return index_->stats(); }
  /// Checks order, branches, kinds, ranks, the table, and that nothing is lost. O(n).
  [[nodiscard]] validation validate() const { return index_->validate(); }
  /// All nodes with kind, common prefix and children, and all leaves, as JSON and as a Graphviz graph. Bytes that are
  /// not printable ASCII, and backslashes, are written `\xNN`. O(n).
  [[nodiscard]] std::string dump_json() const { return index_->dump(false); }
  [[nodiscard]] std::string dump_graphviz() const { return index_->dump(true); }
  /// The plan for a batch of this many queries. Times are not predicted.
  [[nodiscard]] explanation explain(std::size_t queries) const { return index_->explain(queries); }
  /// The untyped index, for the library's own layers.
  [[nodiscard]] detail::radix_index& untyped() const { return *index_; }

 private:
  explicit radix_tree(std::unique_ptr<detail::radix_index> index) : index_(std::move(index)) {}
  static constexpr detail::element_type elements() {
    if constexpr (is_set) {
      return {scalar_kind::opaque, scalar_kind::opaque, 0};
    } else {
      return {scalar_kind::opaque, scalar_kind_of<Value>, sizeof(slot)};
    }
  }
  using writes::enqueue, writes::wait;
  void find_on(keys_in keys, out<slot> values, mask_out found, const detail::execution& ex) const {
    detail::require_optional("find values", keys.size(), values.size());
    detail::require_optional("find mask", keys.size(), found.size());
    index_->find(keys.raw(), detail::optional_data(values), detail::optional_data(found), ex);
  }
  [[nodiscard]] byte_range_result<Value> list(slice what, keys_in lo, keys_in hi, const range_options& options,
                                              const detail::execution& ex) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    return byte_range_result<Value>(index_->list(what, lo.raw(), hi.raw(), options, ex));
  }
  void count_on(slice what, keys_in lo, keys_in hi, out<std::uint64_t> counts, const range_options& options,
                const detail::execution& ex) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    detail::require_equal("count answers", lo.size(), counts.size());
    index_->count(what, lo.raw(), hi.raw(), options, counts.data(), ex);
  }
  template <class T>
  void aggregate_on(aggregate op, slice what, keys_in lo, keys_in hi, out<T> results, mask_out found, interval ends,
                    const detail::execution& ex) const {
    static_assert(!is_set, "a set has keys only, and strings of bytes have no sum: give the tree values");
    static_assert(is_set || scalar_kind_of<slot> != scalar_kind::opaque,
                  "values that are not numbers have no sum, minimum or mean: use range() and what you know of them");
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    detail::require_equal("aggregate answers", lo.size(), results.size());
    detail::require_optional("aggregate mask", lo.size(), found.size());
    index_->aggregate(op, what, lo.raw(), hi.raw(), ends, results.data(), detail::optional_data(found), ex);
  }
  template <class T>
  void prefix_aggregate_on(aggregate op, keys_in prefixes, out<T> results, mask_out found,
                           const detail::execution& ex) const {
    aggregate_on(op, slice::prefix, prefixes, prefixes, results, found, interval::closed, ex);
  }
  void longest_prefix_on(keys_in keys, out<std::uint32_t> lengths, out<slot> values, mask_out found,
                         const detail::execution& ex) const {
    detail::require_optional("longest_prefix lengths", keys.size(), lengths.size());
    detail::require_optional("longest_prefix values", keys.size(), values.size());
    detail::require_optional("longest_prefix mask", keys.size(), found.size());
    index_->longest_prefix(keys.raw(), detail::optional_data(lengths), is_set ? nullptr : detail::optional_data(values),
                           detail::optional_data(found), ex);
  }
  void write_on(write_op op, keys_in keys, const void* values, std::uint8_t* done, radix_path path,
                const detail::execution& ex) {
    index_->write(op, keys.raw(), values, done, path, ex);
  }
  void rank_on(bound_type what, keys_in keys, out<std::uint64_t> ranks, const detail::execution& ex) const {
    detail::require_equal("ranks", keys.size(), ranks.size());
    index_->rank(what, keys.raw(), ranks.data(), ex);
  }

  std::unique_ptr<detail::radix_index> index_;
};

}  // namespace espalier
