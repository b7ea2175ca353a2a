// columns.hpp - rows of columns as keys of a radix tree, in row order: the first column is the most significant.
//
//   std::vector<std::string> city; std::vector<std::int64_t> time; std::vector<double> price;
//   auto tree = espalier::radix_tree<double>::build(espalier::keys_of_columns(city, time), price);
//   tree.find(espalier::keys_of_columns(city, time), prices);                      // a row
//   tree.sum_prefix(espalier::prefixes_of_columns(city), sums);                    // all rows of a city
//   auto rows = espalier::rows_of_keys<std::string, std::int64_t>(tree.prefix(espalier::prefixes_of_columns(city)));
//
// A column is an array of numbers, dates or strings in host memory (byte_key.hpp defines their encoding); a single
// column is an ordinary key. Queries must use columns of the types that the tree was built from.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <ranges>
#include <string>
#include <tuple>
#include <vector>

#include "espalier/core/byte_key.hpp"
#include "espalier/index/result.hpp"  // require_equal
#include "espalier/radix_tree/batch.hpp"

namespace espalier {

/// An array of a type that can be part of a key.
template <class T>
concept ColumnOfKeys = std::ranges::random_access_range<const T> && std::ranges::sized_range<const T> &&
    KeyColumn<std::ranges::range_value_t<const T>>;

namespace detail {

/// Encodes row by row; `append` appends one row to the bytes.
template <class Append, ColumnOfKeys First, ColumnOfKeys... Columns>
[[nodiscard]] byte_string_batch keys_of_rows(const Append& append, const First& first, const Columns&... columns) {
  const std::size_t rows = std::ranges::size(first);
  for (const std::size_t n : std::initializer_list<std::size_t>{std::ranges::size(columns)...})
    require_equal("columns", rows, n);
  byte_string_batch::memory own;
  if constexpr (KeyType<std::ranges::range_value_t<const First>> &&
                (KeyType<std::ranges::range_value_t<const Columns>> && ...))
    own.length =
        sizeof(std::ranges::range_value_t<const First>) + (0 + ... + sizeof(std::ranges::range_value_t<const Columns>));
  own.bytes.reserve(own.length * rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const auto at = static_cast<std::ptrdiff_t>(i);
    append(own.bytes, std::ranges::begin(first)[at], std::ranges::begin(columns)[at]...);
    if (own.length == 0) own.offsets.push_back(own.bytes.size());
  }
  return byte_string_batch(std::move(own));
}

}  // namespace detail

/// Returns one key per row.
template <ColumnOfKeys... Columns>
[[nodiscard]] byte_string_batch keys_of_columns(const Columns&... columns) requires(sizeof...(Columns) > 0) {
  return detail::keys_of_rows(
      [](std::string& out, const std::ranges::range_value_t<const Columns>&... row) { out += byte_key(row...); },
      columns...);
}

/// Returns the common prefixes of the keys of all rows that start with these columns. The tree's keys must have more
/// columns.
template <ColumnOfKeys... Columns>
[[nodiscard]] byte_string_batch prefixes_of_columns(const Columns&... columns) requires(sizeof...(Columns) > 0) {
  return detail::keys_of_rows(
      [](std::string& out, const std::ranges::range_value_t<const Columns>&... row) {
        (append_key_bytes(out, row), ...);
      },
      columns...);
}

/// Decodes the rows of elements that range(), prefix() and similar calls returned; every string type becomes
/// std::string.
template <DecodedColumn... Columns, class Value>
[[nodiscard]] std::vector<std::tuple<Columns...>> rows_of_keys(const byte_range_result<Value>& elements) {
  std::vector<std::tuple<Columns...>> rows;
  for (const std::string& key : elements.keys()) rows.push_back(byte_key_columns<Columns...>(key));
  return rows;
}

}  // namespace espalier
