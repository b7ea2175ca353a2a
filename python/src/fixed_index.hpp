// fixed_index.hpp - an index over keys of fixed width: a static tree, and the caller's row of each rank.
//
// Rank is the position in key order; equal keys keep the order of the input. Row is the position in the caller's input.
// If the input ascends they are equal and `rows` is empty; otherwise rows[rank] is the row. All methods that take query
// batches may run concurrently: nothing changes after the build.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "columns.hpp"
#include "espalier/device/cpu.hpp"
#include "espalier/radix_tree/index.hpp"
#include "espalier/static_tree/index.hpp"
#include "unlocked.hpp"

namespace espalier::python {

/// Row of each rank in 4 or 8 bytes; without memory, the rank itself.
class row_map {
 public:
  row_map() = default;
  row_map(std::shared_ptr<const void> memory, bool is_wide) : memory_(std::move(memory)), is_wide_(is_wide) {}

  [[nodiscard]] std::int64_t operator[](std::uint64_t rank) const {
    if (memory_ == nullptr) return static_cast<std::int64_t>(rank);
    if (is_wide_) return static_cast<std::int64_t>(static_cast<const std::uint64_t*>(memory_.get())[rank]);
    return static_cast<const std::uint32_t*>(memory_.get())[rank];
  }
  [[nodiscard]] explicit operator bool() const { return memory_ != nullptr; }
  [[nodiscard]] const std::shared_ptr<const void>& memory() const { return memory_; }
  [[nodiscard]] data_type type() const {
    return {logical_type::number, is_wide_ ? scalar_kind::u64 : scalar_kind::u32};
  }

 private:
  std::shared_ptr<const void> memory_;
  bool is_wide_ = false;
};

/// "sum,min,max", "all", "none" or None.
[[nodiscard]] aggregates parse_keep(nb::handle keep);
/// The most rows of a range; None means all. Throws ValueError for a negative number.
[[nodiscard]] std::uint64_t parse_limit(nb::handle limit);
[[nodiscard]] interval parse_closed(std::string_view closed);

struct asof_request {
  enum class direction : std::uint8_t { backward, forward, nearest } where = direction::backward;
  bool exact = true;  ///< whether equal keys match
  bool has_tolerance = false;
  std::uint64_t tolerance = 0;  ///< of integer keys
  double real_tolerance = 0;    ///< of float keys
};
[[nodiscard]] asof_request parse_asof(std::string_view direction, nb::handle tolerance, bool exact, scalar_kind kind);

class fixed_index {
 public:
  /// Keys and values in input order.
  fixed_index(column keys, nb::handle values, aggregates keep);
  /// Keys that ascend, values in the same order, rows of them or None.
  static std::unique_ptr<fixed_index> of_parts(nb::handle keys, nb::handle values, nb::handle rows, nb::handle keep);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const data_type& key_type() const { return key_; }
  [[nodiscard]] const data_type& value_type() const { return value_; }
  [[nodiscard]] bool has_values() const { return has_values_; }
  [[nodiscard]] aggregates kept() const { return keep_; }
  [[nodiscard]] const espalier::detail::static_index& tree() const { return *tree_; }

  // Each returns None for arguments that query_batch does not read.
  [[nodiscard]] nb::object searchsorted(nb::handle queries, bool right) const;
  /// Mean time of the C++ call below searchsorted(), for python/bench.
  [[nodiscard]] double seconds_per_call(nb::handle queries, std::size_t times) const;
  [[nodiscard]] nb::object get_indexer(nb::handle queries) const;
  /// `fallback` is an array of one value, or None: then a missing key is a KeyError.
  [[nodiscard]] nb::object find(nb::handle queries, nb::handle fallback) const;
  [[nodiscard]] nb::object contains(nb::handle queries) const;
  [[nodiscard]] nb::object asof(nb::handle queries, const asof_request& request) const;
  /// (keys, rows, found)
  [[nodiscard]] nb::object neighbour(nb::handle queries, bool successor) const;
  [[nodiscard]] nb::object count(nb::handle lo, nb::handle hi, interval ends) const;
  /// `fallback` as in find(), for min and max of an empty range.
  [[nodiscard]] nb::object aggregate(espalier::detail::aggregate_op op, nb::handle lo, nb::handle hi, interval ends,
                                     nb::handle fallback) const;
  /// (offsets, rows)
  [[nodiscard]] nb::object range(nb::handle lo, nb::handle hi, interval ends, nb::handle limit) const;
  /// (keys, rows) of ranks, which must be in [0, size()).
  [[nodiscard]] nb::tuple at(nb::handle ranks) const;

