// sorted_map.hpp - a map that changes: a B-link tree over keys and values of fixed width.
//
// Calls may run concurrently: reads run together, writes of one element run together with reads, other writes wait for
// calls in progress (blink_tree.hpp). All calls release the GIL.
#pragma once

#include <atomic>
#include <memory>

#include "columns.hpp"
#include "unlocked.hpp"
#include "espalier/blink_tree/index.hpp"

namespace espalier::python {

class sorted_map {
 public:
  /// Of equal keys the last one wins. `values` is None for a set.
  sorted_map(nb::handle keys, nb::handle values);

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] const data_type& key_type() const { return key_; }
  [[nodiscard]] const data_type& value_type() const { return value_; }
  [[nodiscard]] bool has_values() const { return has_values_; }
  /// Changes with each write.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  // Calls that take queries return None for arguments that query_batch does not read.

  /// Which keys were new (insert, insert_or_assign) or present (update, erase).
  [[nodiscard]] nb::object write(write_op op, nb::handle keys, nb::handle values);
  /// (values or None, done) of operations, which are numbers of blink_op.
  [[nodiscard]] nb::object apply(nb::handle ops, nb::handle keys, nb::handle values);
  void clear();
  [[nodiscard]] nb::object find(nb::handle queries, nb::handle fallback) const;
  [[nodiscard]] nb::object contains(nb::handle queries) const;
  /// (key, value or None, found)
  [[nodiscard]] nb::object seek(espalier::detail::seek_kind kind, nb::handle queries) const;
  [[nodiscard]] nb::object count(nb::handle lo, nb::handle hi, interval ends) const;
  [[nodiscard]] nb::object aggregate(espalier::detail::aggregate_op op, nb::handle lo, nb::handle hi, interval ends,
                                     nb::handle fallback) const;
  /// (offsets, keys, values or None)
  [[nodiscard]] nb::object range(nb::handle lo, nb::handle hi, interval ends, nb::handle limit) const;
  /// (keys, values or None), all in key order.
  [[nodiscard]] nb::tuple parts() const;
  [[nodiscard]] nb::dict stats() const;

 private:
  data_type key_, value_;
  bool has_values_ = false;
  std::unique_ptr<espalier::detail::blink_index> tree_;
  std::atomic<std::uint64_t> version_ = 0;
};

}  // namespace espalier::python
