// blink_tree.hpp - an ordered map that many threads or tiles read and write at once, on CPU or GPU.
//
//   espalier::blink_tree<std::uint32_t, float> tree;                       // empty, on the best device
//   tree.insert(keys, values);                                             // in bulk
//   tree.find(queries, out, found);
//   auto ref = tree.ref(/* room for */ 1000);                              // in your kernel or thread, key by key
//
// Every bulk call takes host or device memory and a stream last, and has an _async twin that returns once the work is
// enqueued: results are there, and errors are thrown, at stream::synchronize(). On a GPU a write waits for the host
// all the same when the tree must grow.
// The owner's calls may come from several threads at once, each with a stream of its own (device::make_stream). Those
// that change the structure as a whole (bulk writes, maintain, clear) wait for the others; on a GPU all writes do.
// A key is in the tree at most once. No key and no value is reserved.
// Concurrent with writes, each key of a find sees the tree at one moment; lower_bound, successor, predecessor and ranges see each
// leaf at one moment, but different leaves at different ones (ref.hpp says what that means).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "espalier/blink_tree/index.hpp"
#include "espalier/blink_tree/options.hpp"
#include "espalier/blink_tree/ref.hpp"
#include "espalier/static_tree/result.hpp"
#include "espalier/static_tree/static_tree.hpp"

namespace espalier {

/// `Value` = void makes a set; its aggregates are over the keys.
template <KeyType Key, class Value = void, class Policy = blink_policy<>>
class blink_tree {
  static constexpr bool is_set = std::is_void_v<Value>;
  using slot = std::conditional_t<is_set, unsigned char, Value>;
  using summand = std::conditional_t<is_set, Key, slot>;
  static_assert(std::is_trivially_copyable_v<slot>, "values must be trivially copyable");
  static_assert(sizeof(slot) <= 16, "values have at most 16 bytes: store an index to larger ones");
  static constexpr bool has_default_policy =
      Policy::how == protocol::link && Policy::above == upper::express && Policy::slots == 0;
  static_assert(has_default_policy || (!is_set && detail::value_slot(sizeof(slot)) == sizeof(word_of<Key>)),
                "policies other than the default are compiled for keys and values of 4, or of 8 bytes");
  static_assert(Policy::slots == 0
                    ? Policy::how != protocol::couple || Policy::above == upper::classic
                    : Policy::how == protocol::link && Policy::above == upper::express &&
                          (Policy::slots == 8 || Policy::slots == 32 || Policy::slots == 128 || Policy::slots == 4096),
                "protocol::couple takes upper::classic; nodes of 8, 32, 128 and 4096 slots take protocol::link and "
                "upper::express");

  template <class T>
  using in = std::span<const T>;
  template <class T>
  using out = std::span<T>;
  using keys_in = in<Key>;
  using mask_out = out<std::uint8_t>;

 public:
  using key_type = Key;
  using value_type = Value;
  using sum_type = sum_of<summand>;
  using ref_type = blink_tree_ref<Key, Value, Policy>;

  /// An empty tree.
  explicit blink_tree(const device& where = device::best(), const blink_options& options = {}, const stream& s = {})
      : blink_tree({}, {}, options, where, where.resolve(s)) {}

  /// From pairs in any order; of equal keys the last one wins.
  [[nodiscard]] static blink_tree build(keys_in keys, in<slot> values, const blink_options& options = {},
                                        const device& where = device::best(), const stream& s = {}) requires(!is_set) {
    detail::require_equal("build values", keys.size(), values.size());
    return blink_tree(keys, values, options, where, where.resolve(s));
  }
  [[nodiscard]] static blink_tree build(keys_in keys, const blink_options& options = {},
                                        const device& where = device::best(), const stream& s = {}) requires(is_set) {
    return blink_tree(keys, {}, options, where, where.resolve(s));
  }

  // ---- writes --------------------------------------------------------------------------------------------
  // done (may be empty): 1 where the element changed what keys there are (insert, insert_or_assign: the key was new;
  // erase: it was there) or, for update, where the key was there. Equal keys in one batch: see batch_semantics.
  // Where memory runs out, a bulk write changes nothing; one that goes key by key keeps what it has written, and done
  // says which elements that are.

