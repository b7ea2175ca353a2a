// radix_tree.hpp - an ordered map from byte strings, on CPU threads or a GPU, in nodes that adapt to how many children
// they have (an adaptive radix tree, flat in one buffer per kind of node).
//
// Keys are strings of any bytes and any length: empty ones, with zeros in them, one the beginning of another. They are
// ordered byte by byte, unsigned; byte_key.hpp turns numbers, dates and tuples into such keys. A batch of keys is given
// as strings in host memory, or as bytes and offsets (or keys of one length) in host or device memory (batch.hpp).
//
// Every bulk call takes a stream last, and has an _async twin that returns once the work is enqueued: results are
// there, and errors are thrown, at stream::synchronize(). What a call was given must live until then; keys that were
// given as strings are copied. On a GPU these wait for the host all the same:
//   inserts and erases   all but the last step: how many leaves and nodes there are to make is decided here
//   updates              of keys with offsets, which are checked first
//   ordered questions    the first one after inserts or erases, which lists the leaves in key order; the first
//                        aggregate after a write likewise
// The owner's calls may come from several threads at once, each with a stream of its own (device::make_stream):
// questions are asked beside each other, a write waits for all others.
//
// Limits, each refused with an error that leaves the tree as it was: a key has less than 2^32 - 1 bytes; a build or a
// batch of writes has fewer than 2^32 - 1 keys; of each of four classes of leaves (keys of up to 8, 16, 32 bytes, and
// longer ones) and of each kind of inner node a tree has at most 2^28 - 1. Larger data go into several trees.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "espalier/core/scalar.hpp"
#include "espalier/radix_tree/batch.hpp"
#include "espalier/radix_tree/index.hpp"
#include "espalier/radix_tree/ref.hpp"
#include "espalier/static_tree/result.hpp"

namespace espalier {

/// Value: any trivially copyable type of at most 16 bytes; void makes it a set.
template <class Value = void>
class radix_tree {
  static constexpr bool is_set = std::is_void_v<Value>;
  using slot = std::conditional_t<is_set, unsigned char, Value>;
  static_assert(std::is_trivially_copyable_v<slot>, "values must be trivially copyable");
  static_assert(sizeof(slot) <= 16, "values have at most 16 bytes: store an index to larger ones");
  using keys_in = const keys_of_bytes&;
  template <class T>
  using in = std::span<const T>;
  template <class T>
  using out = std::span<T>;
  using mask_out = std::span<std::uint8_t>;

 public:
  using value_type = Value;
  using sum_type = sum_of<slot>;

  /// An empty tree.
  explicit radix_tree(const device& where = device::best(), const radix_options& options = {}, const stream& s = {})
      : radix_tree(detail::build_radix_index(where, elements(), keys_of_bytes({}).raw(), nullptr, options,
                                             where.resolve(s))) {}

  /// From keys in any order; of equal ones the last counts.
  [[nodiscard]] static radix_tree build(keys_in keys, in<slot> values, const radix_options& options = {},
                                        const device& where = device::best(), const stream& s = {}) requires(!is_set) {
    detail::require_equal("build values", keys.size(), values.size());
    return radix_tree(
        detail::build_radix_index(where, elements(), keys.raw(), values.data(), options, where.resolve(s)));
  }
  [[nodiscard]] static radix_tree build(keys_in keys, const radix_options& options = {},
                                        const device& where = device::best(), const stream& s = {}) requires(is_set) {
    return radix_tree(detail::build_radix_index(where, elements(), keys.raw(), nullptr, options, where.resolve(s)));
  }

  // ---- points: found is 0 where the key is not there, and its value then has zero bytes ----------------------
  // On a GPU the _async ones do wait for the CPU's part, if radix_options::long_keys gives it one.
  void find(keys_in keys, out<slot> values, mask_out found = {}, const stream& s = {}) const requires(!is_set) {
    find_on(keys, values, found, wait(s));
  }
  void find_async(keys_in keys, out<slot> values, mask_out found, const stream& s) const requires(!is_set) {
    find_on(keys, values, found, enqueue(s));
  }
  void contains(keys_in keys, mask_out found, const stream& s = {}) const { find_on(keys, {}, found, wait(s)); }
  void contains_async(keys_in keys, mask_out found, const stream& s) const { find_on(keys, {}, found, enqueue(s)); }

