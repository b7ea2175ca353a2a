// segments.hpp - splits the rows of a table into record batches that are neither many nor small.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace espalier::engine {

using segment_list = std::vector<std::shared_ptr<arrow::RecordBatch>>;

/// Splits the rows where the chunks of all columns end, and combines adjacent parts until they have `enough` rows each.
/// If a column has no such ends, its chunks are copied into one; otherwise only combined parts are copied.
[[nodiscard]] segment_list segments_of(const arrow::Table& rows, std::uint64_t enough);

/// Returns one batch of all these rows, or null if a varchar column would not fit one array.
[[nodiscard]] std::shared_ptr<arrow::RecordBatch> joined(const segment_list& parts);

/// Appends `next`, combined with preceding segments that are smaller or not much larger, none of which has `small`
/// rows.
void append_segment(segment_list& segments, std::shared_ptr<arrow::RecordBatch> next, std::uint64_t small);

}  // namespace espalier::engine
