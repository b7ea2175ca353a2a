// segments.hpp - rows of a table as record batches that are neither many nor small.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace espalier::engine {

using segment_list = std::vector<std::shared_ptr<arrow::RecordBatch>>;

/// The rows cut where the chunks of all columns end, neighbours joined until they have `enough` rows each. Where a
/// column has no such ends its chunks are copied into one; otherwise nothing is copied but what is joined.
[[nodiscard]] segment_list segments_of(const arrow::Table& rows, std::uint64_t enough);

/// One batch of all these rows; null where a varchar column would not fit one array.
[[nodiscard]] std::shared_ptr<arrow::RecordBatch> joined(const segment_list& parts);

/// Adds `next` at the end, joined with smaller or not much larger segments before it, none of which has `small` rows.
void append_segment(segment_list& segments, std::shared_ptr<arrow::RecordBatch> next, std::uint64_t small);

}  // namespace espalier::engine
