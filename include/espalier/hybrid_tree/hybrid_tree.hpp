// hybrid_tree.hpp - an ordered map in host memory whose inner levels a GPU walks: for data larger than the GPU's
// memory.
//
//   auto tree = espalier::hybrid_tree<std::uint64_t, std::uint64_t>::build(keys, values);
//   tree.find(queries, out, found);          // buckets go up, line numbers come back, the CPU goes on in the leaves
//
// Queries and answers are in host memory; those in pinned memory travel without a copy by the CPU:
//   auto gpu = espalier::device::best();     // espalier/device/buffer.hpp
//   espalier::buffer<std::uint64_t> queries(gpu.with_pool(gpu.host_pool()), n);   // .span() is what calls take
//
// Without a GPU the same class runs on the CPU alone; any CPU device can stand in for the GPU
// (hybrid_placement::shared). Calls may come from several threads, without a lock of theirs: reads run beside each
// other, and one at a time uses the device; a write waits for the reads that are under way, later calls wait for it,
// and they see all of a batch or nothing. A key is in the tree at most once. No key and no value is reserved.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>

#include "espalier/hybrid_tree/index.hpp"
#include "espalier/hybrid_tree/options.hpp"
#include "espalier/static_tree/result.hpp"
#include "espalier/static_tree/static_tree.hpp"

namespace espalier {

/// `Value` = void makes a set; its aggregates are over the keys.
template <KeyType Key, class Value = void>
class hybrid_tree {
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
  using sum_type = sum_of<summand>;

  /// An empty tree. `where`: who walks the inner levels.
  explicit hybrid_tree(const hybrid_options& options = {}, const device& where = device::best())
      : hybrid_tree({}, {}, options, where) {}
  /// From pairs in any order; of equal keys the last one wins.
  [[nodiscard]] static hybrid_tree build(keys_in keys, in<slot> values, const hybrid_options& options = {},
                                         const device& where = device::best()) requires(!is_set) {
    detail::require_equal("build values", keys.size(), values.size());
    return hybrid_tree(keys, values, options, where);
  }
  [[nodiscard]] static hybrid_tree build(keys_in keys, const hybrid_options& options = {},
                                         const device& where = device::best()) requires(is_set) {
    return hybrid_tree(keys, {}, options, where);
  }

  // ---- point queries: `values` and `found` may be empty -----------------------------------------------------------
  // Where there is no such element, found is 0 and key and value are zero bytes. find and contains go to the device, as
  // `how` says; the others are the CPU's.

  void find(keys_in keys, out<slot> values, mask_out found = {}, const hybrid_query& how = {}) const requires(!is_set) {
    find_all(keys, values, found, how);
  }
  /// A set has no values: those are left alone.
  void find(keys_in keys, out<slot> values, mask_out found, const hybrid_query& how = {}) const requires(is_set) {
    find_all(keys, values, found, how);
  }
  void find(keys_in keys, mask_out found) const requires(is_set) { contains(keys, found); }
  void contains(keys_in keys, mask_out found, const hybrid_query& how = {}) const { find_all(keys, {}, found, how); }
  /// First element with a key not less than the query.
  void lower_bound(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found) const {
    seek(detail::seek_kind::lower_bound, keys, out_keys, values, found);
  }
  /// First element with a greater key.
  void successor(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found) const {
    seek(detail::seek_kind::successor, keys, out_keys, values, found);
  }
  /// Last element with a smaller key.
  void predecessor(keys_in keys, out<Key> out_keys, out<slot> values, mask_out found) const {
    seek(detail::seek_kind::predecessor, keys, out_keys, values, found);
  }

  // ---- ranges: by the CPU, except for range_rows() ----------------------------------------------------------------
  // A range whose lower end is above its upper end is empty.