  /// (keys, values, rows): all elements in key order; values and rows are None if the index has none.
  [[nodiscard]] nb::tuple parts() const;
  [[nodiscard]] nb::dict stats() const;

 private:
  fixed_index() = default;
  void build(const void* keys, const void* values, std::size_t n, bool sorted);
  void sort_and_build(const void* keys, const void* values);
  [[nodiscard]] espalier::detail::execution now() const;
  [[nodiscard]] const data_type& summand() const { return has_values_ ? value_ : key_; }

  data_type key_, value_;
  bool has_values_ = false;
  aggregates keep_ = aggregates::none;
  std::size_t size_ = 0;
  std::size_t comparable_ = 0;  ///< keys before the first NaN
  std::unique_ptr<espalier::detail::static_index> tree_;
  row_map rows_;
};

/// The type of an aggregate of summands of the type `from`. Throws ValueError for one that the index does not keep, and
/// TypeError for one that is not defined.
[[nodiscard]] data_type aggregate_type(const data_type& from, aggregates kept, espalier::detail::aggregate_op op);

/// Aggregates of ranges of keys of a tree (static_index, blink_index or text_ranges) whose summands have the type
/// `from`.
struct aggregate_answer {
  data_type type;
  new_array values;
};
template <class Tree>
[[nodiscard]] aggregate_answer aggregate_ranges(const Tree& tree, const data_type& from, aggregates kept,
                                                espalier::detail::aggregate_op op, const void* lo, const void* hi,
                                                std::size_t n, interval ends, nb::handle fallback);

/// The aggregates of a radix tree as aggregate_ranges() calls them. The ends are pointers to byte_keys.
struct text_ranges {
  const espalier::detail::radix_index& tree;
  espalier::detail::radix_slice what;
  void aggregate(espalier::detail::aggregate_op op, const void* lo, const void* hi, std::size_t, interval ends,
                 void* out, std::uint8_t* found, const espalier::detail::execution& ex) const {
    using espalier::detail::byte_keys;
    tree.aggregate(op, what, *static_cast<const byte_keys*>(lo), *static_cast<const byte_keys*>(hi), ends, out, found,
                   ex);
  }
};

/// Values of an index: numbers, bool or times without NULL. `type` has kind opaque if there are none.
[[nodiscard]] column import_values(nb::handle values);
[[nodiscard]] row_map import_rows(nb::handle rows, std::size_t n);
/// Arrow's date32 in the type that NumPy has for it.
[[nodiscard]] column as_numpy_type(column c);
/// Throws ValueError with the first row that is NULL or NaT.
void refuse_missing(const column& c, const char* what);
[[nodiscard]] const char* keep_name(aggregates keep);
[[nodiscard]] espalier::detail::aggregate_op parse_op(std::string_view op);

/// Calls body(first, last) for pieces of [0, n) on all cores; small batches in the calling thread.
template <class Body>
void in_pieces(std::size_t n, Body body) {
  static const cpu_backend* const backend = new cpu_backend(cpu());
  backend->for_each_chunk(n, 16384, body);
}
/// Uninitialised scratch memory of a call.
template <class T>
[[nodiscard]] std::unique_ptr<T[]> scratch(std::size_t n) {
  return std::unique_ptr<T[]>(new T[n]);
}
void gather(unsigned width, const void* from, const row_map& rows, std::size_t n, void* to);

/// Fills values whose found[i] is 0, or throws for the first of them if there is no fallback.
void apply_fallback(const data_type& type, void* values, const std::uint8_t* found, std::size_t n, nb::handle fallback,
                    PyObject* error, const char* sentence);

}  // namespace espalier::python
