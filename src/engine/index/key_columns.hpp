// key_columns.hpp - columns of a key as the codecs see them: order-preserving words, or text.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "engine/types.hpp"

namespace espalier::engine {

/// The values of one key column. -0.0 has become 0.0. Text is a view of the Arrow arrays it was read from.
struct key_column {
  std::vector<std::uint64_t> words;  ///< of fixed-width types; the low 64 bits of decimals with more than 18 digits
  std::vector<std::uint64_t> high;   ///< their high 64 bits, in order
  std::vector<std::string_view> text;
  std::vector<std::uint8_t> nulls;  ///< 1: NULL, and the value means nothing; empty: none is

  [[nodiscard]] bool is_null(std::size_t i) const { return !nulls.empty() && nulls[i] != 0; }
};

/// Can one word of at most 64 bits hold the type? All but varchar and decimals with more than 18 digits.
[[nodiscard]] bool has_word(const column_type& type);
/// Bytes of the type in a byte key; 0 for varchar.
[[nodiscard]] unsigned key_bytes(const column_type& type);

[[nodiscard]] key_column read_key_column(const arrow::ChunkedArray& data, const column_type& type);
/// Throws `error` if the array is not stored as the type is.
[[nodiscard]] key_column read_key_column(const arrow::Array& data, const column_type& type);

}  // namespace espalier::engine
