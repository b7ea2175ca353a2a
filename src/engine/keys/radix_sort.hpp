// radix_sort.hpp - sorts rows by their words.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::engine {

/// Returns row numbers in ascending order of the words; the sort is stable. There are fewer than 2^32 rows. `starts` is
/// empty or has one element per row: each element but the first is set to 1 if its word differs from the preceding one.
[[nodiscard]] std::vector<std::int64_t> rows_in_word_order(std::span<const std::uint64_t> words,
                                                           std::span<std::uint8_t> starts = {});

}  // namespace espalier::engine
