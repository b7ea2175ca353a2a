// radix_sort.hpp - rows in the order of their words.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::engine {

/// Row numbers, of which there are fewer than 2^32, in ascending order of the words; equal words stay in their order.
/// `starts`, if there are any, has room for all: all but its first are set, to 1 where a word is another one than that
/// before it.
[[nodiscard]] std::vector<std::int64_t> rows_in_word_order(std::span<const std::uint64_t> words,
                                                           std::span<std::uint8_t> starts = {});

}  // namespace espalier::engine