  // ---- ranks: how many keys are before it --------------------------------------------------------------------
  void lower_bound(keys_in keys, out<std::uint64_t> ranks, const stream& s = {}) const {
    rank_on(detail::radix_bound::lower, keys, ranks, wait(s));
  }
  void lower_bound_async(keys_in keys, out<std::uint64_t> ranks, const stream& s) const {
    rank_on(detail::radix_bound::lower, keys, ranks, enqueue(s));
  }
  void upper_bound(keys_in keys, out<std::uint64_t> ranks, const stream& s = {}) const {
    rank_on(detail::radix_bound::upper, keys, ranks, wait(s));
  }
  void upper_bound_async(keys_in keys, out<std::uint64_t> ranks, const stream& s) const {
    rank_on(detail::radix_bound::upper, keys, ranks, enqueue(s));
  }
  /// Keys of each range.
  void count(keys_in lo, keys_in hi, out<std::uint64_t> counts, const range_options& options = {},
             const stream& s = {}) const {
    count_on(detail::radix_slice::range, lo, hi, counts, options, wait(s));
  }
  void count_async(keys_in lo, keys_in hi, out<std::uint64_t> counts, const range_options& options,
                   const stream& s) const {
    count_on(detail::radix_slice::range, lo, hi, counts, options, enqueue(s));
  }
  /// Keys that begin with each of these.
  void count_prefix(keys_in prefixes, out<std::uint64_t> counts, const range_options& options = {},
                    const stream& s = {}) const {
    count_on(detail::radix_slice::prefix, prefixes, prefixes, counts, options, wait(s));
  }
  void count_prefix_async(keys_in prefixes, out<std::uint64_t> counts, const range_options& options,
                          const stream& s) const {
    count_on(detail::radix_slice::prefix, prefixes, prefixes, counts, options, enqueue(s));
  }

  // ---- aggregates over the values of a range, or of the keys that begin with a prefix: O(log n) --------------
  // found is 0 where there is nothing, and the value then has zero bytes; it may be empty.

