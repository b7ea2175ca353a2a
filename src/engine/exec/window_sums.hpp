// window_sums.hpp - count, sum and avg over frames, in exact arithmetic: a result does not depend on rows outside of
// its frame.
//
// Sums of integers, and of decimals and floats whose sums fit 128 bits, are differences of prefix sums. The others
// slide: rows that enter the frame are added to an exact sum and rows that leave it are removed.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "engine/exec/window_frames.hpp"

namespace espalier::engine {

/// `values` is null for count(*).
[[nodiscard]] std::shared_ptr<arrow::ChunkedArray> counts_of_frames(const std::shared_ptr<arrow::ChunkedArray>& values,
                                                                    const window_order& order,
                                                                    const frame_rows& frames);

/// The sum, or the average if the call is avg, of the values of each frame that are not NULL. NULL for a frame without
/// such values.
/// Throws 22003 if a sum has more than 38 digits.
[[nodiscard]] std::shared_ptr<arrow::ChunkedArray> sums_of_frames(const window_call& call,
                                                                  const std::shared_ptr<arrow::ChunkedArray>& values,
                                                                  const window_order& order, const window_runs& runs,
                                                                  const frame_rows& frames);

}  // namespace espalier::engine
