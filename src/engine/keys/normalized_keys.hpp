// normalized_keys.hpp - maps values of any type to unsigned words, on which sorting, grouping and joining work.
//
// Words preserve the order of the values and are equal exactly if the SQL values are: -0.0 equals 0.0, and NaN is one
// value above all others. A fixed-width value has one word, a decimal beyond 64 bits two, and a string its rank among
// those of the column.
#pragma once

#include <arrow/type_fwd.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/keys/string_dictionary.hpp"
#include "engine/types.hpp"
#include "espalier/core/scalar.hpp"

namespace espalier::engine {

struct sort_key_column {
  std::vector<std::uint64_t> high;  ///< used by values of two words, otherwise empty
  std::vector<std::uint64_t> words;
  std::vector<std::uint8_t> nulls;  ///< 1 for NULL; empty if there are no NULLs

  [[nodiscard]] bool is_null(std::size_t row) const { return !nulls.empty() && nulls[row] != 0; }
};

[[nodiscard]] std::vector<const sort_key_column*> pointers_to(const std::vector<sort_key_column>& columns);

/// Returns the word of a number as key_codec<T> encodes it, with -0.0 as 0.0. It avoids float comparisons, so that
/// loops over arrays are vectorized.
template <class T>
[[nodiscard]] std::uint64_t ordered_word(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    using word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    constexpr word sign = word{1} << (sizeof(T) * 8 - 1);
    constexpr auto infinity = std::bit_cast<word>(std::numeric_limits<T>::infinity());
    auto bits = std::bit_cast<word>(value);
    const auto magnitude = static_cast<word>(bits << 1);
    bits =
        magnitude > static_cast<word>(infinity << 1) ? std::bit_cast<word>(std::numeric_limits<T>::quiet_NaN()) : bits;
    bits = magnitude == 0 ? 0 : bits;
    return static_cast<word>(bits ^ (static_cast<word>(word{0} - (bits >> (sizeof(T) * 8 - 1))) | sign));
  } else {
    return key_codec<T>::encode(value);
  }
}

/// Returns words in the order of the values. NULLs have word 0.
[[nodiscard]] sort_key_column ordered_codes(const arrow::ChunkedArray& column);
/// Returns words of two columns of one type that are comparable with each other; a string has its rank among those of
/// both.
[[nodiscard]] std::pair<sort_key_column, sort_key_column> ordered_codes(const arrow::ChunkedArray& first,
                                                                        const arrow::ChunkedArray& second);
/// Writes one word for each of `count` values from `begin` on, in the order of the values. Different values may have
/// equal words unless words of the type are exact. The words of NULLs are unspecified.
void coarse_words(const arrow::Array& chunk, std::int64_t begin, std::int64_t count, std::uint64_t* out);
[[nodiscard]] bool coarse_words_are_exact(const arrow::DataType& type);
/// Returns words for equality within the column only; strings are numbered by first occurrence.
[[nodiscard]] sort_key_column group_codes(const arrow::ChunkedArray& column);

/// Words for equality only, consistent across both sides of a join. Strings are numbered by first occurrence on the
/// first side; strings that only the second side has are NULL there and match nothing.
class equality_coder {
 public:
  [[nodiscard]] sort_key_column first(const std::shared_ptr<arrow::ChunkedArray>& column);
  [[nodiscard]] sort_key_column second(const std::shared_ptr<arrow::ChunkedArray>& column) const;

 private:
  std::shared_ptr<arrow::ChunkedArray> keeps_;  ///< owns the strings that the dictionary refers to
  string_dictionary numbers_;
};

}  // namespace espalier::engine
