// nearest_rows.hpp - the as-of join of the library (espalier/join/asof_join.hpp) over columns of the engine.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/expr/relation.hpp"
#include "espalier/join/asof_join.hpp"

namespace espalier::engine {

/// One side of an as-of join: equality columns, and the ordered value.
struct nearest_side {
  std::vector<std::shared_ptr<arrow::ChunkedArray>> equal;
  std::shared_ptr<arrow::ChunkedArray> at;
  std::int64_t rows = 0;
};

/// Returns for each left row the number of the nearest right row, or espalier::no_row: of the rows with equal keys the
/// last one at or before the left value (backward), the first one at or after it (forward), or the nearer one of these
/// two, which is the former if their distances are equal; `strict` excludes equal values. Of right rows with equal
/// values it is the last, or the first. NULLs match nothing, NaN is a value above all others, and -0.0 equals 0.0. Of
/// floats no distance is computed. Returns nothing for columns that the library cannot read: decimals as ordered
/// values, booleans as equality columns, sides of more than 2^32 - 1 rows, and equality columns with different chunks.
[[nodiscard]] std::optional<std::vector<row_number>> nearest_rows(const nearest_side& left, const nearest_side& right,
                                                                  asof_direction direction, bool strict);

/// Gathers rows by number in parallel, column by column. Rows with espalier::no_row are NULL; with `all` there is none.
[[nodiscard]] relation take_numbered(const relation& from, const std::vector<row_number>& rows, bool all);

}  // namespace espalier::engine
