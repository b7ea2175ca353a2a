// window_range.hpp - bounds of RANGE frames with an offset: rows whose ORDER BY value is near that of the current row.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/exec/window_order.hpp"

namespace espalier::engine {

/// A bound: a computed value per row of the input, or the key plus or minus a number.
struct range_bound {
  std::shared_ptr<arrow::ChunkedArray> values;
  const arrow::Scalar* offset = nullptr;
  bool adds = false;
};

/// Returns for each position the first position of its partition whose key is not before its bound, or with `at_end`
/// the first whose key is behind it. A NULL has no distance to numbers: the bounds of its row are those of the NULLs.
/// Bounds do not decrease within a partition; where months shorten, they stay at that of the row before, as in
/// PostgreSQL.
[[nodiscard]] std::vector<std::uint32_t> range_bounds(const arrow::ChunkedArray& key, const range_bound& bound,
                                                      bool descending, const window_order& order,
                                                      const window_runs& runs, bool at_end);

}  // namespace espalier::engine
