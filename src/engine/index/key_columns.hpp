// key_columns.hpp - key columns in the form that encoders read: order-preserving words, or text.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/types.hpp"

namespace espalier::engine {

/// The values of one key column, with -0.0 replaced by 0.0. Text is a view of the Arrow arrays it was read from.
struct key_column {
  std::vector<std::uint64_t> words;  ///< for fixed-width types; the low 64 bits of decimals with more than 18 digits
  std::vector<std::uint64_t> high;   ///< the high 64 bits of those decimals, order-preserving
  std::vector<std::string_view> text;
  std::vector<std::uint8_t> nulls;  ///< 1 for NULL, whose value is unspecified; empty if there are no NULLs

  [[nodiscard]] bool is_null(std::size_t i) const { return !nulls.empty() && nulls[i] != 0; }
};

/// Returns whether the type fits one word of 64 bits: all types but varchar and decimals with more than 18 digits.
[[nodiscard]] bool has_word(const column_type& type);
/// Returns the bytes of the type in a byte key; 0 for varchar.
[[nodiscard]] unsigned key_bytes(const column_type& type);

[[nodiscard]] key_column read_key_column(const arrow::ChunkedArray& data, const column_type& type);
/// Throws `error` if the array does not have the stored type.
[[nodiscard]] key_column read_key_column(const arrow::Array& data, const column_type& type);

}  // namespace espalier::engine
