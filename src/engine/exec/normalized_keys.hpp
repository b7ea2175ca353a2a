// normalized_keys.hpp - values of any type as unsigned words: what sorting, grouping and joining work on.
//
// Words keep the order of the values and are equal exactly where SQL's values are: -0.0 is 0.0, NaN is one value above
// all others. Fixed-width values have one word, decimals beyond 64 bits two, strings the rank among those of the
// column.
#pragma once

#include <arrow/type_fwd.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/exec/string_dictionary.hpp"
#include "engine/types.hpp"
#include "espalier/core/scalar.hpp"

namespace espalier::engine {

struct sort_key_column {
  std::vector<std::uint64_t> high;  ///< of values with two words only, else empty
  std::vector<std::uint64_t> words;
  std::vector<std::uint8_t> nulls;  ///< 1 where NULL; empty if nothing is

  [[nodiscard]] bool is_null(std::size_t row) const { return !nulls.empty() && nulls[row] != 0; }
};

[[nodiscard]] std::vector<const sort_key_column*> pointers_to(const std::vector<sort_key_column>& columns);

/// The word of a number, as codec<T> has it, with -0.0 as 0.0. Floats without comparing floats, so that loops over
/// arrays of them become vector code.
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

/// In the order of the values. NULLs have word 0.
[[nodiscard]] sort_key_column ordered_codes(const arrow::ChunkedArray& column);
/// Codes of two columns of one type, comparable with each other: strings have their rank among those of both.
[[nodiscard]] std::pair<sort_key_column, sort_key_column> ordered_codes(const arrow::ChunkedArray& first,
                                                                        const arrow::ChunkedArray& second);
/// One word for each of `count` values from `begin` on, in the order of the values; different values may have equal
/// words unless words of the type are exact. What NULLs have is any word.
void coarse_words(const arrow::Array& chunk, std::int64_t begin, std::int64_t count, std::uint64_t* out);
[[nodiscard]] bool coarse_words_are_exact(const arrow::DataType& type);
/// For equality only, within the column: strings are numbered as they come.
[[nodiscard]] sort_key_column group_codes(const arrow::ChunkedArray& column);

/// Codes for equality only, the same for columns of both sides of a join: strings are numbered as the first side brings
/// them, and those that only the second one has are NULL there (they meet nothing).
class equality_coder {
 public:
  [[nodiscard]] sort_key_column first(const std::shared_ptr<arrow::ChunkedArray>& column);
  [[nodiscard]] sort_key_column second(const std::shared_ptr<arrow::ChunkedArray>& column) const;

 private:
  std::shared_ptr<arrow::ChunkedArray> keeps_;  ///< the strings that the table's texts are views of
  string_dictionary numbers_;
};

}  // namespace espalier::engine
