// word_order.hpp - rows in the order of their words.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace espalier::engine {

/// Row numbers, of which there are fewer than 2^32, in ascending order of the words; equal words stay in their order.
[[nodiscard]] std::vector<std::int64_t> rows_in_word_order(std::span<const std::uint64_t> words);

}  // namespace espalier::engine
