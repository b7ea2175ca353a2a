// text_map.hpp - a map with keys of str or bytes that changes: a radix tree from keys to values of fixed width.
//
// Calls may run concurrently: queries run together, writes wait for calls in progress (radix_tree.hpp). All calls
// release the GIL. NULL is refused as a key, and matches nothing as a query.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "columns.hpp"
#include "espalier/radix_tree/index.hpp"
#include "text_batch.hpp"
#include "unlocked.hpp"

namespace espalier::python {

class text_map {
 public:
  /// Of equal keys the last one wins. `values` is None for a set.
  text_map(nb::handle bytes, nb::handle offsets, bool is_str, nb::handle values);

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] const data_type& key_type() const { return key_; }
  [[nodiscard]] const data_type& value_type() const { return value_; }
  [[nodiscard]] bool has_values() const { return has_values_; }
  /// Changes with each write.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  /// Which keys were new (insert, insert_or_assign) or present (update, erase). None if the values have another type.
  [[nodiscard]] nb::object write(espalier::write_op op, nb::handle keys, nb::handle values);
  void clear();
  [[nodiscard]] nb::object find(nb::handle queries, nb::handle fallback) const;
  [[nodiscard]] nb::object contains(nb::handle queries) const;
  [[nodiscard]] nb::object searchsorted(nb::handle queries, bool right) const;
  /// (key or None, value or None, found)
  [[nodiscard]] nb::object seek(espalier::detail::radix_slice kind, nb::handle queries) const;
  /// As seek(), for the longest key that is a prefix of each query.
  [[nodiscard]] nb::object longest_prefix(nb::handle queries) const;
  /// (keys, values or None) of the greatest key, which have one element or none.
  [[nodiscard]] nb::tuple last() const;

  [[nodiscard]] nb::object count(nb::handle lo, nb::handle hi, interval ends) const;
  [[nodiscard]] nb::object count_prefix(nb::handle prefixes) const;
  [[nodiscard]] nb::object aggregate(espalier::detail::aggregate_op op, nb::handle lo, nb::handle hi, interval ends,
                                     nb::handle fallback) const;
  [[nodiscard]] nb::object aggregate_prefix(espalier::detail::aggregate_op op, nb::handle prefixes,
                                            nb::handle fallback) const;
  /// (offsets, keys, values or None). None as an end leaves the range open there.
  [[nodiscard]] nb::object range(nb::handle lo, nb::handle hi, interval ends, nb::handle limit) const;
  /// (offsets, keys, values or None), or (keys, values or None) for one prefix.
  [[nodiscard]] nb::object prefix(nb::handle prefixes, nb::handle limit) const;

  /// (keys, values or None), all in key order.
  [[nodiscard]] nb::tuple elements() const;
  /// The arguments of the constructor.
  [[nodiscard]] nb::tuple parts() const;
  [[nodiscard]] nb::dict stats() const;

 private:
  class ends;
  using tree_pointer = std::shared_ptr<espalier::detail::radix_index>;

  [[nodiscard]] espalier::detail::element_type element() const;
  /// The tree, which clear() replaces: a call keeps the one that it began with.
  [[nodiscard]] tree_pointer tree() const;
  [[nodiscard]] espalier::detail::byte_range_buffers list(espalier::detail::radix_slice what,
                                                          const espalier::detail::byte_keys& lo,
                                                          const espalier::detail::byte_keys& hi,
                                                          const range_options& options) const;
  [[nodiscard]] nb::object values_of(espalier::detail::byte_range_buffers& found) const;
  [[nodiscard]] nb::list keys_of(const espalier::detail::byte_range_buffers& found) const;
  /// A string greater than all keys, and no prefix of one.
  [[nodiscard]] std::string beyond() const { return std::string(longest_ + 1, '\xff'); }
  [[nodiscard]] byte_string_batch prefixes_without_nulls(const text_batch& prefixes) const;
  void lengthen(const espalier::detail::byte_keys& keys);

  data_type key_, value_;
  bool has_values_ = false;
  mutable std::mutex latch_;  ///< of tree_
  tree_pointer tree_;
  std::atomic<std::size_t> longest_ = 0;  ///< no key is longer
  std::atomic<std::uint64_t> version_ = 0;
};

}  // namespace espalier::python
