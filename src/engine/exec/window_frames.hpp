// window_frames.hpp - the rows around each row that a window function reads.
//
// Offsets of frames are constants, so begin and end never decrease within a partition: sliding algorithms add and
// remove each row once.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/exec/window_order.hpp"
#include "engine/plan/node.hpp"

namespace espalier::engine {

/// Positions [begin[i], end[i]) are the frame of position i; an empty frame has begin == end.
struct frame_rows {
  std::vector<std::uint32_t> begin, end;
  /// The frames are windows of a window join: there is one for each left row, and frame i is that of left row i. They
  /// need not ascend. Positions are those of the right side.
  bool of_input_rows = false;
};

/// The evaluated parts of a frame clause. Columns have one value per row of the input.
struct frame_values {
  std::shared_ptr<arrow::Scalar> start_offset, end_offset;
  std::shared_ptr<arrow::ChunkedArray> range_key, range_start, range_end;
  bool descending = false;  ///< direction of the only ORDER BY key, for RANGE with an offset
};

/// Throws if the offset is NULL (22004) or negative (22013).
void check_frame_offset(const arrow::Scalar& offset, int position);

/// Returns the frames of all positions.
[[nodiscard]] frame_rows frames_of(const window_frame& frame, const frame_values& values, const window_order& order,
                                   const window_runs& runs);

}  // namespace espalier::engine
