// text_index.hpp - an index over str or bytes: a radix tree from each distinct key to its number in key order, and the
// elements of each number.
//
// Equal keys are one key of the tree. Its number d stands for the ranks [starts[d], starts[d + 1]), or for rank d if
// all keys are distinct. Rows are as in fixed_index.hpp. Values, if any, are in a static tree from rank to value, which
// has the aggregates.
//
// str is ordered by code point, which is the order of its UTF-8, and bytes are ordered as unsigned numbers.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "columns.hpp"
#include "espalier/radix_tree/index.hpp"
#include "fixed_index.hpp"
#include "text_batch.hpp"

namespace espalier::python {

class text_index {
 public:
  text_index(column keys, nb::handle values, aggregates keep);
  /// What parts() returned.
  static std::unique_ptr<text_index> of_parts(nb::handle bytes, nb::handle offsets, bool is_str, nb::handle starts,
                                              nb::handle rows, nb::handle values, nb::handle keep);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const data_type& key_type() const { return key_; }
  [[nodiscard]] const data_type& value_type() const { return value_; }
  [[nodiscard]] bool has_values() const { return values_ != nullptr; }
  [[nodiscard]] aggregates kept() const { return keep_; }

  [[nodiscard]] nb::object searchsorted(nb::handle queries, bool right) const;
  [[nodiscard]] nb::object get_indexer(nb::handle queries) const;
  [[nodiscard]] nb::object find(nb::handle queries, nb::handle fallback) const;
  [[nodiscard]] nb::object contains(nb::handle queries) const;
  [[nodiscard]] nb::object asof(nb::handle queries, std::string_view direction, nb::handle tolerance, bool exact) const;
  [[nodiscard]] nb::object neighbour(nb::handle queries, bool successor) const;
  [[nodiscard]] nb::object count(nb::handle lo, nb::handle hi, std::string_view closed) const;
  [[nodiscard]] nb::object aggregate(std::string_view op, nb::handle lo, nb::handle hi, std::string_view closed,
                                     nb::handle fallback) const;
  [[nodiscard]] nb::object range(nb::handle lo, nb::handle hi, std::string_view closed, nb::handle limit) const;
  [[nodiscard]] nb::object prefix(nb::handle prefixes, nb::handle limit) const;
  [[nodiscard]] nb::tuple at(nb::handle ranks) const;

  /// (bytes, offsets, is_str, starts, rows, values): distinct keys in order, and the elements.
  [[nodiscard]] nb::tuple parts() const;
  [[nodiscard]] nb::dict stats() const;

 private:
  using batch = text_batch;
  struct distinct_keys {
    std::vector<std::uint64_t> offsets;
    std::vector<char> bytes;
  };

  text_index() = default;
  void build_values(const void* sorted);
  /// Number of distinct keys before each query, as the rank of an element.
  [[nodiscard]] std::vector<std::uint64_t> ranks(const batch& queries, bool right) const;
  /// Numbers of distinct keys, and whether there is one; NULL is not found.
  void numbers(const batch& queries, std::uint32_t* number, std::uint8_t* found) const;
  void ends(nb::handle lo, nb::handle hi, interval closed, std::vector<std::uint64_t>& first,
            std::vector<std::uint64_t>& last, std::optional<batch>& low, std::optional<batch>& high) const;
  [[nodiscard]] nb::tuple rows_of(const std::vector<std::uint64_t>& first, const std::vector<std::uint64_t>& last,
                                  nb::handle limit) const;
  [[nodiscard]] std::uint64_t start(std::uint64_t number) const {
    return starts_ == nullptr ? number : starts_[number];
  }
  [[nodiscard]] const distinct_keys& keys() const;

  data_type key_, value_;
  aggregates keep_ = aggregates::none;
  std::size_t size_ = 0;
  std::size_t distinct_ = 0;
  std::unique_ptr<espalier::detail::radix_index> tree_;
  std::shared_ptr<std::uint64_t[]> starts_;
  row_map rows_;
  std::unique_ptr<espalier::detail::static_index> values_;
  mutable std::once_flag keys_once_;
  mutable distinct_keys keys_;  ///< made by the first at() or parts()
};

}  // namespace espalier::python
