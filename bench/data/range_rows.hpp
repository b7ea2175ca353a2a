// range_rows.hpp - answers of range-rows: a count and a row of places for each range.
#pragma once

#include <algorithm>
#include <cstdint>

#include "bench/data/answers.hpp"

namespace espalier::bench {

[[nodiscard]] inline std::uint64_t longest(const range_set& ranges) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) length = std::max(length, ranges.last[i] - ranges.first[i]);
  return length;
}

/// Columns counts, keys, values, for rows of `length` places.
[[nodiscard]] answers make_rows(const range_set& ranges, const data_spec& spec, std::uint64_t length);

/// Ranges as offsets, keys and values. Throws wrong_answer.
void require_right_ranges(const data_spec& spec, const query_view& input, const answers& ours, const answers& expected);

/// Rows as ranges one behind the other.
[[nodiscard]] answers without_gaps(const answers& rows, std::uint64_t length);

}  // namespace espalier::bench