  void insert(keys_in keys, in<slot> values, mask_out done = {}, const write_options& options = {},
              const stream& s = {}) requires(!is_set) {
    write_on(write_op::insert, keys, values, done, options, wait(s));
  }
  void insert(keys_in keys, mask_out done = {}, const write_options& options = {},
              const stream& s = {}) requires(is_set) {
    write_on(write_op::insert, keys, {}, done, options, wait(s));
  }
  void insert_async(keys_in keys, in<slot> values, mask_out done, const write_options& options,
                    const stream& s) requires(!is_set) {
    write_on(write_op::insert, keys, values, done, options, enqueue(s));
  }
  void insert_async(keys_in keys, mask_out done, const write_options& options, const stream& s) requires(is_set) {
    write_on(write_op::insert, keys, {}, done, options, enqueue(s));
  }
  void insert_or_assign(keys_in keys, in<slot> values, mask_out done = {}, const write_options& options = {},
                        const stream& s = {}) requires(!is_set) {
    write_on(write_op::insert_or_assign, keys, values, done, options, wait(s));
  }
  void insert_or_assign_async(keys_in keys, in<slot> values, mask_out done, const write_options& options,
                              const stream& s) requires(!is_set) {
    write_on(write_op::insert_or_assign, keys, values, done, options, enqueue(s));
  }
  void update(keys_in keys, in<slot> values, mask_out done = {}, const write_options& options = {},
              const stream& s = {}) requires(!is_set) {
    write_on(write_op::update, keys, values, done, options, wait(s));
  }
  void update_async(keys_in keys, in<slot> values, mask_out done, const write_options& options,
                    const stream& s) requires(!is_set) {
    write_on(write_op::update, keys, values, done, options, enqueue(s));
  }
  void erase(keys_in keys, mask_out done = {}, const write_options& options = {}, const stream& s = {}) {
    write_on(write_op::erase, keys, {}, done, options, wait(s));
  }
  void erase_async(keys_in keys, mask_out done, const write_options& options, const stream& s) {
    write_on(write_op::erase, keys, {}, done, options, enqueue(s));
  }

  /// One batch of mixed operations. `values` are what writes bring, `out_values` what finds answer (zero bytes where
  /// nothing was found; elements of writes are left alone); both may be empty if no operation needs them. options.path:
  /// per_key goes element by element, bulk takes equal keys together; automatic does that for large batches on a GPU,
  /// where elements that are about one key would wait for each other, and for ordered batches.
  void apply(in<blink_op> ops, keys_in keys, in<slot> values, out<slot> out_values, mask_out done,
             const write_options& options = {}, const stream& s = {}) {
    apply_on(ops, keys, values, out_values, done, options, wait(s));
  }
  void apply_async(in<blink_op> ops, keys_in keys, in<slot> values, out<slot> out_values, mask_out done,
                   const write_options& options, const stream& s) {
    apply_on(ops, keys, values, out_values, done, options, enqueue(s));
  }

  /// Reuses the space of what was erased and makes the upper levels anew. Writes do so by themselves when it pays, but
  /// not while a ref is lent. Ends all refs.
  void maintain(const stream& s = {}) { index_->maintain(where().resolve(s)); }
  /// Ends all refs.
  void clear(const stream& s = {}) { index_->clear(where().resolve(s)); }

  // ---- point queries -------------------------------------------------------------------------------------
  // Where there is no such element, found is 0 and key and value are zero bytes. `values` and `found` may be empty.

