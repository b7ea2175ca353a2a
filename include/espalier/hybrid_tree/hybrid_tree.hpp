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
class hybrid_tree : public single_key_writes<hybrid_tree<Key, Value>, Key, Value> {
  using single_key = single_key_writes<hybrid_tree, Key, Value>;
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

 public:
  using key_type = Key;
  using value_type = Value;
  using batch_type = std::span<const Key>;
  using sum_type = sum_of<summand>;

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

  // ---- point queries -----------------------------------------------------------------------------------------------
  // If there is no such element, found[i] is 0 and key and value are zero bytes. Outputs are optional. find and
  // contains use the device as `how` selects; the others run on the CPU.
  using single_key::contains;
  using single_key::find;

  /// Writes the value of each key.
  void find(keys_in keys, out<slot> values, mask_out found = {}, const hybrid_query_options& how = {}) const
      requires(!is_set) {
    find_all(keys, values, found, how);
  }
  /// As contains(): a set has no values, and `values` is not written.
  void find(keys_in keys, out<slot> values, mask_out found, const hybrid_query_options& how = {}) const
      requires(is_set) {
    find_all(keys, values, found, how);
  }
  /// As contains().
  void find(keys_in keys, mask_out found) const requires(is_set) { contains(keys, found); }
  /// found[i] is 1 if the key is present.
  void contains(keys_in keys, mask_out found, const hybrid_query_options& how = {}) const {
    find_all(keys, {}, found, how);
  }
  /// Writes the first element whose key is not less than the query.
  void lower_bound(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found) const {
    seek(detail::seek_kind::lower_bound, keys, out_keys, values, found);
  }
  /// Writes the first element with a greater key than the query.
  void upper_bound(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found) const {
    successor(keys, out_keys, values, found);
  }
  /// As upper_bound().
  void successor(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found) const {
    seek(detail::seek_kind::successor, keys, out_keys, values, found);
  }
  /// Writes the last element with a smaller key than the query.
  void predecessor(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found) const {
    seek(detail::seek_kind::predecessor, keys, out_keys, values, found);
  }

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
    index_->select(ranks.data(), ranks.size(), keys.empty() ? nullptr : keys.data(),
                   values.empty() ? nullptr : values.data(), found.empty() ? nullptr : found.data());
  }

  // ---- ranges ------------------------------------------------------------------------------------------------------
  // On the CPU, except range_rows(). lo and hi have equal sizes; a range whose lower end is above its upper end is
  // empty.

  /// Writes the number of elements of each range, at most options.limit. O(log n) in the implicit layout, linear in the
  /// leaves of the range in the regular one.
  void count(keys_in lo, keys_in hi, out<std::uint64_t> counts, const range_options& options = {}) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    detail::require_equal("count answers", lo.size(), counts.size());
    index_->count(lo.data(), hi.data(), lo.size(), options, counts.data());
  }
  /// Estimates the number of elements in [lo, hi]: exact in the implicit layout, otherwise as
  /// blink_tree::estimate_count().
  [[nodiscard]] std::uint64_t estimate_count(const Key& lo, const Key& hi) const { return index_->estimate(&lo, &hi); }
  /// Returns all elements of every range, at most options.limit each, compact and in key order, in host memory.
  [[nodiscard]] range_result<Key, Value> range(keys_in lo, keys_in hi, const range_options& options = {}) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    return range_result<Key, Value>(index_->range(lo.data(), hi.data(), lo.size(), options));
  }
  /// Writes the first options.limit elements of range i to positions [i * limit, (i + 1) * limit) of the outputs, and
  /// their number to counts[i]; the other positions are unspecified. Requires outputs of lo.size() * limit elements or
  /// empty ones. Uses the device as find() does; intended for many short ranges. O(log n + limit).
  void range_rows(keys_in lo, keys_in hi, out<Key> out_keys, out<slot> values, out<std::uint64_t> counts,
                  const range_options& options, const hybrid_query_options& how = {}) const {
    detail::require_rows(lo.size(), hi.size(), counts.size(), options.limit, out_keys.size(), values.size());
    index_->rows(lo.data(), hi.data(), lo.size(), options, out_keys.empty() ? nullptr : out_keys.data(),
                 values.empty() ? nullptr : values.data(), counts.data(), how);
  }
  /// Writes the sum of each range; 0 for an empty one. Integer sums are exact, in 64 bits for values of up to 32 bits
  /// and in 128 otherwise (sum_type); floats are added in double. Throws `error` if the values (of a set: the keys) are
  /// not numbers, or if the implicit layout does not keep the aggregate (hybrid_options::keep). O(log n) in the
  /// implicit layout, linear in the leaves of the range in the regular one.
  void sum(keys_in lo, keys_in hi, out<sum_type> sums, interval ends = interval::closed) const {
    aggregate(detail::aggregate_op::sum, lo, hi, sums, {}, ends);
  }
  /// Writes the smallest value of each range. For an empty range, found[i] is 0 and the value is zero bytes. `found` is
  /// optional. Complexity as for sum().
  void min(keys_in lo, keys_in hi, out<summand> values, mask_out found, interval ends = interval::closed) const {
    aggregate(detail::aggregate_op::min, lo, hi, values, found, ends);
  }
  /// Writes the largest value of each range, as min().
  void max(keys_in lo, keys_in hi, out<summand> values, mask_out found, interval ends = interval::closed) const {
    aggregate(detail::aggregate_op::max, lo, hi, values, found, ends);
  }
  /// Writes the mean of each range, or NaN for an empty range. Complexity as for sum().
  void avg(keys_in lo, keys_in hi, out<double> means, interval ends = interval::closed) const {
    aggregate(detail::aggregate_op::avg, lo, hi, means, {}, ends);
  }

  // ---- writes -----------------------------------------------------------------------------------------------------
  // done (optional): 1 if the element inserted a new key or removed one. Of equal keys in a batch the last one wins.
  // The implicit layout is rebuilt by every write; `way` applies to the regular layout.
  using single_key::erase;
  using single_key::insert;
  using single_key::insert_or_assign;

  /// Inserts elements, and assigns the values of keys that are present. Requires as many values as keys.
  void insert_or_assign(keys_in keys, in<slot> values, mask_out done = {},
                        update_mode way = update_mode::automatic) requires(!is_set) {
    detail::require_equal("values to write", keys.size(), values.size());
    write(write_op::insert_or_assign, keys, values, done, way);
  }
  /// Inserts keys into a set.
  void insert(keys_in keys, mask_out done = {}, update_mode way = update_mode::automatic) requires(is_set) {
    write(write_op::insert_or_assign, keys, {}, done, way);
  }
  /// Removes keys.
  void erase(keys_in keys, mask_out done = {}, update_mode way = update_mode::automatic) {
    write(write_op::erase, keys, {}, done, way);
  }

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

 private:
  void find_all(keys_in keys, out<slot> values, mask_out found, const hybrid_query_options& how) const {
    detail::require_optional("find values", keys.size(), values.size());
    detail::require_optional("find mask", keys.size(), found.size());
    index_->find(keys.data(), keys.size(), values.empty() ? nullptr : values.data(),
                 found.empty() ? nullptr : found.data(), how);
  }
  hybrid_tree(keys_in keys, in<slot> values, const hybrid_options& options, const device& dev)
      : index_(detail::build_hybrid_index(dev, elements, options, keys.data(), values.data(), keys.size())) {}

  static constexpr detail::element_type elements{
      scalar_kind_of<Key>, is_set ? scalar_kind::opaque : scalar_kind_of<slot>, is_set ? 0u : unsigned{sizeof(slot)}};

  void seek(detail::seek_kind kind, keys_in keys, out<Key> out_keys, out<slot> values, mask_out found) const {
    detail::require_optional("seek keys", keys.size(), out_keys.size());
    detail::require_optional("seek values", keys.size(), values.size());
    detail::require_optional("seek mask", keys.size(), found.size());
    index_->seek(kind, keys.data(), keys.size(), out_keys.empty() ? nullptr : out_keys.data(),
                 values.empty() ? nullptr : values.data(), found.empty() ? nullptr : found.data());
  }
  template <class T>
  void aggregate(detail::aggregate_op op, keys_in lo, keys_in hi, out<T> results, mask_out found, interval ends) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    detail::require_equal("aggregate answers", lo.size(), results.size());
    detail::require_optional("aggregate mask", lo.size(), found.size());
    index_->aggregate(op, lo.data(), hi.data(), lo.size(), ends, results.data(),
                      found.empty() ? nullptr : found.data());
  }
  void write(write_op op, keys_in keys, in<slot> values, mask_out done, update_mode way) {
    detail::require_optional("write mask", keys.size(), done.size());
    index_->write(op, keys.data(), values.data(), keys.size(), done.empty() ? nullptr : done.data(), way);
  }

  std::unique_ptr<detail::hybrid_index> index_;
};

}  // namespace espalier