  void count(keys_in lo, keys_in hi, out<std::uint64_t> counts, const range_options& options = {}) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    detail::require_equal("count answers", lo.size(), counts.size());
    index_->count(lo.data(), hi.data(), lo.size(), options, counts.data());
  }
  /// About how many elements are in [lo, hi]: exact in the implicit layout, else as blink_tree::estimate_count.
  [[nodiscard]] std::uint64_t estimate_count(const Key& lo, const Key& hi) const { return index_->estimate(&lo, &hi); }
  /// All elements of every range, exact and compact, in host memory: offsets.span(), keys.span(), values.span().
  [[nodiscard]] range_result<Key, Value> range(keys_in lo, keys_in hi, const range_options& options = {}) const {
    detail::require_equal("upper ends of ranges", lo.size(), hi.size());
    return range_result<Key, Value>(index_->range(lo.data(), hi.data(), lo.size(), options));
  }
  /// The first options.limit elements of every range, those of range i in places i * limit to (i + 1) * limit of
  /// outputs that have that many for each; counts[i] of them are written, and what is in the others then is not
  /// specified. In buckets, as find(): the way for many short ranges. `out_keys` and `values` may be empty.
  void range_rows(keys_in lo, keys_in hi, out<Key> out_keys, out<slot> values, out<std::uint64_t> counts,
                  const range_options& options, const hybrid_query& how = {}) const {
    detail::require_rows(lo.size(), hi.size(), counts.size(), options.limit, out_keys.size(), values.size());
    index_->rows(lo.data(), hi.data(), lo.size(), options, out_keys.empty() ? nullptr : out_keys.data(),
                 values.empty() ? nullptr : values.data(), counts.data(), how);
  }
  /// Of values that are numbers, and in a set of its keys. Sums of integers are exact: of 64 bits if
  /// those have up to 32, else of 128 (sum_type). Floats are added up in double.
  void sum(keys_in lo, keys_in hi, out<sum_type> sums, interval ends = interval::closed) const {
    aggregate(detail::aggregate_op::sum, lo, hi, sums, {}, ends);
  }
  /// found is 0 where the range holds nothing.
  void min(keys_in lo, keys_in hi, out<summand> values, mask_out found, interval ends = interval::closed) const {
    aggregate(detail::aggregate_op::min, lo, hi, values, found, ends);
  }
  void max(keys_in lo, keys_in hi, out<summand> values, mask_out found, interval ends = interval::closed) const {
    aggregate(detail::aggregate_op::max, lo, hi, values, found, ends);
  }

  // ---- writes -----------------------------------------------------------------------------------------------------
  // done (may be empty): 1 where the element brought a new key, or took one. Of equal keys in a batch the last one
  // wins. If it throws, nothing has changed. The implicit layout is built anew, so its writes cost like a build; `way`
  // is for the regular one.

  void insert_or_assign(keys_in keys, in<slot> values, mask_out done = {},
                        update_way way = update_way::automatic) requires(!is_set) {
    detail::require_equal("values to write", keys.size(), values.size());
    write(write_op::insert_or_assign, keys, values, done, way);
  }
  void insert(keys_in keys, mask_out done = {}, update_way way = update_way::automatic) requires(is_set) {
    write(write_op::insert_or_assign, keys, {}, done, way);
  }
  void erase(keys_in keys, mask_out done = {}, update_way way = update_way::automatic) {
    write(write_op::erase, keys, {}, done, way);
  }

  // ---- about the index --------------------------------------------------------------------------------------------

  /// In the regular layout the first call after a write counts, leaf by leaf.
  [[nodiscard]] std::size_t size() const { return index_->size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const device& where() const { return index_->where(); }
  /// Waits for who uses the device, and asks the system for its pages: milliseconds.
  [[nodiscard]] hybrid_stats stats() const { return index_->stats(); }
  /// Walks all of the tree, and compares the device's inner levels with the host's.
  [[nodiscard]] validation validate() const { return index_->validate(); }
  /// Who walks what in large batches, and why; how the last write was done, and why.
  [[nodiscard]] std::string explain() const {
    const hybrid_stats s = stats();
    const std::string walks = to_string(s.placement) + ": " + s.reason;
    if (s.update.reason.empty()) return walks;
    return walks + " Last write, " + to_string(s.update.way) + ": " + s.update.reason;
  }
  /// Measures, with queries like those to come, who should walk what. Without it large calls to a GPU measure as they
  /// go; a CPU in its place is not used unless asked for. Large calls try another placement now and then, after tune()
  /// as well, for the load may shift: hybrid_query::placement rules that out. A device that failed is tried again. If
  /// it throws, for lack of host memory for the answers, no answer changes.
  void tune(keys_in keys) { index_->tune(keys.data(), keys.size()); }

 private:
  void find_all(keys_in keys, out<slot> values, mask_out found, const hybrid_query& how) const {
    detail::require_optional("find values", keys.size(), values.size());
    detail::require_optional("find mask", keys.size(), found.size());
    index_->find(keys.data(), keys.size(), values.empty() ? nullptr : values.data(),
                 found.empty() ? nullptr : found.data(), how);
  }
  hybrid_tree(keys_in keys, in<slot> values, const hybrid_options& options, const device& where)
      : index_(detail::build_hybrid_index(where, elements, options, keys.data(), values.data(), keys.size())) {}

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
  void write(write_op op, keys_in keys, in<slot> values, mask_out done, update_way way) {
    detail::require_optional("write mask", keys.size(), done.size());
    index_->write(op, keys.data(), values.data(), keys.size(), done.empty() ? nullptr : done.data(), way);
  }

  std::unique_ptr<detail::hybrid_index> index_;
};

}  // namespace espalier
