// range_rows.cpp - see range_rows.hpp.
#include "bench/data/range_rows.hpp"

#include <fmt/format.h>

#include "bench/data/generators.hpp"
#include "bench/harness/options.hpp"

namespace espalier::bench {

answers make_rows(const range_set& ranges, const data_spec& spec, std::uint64_t length) {
  answers columns;
  columns.emplace_back(scalar_kind::u64, ranges.size());
  columns.emplace_back(spec.key, ranges.size() * length);
  columns.emplace_back(spec.value, ranges.size() * length);
  return columns;
}

void require_right_ranges(const data_spec& spec, const query_view& input, const answers& ours,
                          const answers& expected) {
  if (ours[1].size() != expected[1].size()) {
    throw cli::wrong_answer(fmt::format("range: the tree finds {} elements, but {} are in the ranges.", ours[1].size(),
                                        expected[1].size()));
  }
  require_right(operation::range, spec, input, ours, expected);
}

answers without_gaps(const answers& rows, std::uint64_t length) {
  const auto counts = rows[0].as<std::uint64_t>();
  answers out;
  const auto offsets = out.emplace_back(scalar_kind::u64, counts.size() + 1).as<std::uint64_t>();
  offsets[0] = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > length) throw cli::wrong_answer(fmt::format("range-rows: row {} has {} elements.", i, counts[i]));
    offsets[i + 1] = offsets[i] + counts[i];
  }
  for (std::size_t c = 1; c < rows.size(); ++c) {
    const column& to = out.emplace_back(rows[c].kind(), offsets[counts.size()]);
    parallel_indices(counts.size(), [&](std::uint64_t i) {
      for (std::uint64_t j = offsets[i]; j < offsets[i + 1]; ++j)
        copy_element(rows[c], i * length + (j - offsets[i]), to, j);
    });
  }
  return out;
}

}  // namespace espalier::bench
