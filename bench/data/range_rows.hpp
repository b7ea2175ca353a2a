// range_rows.hpp - results of range-rows: a count and a fixed-length row for each range.
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

/// Returns columns counts, keys, values for rows of `length` elements.
[[nodiscard]] answers make_rows(const range_set& ranges, const data_spec& spec, std::uint64_t length);

/// Checks ranges given as offsets, keys and values. Throws wrong_answer.
void require_right_ranges(const data_spec& spec, const query_view& input, const answers& ours, const answers& expected);

/// Converts rows to contiguous ranges.
[[nodiscard]] answers without_gaps(const answers& rows, std::uint64_t length);

}  // namespace espalier::bench