  void find(keys_in keys, out<slot> values, mask_out found = {}, const stream& s = {}) const requires(!is_set) {
    find_on(keys, values, found, wait(s));
  }
  /// A set has no values: those are left alone.
  void find(keys_in keys, out<slot> values, mask_out found, const stream& s = {}) const requires(is_set) {
    find_on(keys, values, found, wait(s));
  }
  void find(keys_in keys, mask_out found) const requires(is_set) { contains(keys, found); }
  void find_async(keys_in keys, out<slot> values, mask_out found, const stream& s = {}) const {
    find_on(keys, values, found, enqueue(s));
  }
  void contains(keys_in keys, mask_out found, const stream& s = {}) const { find_on(keys, {}, found, wait(s)); }
  void contains_async(keys_in keys, mask_out found, const stream& s = {}) const {
    find_on(keys, {}, found, enqueue(s));
  }
  /// First element with a key not less than the query.
  void lower_bound(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const stream& s = {}) const {
    seek_on(detail::seek_kind::lower_bound, keys, out_keys, values, found, wait(s));
  }
  void lower_bound_async(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found,
                         const stream& s = {}) const {
    seek_on(detail::seek_kind::lower_bound, keys, out_keys, values, found, enqueue(s));
  }
  /// First element with a greater key.
  void successor(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const stream& s = {}) const {
    seek_on(detail::seek_kind::successor, keys, out_keys, values, found, wait(s));
  }
  void successor_async(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const stream& s = {}) const {
    seek_on(detail::seek_kind::successor, keys, out_keys, values, found, enqueue(s));
  }
  /// Last element with a smaller key.
  void predecessor(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found, const stream& s = {}) const {
    seek_on(detail::seek_kind::predecessor, keys, out_keys, values, found, wait(s));
  }
  void predecessor_async(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found,
                         const stream& s = {}) const {
    seek_on(detail::seek_kind::predecessor, keys, out_keys, values, found, enqueue(s));
  }

  // ---- ranges ----
  // Their cost grows with their length, except that of count on a GPU; snapshot() has aggregates that do not.
  // While others write, each leaf is seen as it was at one moment, different leaves at different ones.