  /// Sums of integers are exact; floats are added up in double.
  void sum(keys_in lo, keys_in hi, out<sum_type> sums, interval ends = interval::closed, const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::sum, detail::radix_slice::range, lo, hi, sums, {}, ends, wait(s));
  }
  void sum_async(keys_in lo, keys_in hi, out<sum_type> sums, interval ends, const stream& s) const {
    aggregate_on(detail::aggregate_op::sum, detail::radix_slice::range, lo, hi, sums, {}, ends, enqueue(s));
  }
  void sum_prefix(keys_in prefixes, out<sum_type> sums, const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::sum, detail::radix_slice::prefix, prefixes, prefixes, sums, {}, interval::closed,
                 wait(s));
  }
  void sum_prefix_async(keys_in prefixes, out<sum_type> sums, const stream& s) const {
    aggregate_on(detail::aggregate_op::sum, detail::radix_slice::prefix, prefixes, prefixes, sums, {}, interval::closed,
                 enqueue(s));
  }
  void min(keys_in lo, keys_in hi, out<slot> values, mask_out found, interval ends = interval::closed,
           const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::min, detail::radix_slice::range, lo, hi, values, found, ends, wait(s));
  }
  void min_async(keys_in lo, keys_in hi, out<slot> values, mask_out found, interval ends, const stream& s) const {
    aggregate_on(detail::aggregate_op::min, detail::radix_slice::range, lo, hi, values, found, ends, enqueue(s));
  }
  void min_prefix(keys_in prefixes, out<slot> values, mask_out found, const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::min, detail::radix_slice::prefix, prefixes, prefixes, values, found,
                 interval::closed, wait(s));
  }
  void min_prefix_async(keys_in prefixes, out<slot> values, mask_out found, const stream& s) const {
    aggregate_on(detail::aggregate_op::min, detail::radix_slice::prefix, prefixes, prefixes, values, found,
                 interval::closed, enqueue(s));
  }
  void max(keys_in lo, keys_in hi, out<slot> values, mask_out found, interval ends = interval::closed,
           const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::max, detail::radix_slice::range, lo, hi, values, found, ends, wait(s));
  }
  void max_async(keys_in lo, keys_in hi, out<slot> values, mask_out found, interval ends, const stream& s) const {
    aggregate_on(detail::aggregate_op::max, detail::radix_slice::range, lo, hi, values, found, ends, enqueue(s));
  }
  void max_prefix(keys_in prefixes, out<slot> values, mask_out found, const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::max, detail::radix_slice::prefix, prefixes, prefixes, values, found,
                 interval::closed, wait(s));
  }
  void max_prefix_async(keys_in prefixes, out<slot> values, mask_out found, const stream& s) const {
    aggregate_on(detail::aggregate_op::max, detail::radix_slice::prefix, prefixes, prefixes, values, found,
                 interval::closed, enqueue(s));
  }
  /// NaN where there is nothing.
  void avg(keys_in lo, keys_in hi, out<double> means, interval ends = interval::closed, const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::avg, detail::radix_slice::range, lo, hi, means, {}, ends, wait(s));
  }
  void avg_async(keys_in lo, keys_in hi, out<double> means, interval ends, const stream& s) const {
    aggregate_on(detail::aggregate_op::avg, detail::radix_slice::range, lo, hi, means, {}, ends, enqueue(s));
  }
  void avg_prefix(keys_in prefixes, out<double> means, const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::avg, detail::radix_slice::prefix, prefixes, prefixes, means, {},
                 interval::closed, wait(s));
  }
  void avg_prefix_async(keys_in prefixes, out<double> means, const stream& s) const {
    aggregate_on(detail::aggregate_op::avg, detail::radix_slice::prefix, prefixes, prefixes, means, {},
                 interval::closed, enqueue(s));
  }

  // ---- elements, keys and values: exact and compact ----------------------------------------------------------
  // The _async ones wait until it is known how many bytes they answer; on a GPU the elements are there when the stream
  // gets to what is enqueued next.

  [[nodiscard]] byte_range_result<Value> range(keys_in lo, keys_in hi, const range_options& options = {},
                                               const stream& s = {}) const {
    return list(detail::radix_slice::range, lo, hi, options, wait(s));
  }
  [[nodiscard]] byte_range_result<Value> range_async(keys_in lo, keys_in hi, const range_options& options,
                                                     const stream& s) const {
    return list(detail::radix_slice::range, lo, hi, options, enqueue(s));
  }
  /// All elements whose keys begin with each of these.
  [[nodiscard]] byte_range_result<Value> prefix(keys_in prefixes, const range_options& options = {},
                                                const stream& s = {}) const {
    return list(detail::radix_slice::prefix, prefixes, prefixes, options, wait(s));
  }
  [[nodiscard]] byte_range_result<Value> prefix_async(keys_in prefixes, const range_options& options,
                                                      const stream& s) const {
    return list(detail::radix_slice::prefix, prefixes, prefixes, options, enqueue(s));
  }
  /// The first element not less than, the first greater than, the last less than each key; none where there is none.
  [[nodiscard]] byte_range_result<Value> at_or_after(keys_in keys, const stream& s = {}) const {
    return list(detail::radix_slice::at_or_after, keys, keys, {}, wait(s));
  }
  [[nodiscard]] byte_range_result<Value> at_or_after_async(keys_in keys, const stream& s) const {
    return list(detail::radix_slice::at_or_after, keys, keys, {}, enqueue(s));
  }
  [[nodiscard]] byte_range_result<Value> successor(keys_in keys, const stream& s = {}) const {
    return list(detail::radix_slice::successor, keys, keys, {}, wait(s));
  }
  [[nodiscard]] byte_range_result<Value> successor_async(keys_in keys, const stream& s) const {
    return list(detail::radix_slice::successor, keys, keys, {}, enqueue(s));
  }
  [[nodiscard]] byte_range_result<Value> predecessor(keys_in keys, const stream& s = {}) const {
    return list(detail::radix_slice::predecessor, keys, keys, {}, wait(s));
  }
  [[nodiscard]] byte_range_result<Value> predecessor_async(keys_in keys, const stream& s) const {
    return list(detail::radix_slice::predecessor, keys, keys, {}, enqueue(s));
  }

  /// The longest key of the tree that each of these begins with: its length and value.
  void longest_prefix(keys_in keys, out<std::uint32_t> lengths, out<slot> values, mask_out found,
                      const stream& s = {}) const {
    longest_prefix_on(keys, lengths, values, found, wait(s));
  }
  void longest_prefix_async(keys_in keys, out<std::uint32_t> lengths, out<slot> values, mask_out found,
                            const stream& s) const {
    longest_prefix_on(keys, lengths, values, found, enqueue(s));
  }

  // ---- writes ------------------------------------------------------------------------------------------------
  // done (may be empty): 1 where insert and insert_or_assign brought a new key, and where update and erase found it; of
  // equal keys of a batch the first one does that, but every update finds its key. Of equal keys that are inserted the
  // first one's value stays, of those that are assigned or updated the last one's. A call that throws has changed
  // nothing.

  void insert(keys_in keys, in<slot> values, mask_out done = {}, radix_path path = radix_path::automatic,
              const stream& s = {}) requires(!is_set) {
    write_on(detail::radix_write::insert, keys, values, done, path, wait(s));
  }
  void insert(keys_in keys, mask_out done = {}, radix_path path = radix_path::automatic,
              const stream& s = {}) requires(is_set) {
    write_on(detail::radix_write::insert, keys, {}, done, path, wait(s));
  }
  void insert_async(keys_in keys, in<slot> values, mask_out done, radix_path path, const stream& s) requires(!is_set) {
    write_on(detail::radix_write::insert, keys, values, done, path, enqueue(s));
  }
  void insert_async(keys_in keys, mask_out done, radix_path path, const stream& s) requires(is_set) {
    write_on(detail::radix_write::insert, keys, {}, done, path, enqueue(s));
  }
  void insert_or_assign(keys_in keys, in<slot> values, mask_out done = {}, radix_path path = radix_path::automatic,
                        const stream& s = {}) requires(!is_set) {
    write_on(detail::radix_write::insert_or_assign, keys, values, done, path, wait(s));
  }
  void insert_or_assign_async(keys_in keys, in<slot> values, mask_out done, radix_path path,
                              const stream& s) requires(!is_set) {
    write_on(detail::radix_write::insert_or_assign, keys, values, done, path, enqueue(s));
  }
  void update(keys_in keys, in<slot> values, mask_out done = {}, const stream& s = {}) requires(!is_set) {
    write_on(detail::radix_write::update, keys, values, done, radix_path::automatic, wait(s));
  }
  void update_async(keys_in keys, in<slot> values, mask_out done, const stream& s) requires(!is_set) {
    write_on(detail::radix_write::update, keys, values, done, radix_path::automatic, enqueue(s));
  }
  void erase(keys_in keys, mask_out done = {}, radix_path path = radix_path::automatic, const stream& s = {}) {
    write_on(detail::radix_write::erase, keys, {}, done, path, wait(s));
  }
  void erase_async(keys_in keys, mask_out done, radix_path path, const stream& s) {
    write_on(detail::radix_write::erase, keys, {}, done, path, enqueue(s));
  }

  /// For use inside a kernel or CPU threads, until the next write.
  [[nodiscard]] radix_tree_ref<Value> ref() const {
    typename radix_tree_ref<Value>::view_type view;
    index_->view(&view);
    return radix_tree_ref<Value>(&view);
  }

  [[nodiscard]] std::size_t size() const { return index_->stats().size; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const device& where() const { return index_->where(); }
  [[nodiscard]] radix_stats stats() const { return index_->stats(); }
  /// Checks order, branches, kinds, ranks, the table, and that nothing is lost.
  [[nodiscard]] validation validate() const { return index_->validate(); }
  /// Nodes with their kind, the prefix that their keys share and their children, and all leaves. Bytes that are not
  /// printable ASCII, and backslashes, are written \xNN.
  [[nodiscard]] std::string dump_json() const { return index_->dump(false); }
  [[nodiscard]] std::string dump_graphviz() const { return index_->dump(true); }
  /// The same nodes as data: what a trace begins and ends with (trace/trace.hpp). Throws `error` if a key has not eight
  /// bytes.
  [[nodiscard]] trace_state state() const { return index_->state(); }
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
  [[nodiscard]] detail::execution wait(const stream& s) const { return {where().resolve(s), true}; }
  [[nodiscard]] detail::execution enqueue(const stream& s) const { return {where().resolve(s), false}; }
  void find_on(keys_in keys, out<slot> values, mask_out found, const detail::execution& ex) const {
    detail::require_optional("find values", keys.size(), values.size());
    detail::require_optional("find mask", keys.size(), found.size());
    index_->find(keys.raw(), values.data(), found.data(), ex);
  }
  [[nodiscard]] byte_range_result<Value> list(detail::radix_slice what, keys_in lo, keys_in hi,
                                              const range_options& options, const detail::execution& ex) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    return byte_range_result<Value>(index_->list(what, lo.raw(), hi.raw(), options, ex));
  }
  void count_on(detail::radix_slice what, keys_in lo, keys_in hi, out<std::uint64_t> counts,
                const range_options& options, const detail::execution& ex) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    detail::require_equal("count answers", lo.size(), counts.size());
    index_->count(what, lo.raw(), hi.raw(), options, counts.data(), ex);
  }
  template <class T>
  void aggregate_on(detail::aggregate_op op, detail::radix_slice what, keys_in lo, keys_in hi, out<T> results,
                    mask_out found, interval ends, const detail::execution& ex) const {
    static_assert(!is_set, "a set has keys only, and strings of bytes have no sum: give the tree values");
    static_assert(is_set || scalar_kind_of<slot> != scalar_kind::opaque,
                  "values that are not numbers have no sum, minimum or mean: use range() and what you know of them");
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    detail::require_equal("aggregate answers", lo.size(), results.size());
    detail::require_optional("aggregate mask", lo.size(), found.size());
    index_->aggregate(op, what, lo.raw(), hi.raw(), ends, results.data(), found.data(), ex);
  }
  void longest_prefix_on(keys_in keys, out<std::uint32_t> lengths, out<slot> values, mask_out found,
                         const detail::execution& ex) const {
    detail::require_optional("longest_prefix lengths", keys.size(), lengths.size());
    detail::require_optional("longest_prefix values", keys.size(), values.size());
    detail::require_optional("longest_prefix mask", keys.size(), found.size());
    index_->longest_prefix(keys.raw(), lengths.data(), is_set ? nullptr : values.data(), found.data(), ex);
  }
  void write_on(detail::radix_write op, keys_in keys, in<slot> values, mask_out done, radix_path path,
                const detail::execution& ex) {
    if (!is_set && op != detail::radix_write::erase)
      detail::require_equal("values to write", keys.size(), values.size());
    detail::require_optional("write mask", keys.size(), done.size());
    index_->write(op, keys.raw(), values.data(), done.data(), path, ex);
  }
  void rank_on(detail::radix_bound what, keys_in keys, out<std::uint64_t> ranks, const detail::execution& ex) const {
    detail::require_equal("ranks", keys.size(), ranks.size());
    index_->rank(what, keys.raw(), ranks.data(), ex);
  }

  std::unique_ptr<detail::radix_index> index_;
};

}  // namespace espalier