  void count(keys_in lo, keys_in hi, out<std::uint64_t> counts, const range_options& options = {},
             const stream& s = {}) const {
    count_on(lo, hi, counts, options, wait(s));
  }
  void count_async(keys_in lo, keys_in hi, out<std::uint64_t> counts, const range_options& options = {},
                   const stream& s = {}) const {
    count_on(lo, hi, counts, options, enqueue(s));
  }
  /// About how many elements are in [lo, hi], for the price of a look at some hundred leaves however many there are.
  /// Exact up to 64 leaves, where count() is cheap (on a GPU) and where there is no lane (upper::classic, small trees);
  /// else the mean of 64 leaves between the ends: some percent off, more where many are empty. Keys written to one
  /// place since the lane was made, at most those of an eighth of all leaves unless a ref is in use, may be missed.
  [[nodiscard]] std::uint64_t estimate_count(const Key& lo, const Key& hi) const { return index_->estimate(&lo, &hi); }
  /// All elements of every range, exact and compact, in buffers on the index's device. Throws `error` if refs in the
  /// caller's threads changed the ranges all the while: ask when they are done.
  [[nodiscard]] range_result<Key, Value> range(keys_in lo, keys_in hi, const range_options& options = {},
                                               const stream& s = {}) const {
    return range_on(lo, hi, options, wait(s));
  }
  /// Waits until the total is known; on a GPU the elements are there when `s` gets to what is enqueued next.
  [[nodiscard]] range_result<Key, Value> range_async(keys_in lo, keys_in hi, const range_options& options = {},
                                                     const stream& s = {}) const {
    return range_on(lo, hi, options, enqueue(s));
  }
  /// The first options.limit elements of every range, those of range i in places i * limit to (i + 1) * limit of
  /// outputs that have that many for each; counts[i] of them are written, and what is in the others then is not
  /// specified. One pass, into memory of yours, without waiting for a total. `out_keys` and `values` may be empty.
  void range_rows(keys_in lo, keys_in hi, out<Key> out_keys, out<slot> values, out<std::uint64_t> counts,
                  const range_options& options, const stream& s = {}) const {
    rows_on(lo, hi, out_keys, values, counts, options, wait(s));
  }
  void range_rows_async(keys_in lo, keys_in hi, out<Key> out_keys, out<slot> values, out<std::uint64_t> counts,
                        const range_options& options, const stream& s = {}) const {
    rows_on(lo, hi, out_keys, values, counts, options, enqueue(s));
  }
  /// Sums of integers are exact; floats are added up in double, in key order.
  void sum(keys_in lo, keys_in hi, out<sum_type> sums, interval ends = interval::closed, const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::sum, lo, hi, sums, {}, ends, wait(s));
  }
  void sum_async(keys_in lo, keys_in hi, out<sum_type> sums, interval ends = interval::closed,
                 const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::sum, lo, hi, sums, {}, ends, enqueue(s));
  }
  /// found is 0 where the range holds nothing.
  void min(keys_in lo, keys_in hi, out<summand> values, mask_out found, interval ends = interval::closed,
           const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::min, lo, hi, values, found, ends, wait(s));
  }
  void min_async(keys_in lo, keys_in hi, out<summand> values, mask_out found, interval ends = interval::closed,
                 const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::min, lo, hi, values, found, ends, enqueue(s));
  }
  void max(keys_in lo, keys_in hi, out<summand> values, mask_out found, interval ends = interval::closed,
           const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::max, lo, hi, values, found, ends, wait(s));
  }
  void max_async(keys_in lo, keys_in hi, out<summand> values, mask_out found, interval ends = interval::closed,
                 const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::max, lo, hi, values, found, ends, enqueue(s));
  }
  /// NaN where the range holds nothing.
  void avg(keys_in lo, keys_in hi, out<double> means, interval ends = interval::closed, const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::avg, lo, hi, means, {}, ends, wait(s));
  }
  void avg_async(keys_in lo, keys_in hi, out<double> means, interval ends = interval::closed,
                 const stream& s = {}) const {
    aggregate_on(detail::aggregate_op::avg, lo, hi, means, {}, ends, enqueue(s));
  }

  /// The elements of one moment as a static tree on the same device: a streaming copy, for which calls of this owner
  /// wait, and while the snapshot is read writers go on. Teams that write through a ref do not wait: let them finish
  /// first.
  [[nodiscard]] static_tree<Key, Value> snapshot(const build_options& options = {}, const stream& s = {}) const {
    const stream order = where().resolve(s);
    detail::range_buffers raw = index_->all(order);
    const buffer<Key> keys(std::move(raw.keys), raw.total);
    build_options sorted = options;
    sorted.sorted = true;
    if constexpr (is_set) {
      return static_tree<Key, Value>::build(keys.span(), sorted, where(), order);
    } else {
      const buffer<Value> values(std::move(raw.values), raw.total);
      return static_tree<Key, Value>::build(keys.span(), values.span(), sorted, where(), order);
    }
  }

  // ---- visiting all elements: for_each, transform and reduce are free functions in visit.hpp -----------------

  // ---- about the index -----------------------------------------------------------------------------------

  /// Number of elements. O(1), unless a ref is in use or has just been: then the leaves are counted. Concurrent writers
  /// are counted batch by batch, so that the number is exact while no write is in progress.
  [[nodiscard]] std::size_t size() const { return index_->size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const device& where() const { return index_->where(); }
  [[nodiscard]] blink_stats stats() const { return index_->stats(); }
  /// Checks order, links, high keys, fill, reachability and that no node is lost.
  [[nodiscard]] validation validate() const { return index_->validate(); }
  [[nodiscard]] std::string dump_json() const { return index_->dump(false); }
  [[nodiscard]] std::string dump_graphviz() const { return index_->dump(true); }
  /// The same nodes as data: what a trace begins and ends with (trace/trace.hpp). Keys are as codec<Key> encodes them.
  [[nodiscard]] trace_state state() const { return index_->state(); }
  [[nodiscard]] write_explanation explain(write_op op, std::size_t n, const write_options& options = {}) const {
    return index_->explain(op, n, options);
  }
  /// The same for apply() of n operations; seconds are not predicted.
  [[nodiscard]] write_explanation explain_apply(std::size_t n, const write_options& options = {}) const {
    return index_->explain_apply(n, options);
  }
  /// Trivially copyable; for use inside a kernel or CPU threads, with room for `inserts` more elements: those beyond
  /// may find none (blink_outcome::no_room). It borrows the tree's memory until maintain(), clear() or a write with
  /// path::bulk, which end it: a ref that is used later reads memory that is gone. Until then the tree is lent, and its
  /// owner neither reuses what was erased nor makes upper levels anew, and writes key by key; so call maintain() when
  /// the refs are done. While refs are in use, the owner may be asked and, on a CPU, written to per key. Calls that
  /// look at the tree as a whole (snapshot, stats, size, validate, dump, maintain, clear, bulk writes) do not wait for
  /// refs: let those finish first. The same holds on a GPU for all calls of the owner, unless they come later in the
  /// same stream. An express lane is made by the owner, so what refs bring into a small tree has a long way to go (2^20
  /// keys into an empty tree in one kernel: up to 2 s): fill it by insert(), or by kernels that double it with
  /// maintain() between them, or take upper::classic.
  [[nodiscard]] ref_type ref(std::size_t inserts = 0) {
    typename ref_type::view_type view;
    index_->view(inserts, &view);
    return ref_type(&view);
  }
  [[nodiscard]] detail::blink_index& untyped() const { return *index_; }

 private:
  blink_tree(keys_in keys, in<slot> values, const blink_options& options, const device& where, const stream& order)
      : index_(detail::build_blink_index(where, elements, {Policy::how, Policy::above, Policy::slots}, keys.data(),
                                         values.data(), keys.size(), options, order)) {}

  static constexpr detail::element_type elements{
      scalar_kind_of<Key>, is_set ? scalar_kind::opaque : scalar_kind_of<slot>, is_set ? 0u : unsigned{sizeof(slot)}};
  detail::execution wait(const stream& s) const { return {where().resolve(s), true}; }
  detail::execution enqueue(const stream& s) const { return {where().resolve(s), false}; }

  void write_on(write_op op, keys_in keys, in<slot> values, mask_out done, const write_options& options,
                const detail::execution& ex) {
    if (op != write_op::erase && !is_set) detail::require_equal("values to write", keys.size(), values.size());
    detail::require_optional("write mask", keys.size(), done.size());
    index_->write(op, keys.data(), values.data(), keys.size(), done.data(), options, ex);
  }
  void apply_on(in<blink_op> ops, keys_in keys, in<slot> values, out<slot> out_values, mask_out done,
                const write_options& options, const detail::execution& ex) {
    detail::require_equal("apply ops", keys.size(), ops.size());
    detail::require_optional("apply values", keys.size(), values.size());
    detail::require_optional("apply answers", keys.size(), out_values.size());
    detail::require_optional("apply mask", keys.size(), done.size());
    index_->apply(reinterpret_cast<const std::uint8_t*>(ops.data()), keys.data(), values.data(), keys.size(),
                  out_values.data(), done.data(), options, ex);
  }
  void find_on(keys_in keys, out<slot> values, mask_out found, const detail::execution& ex) const {
    detail::require_optional("find values", keys.size(), values.size());
    detail::require_optional("find mask", keys.size(), found.size());
    index_->find(keys.data(), keys.size(), values.data(), found.data(), ex);
  }
  void seek_on(detail::seek_kind kind, keys_in keys, out<Key> out_keys, out<slot> values, mask_out found,
               const detail::execution& ex) const {
    detail::require_optional("seek keys", keys.size(), out_keys.size());
    detail::require_optional("seek values", keys.size(), values.size());
    detail::require_optional("seek mask", keys.size(), found.size());
    index_->seek(kind, keys.data(), keys.size(), out_keys.data(), values.data(), found.data(), ex);
  }
  [[nodiscard]] range_result<Key, Value> range_on(keys_in lo, keys_in hi, const range_options& options,
                                                  const detail::execution& ex) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    return range_result<Key, Value>(index_->range(lo.data(), hi.data(), lo.size(), options, ex));
  }
  void rows_on(keys_in lo, keys_in hi, out<Key> out_keys, out<slot> values, out<std::uint64_t> counts,
               const range_options& options, const detail::execution& ex) const {
    detail::require_rows(lo.size(), hi.size(), counts.size(), options.limit, out_keys.size(), values.size());
    index_->rows(lo.data(), hi.data(), lo.size(), options, out_keys.empty() ? nullptr : out_keys.data(),
                 values.empty() ? nullptr : values.data(), counts.data(), ex);
  }
  void count_on(keys_in lo, keys_in hi, out<std::uint64_t> counts, const range_options& options,
                const detail::execution& ex) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    detail::require_equal("count answers", lo.size(), counts.size());
    index_->count(lo.data(), hi.data(), lo.size(), options, counts.data(), ex);
  }
  template <class T>
  void aggregate_on(detail::aggregate_op op, keys_in lo, keys_in hi, out<T> results, mask_out found, interval ends,
                    const detail::execution& ex) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    detail::require_equal("aggregate answers", lo.size(), results.size());
    detail::require_optional("aggregate mask", lo.size(), found.size());
    index_->aggregate(op, lo.data(), hi.data(), lo.size(), ends, results.data(), found.data(), ex);
  }

  std::unique_ptr<detail::blink_index> index_;
};

}  // namespace espalier
