// window_rows.hpp - window functions whose result is the value of another row: lag, lead, first_value, last_value,
// nth_value, min and max. They compute row numbers, and one gather reads the values, whatever their type.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/exec/window_frames.hpp"

namespace espalier::engine {

/// The arguments of lag and lead. `offsets` is a bigint column or null for 1; `defaults` are the values for rows that
/// have no other row at that distance, or null for NULL.
struct shift_arguments {
  std::shared_ptr<arrow::ChunkedArray> values, offsets, defaults;
  bool forward = false;  ///< lead
};

[[nodiscard]] std::shared_ptr<arrow::ChunkedArray> shifted_values(const shift_arguments& arguments,
                                                                  const window_order& order, const window_runs& runs);

/// first_value, last_value and nth_value. `places` is the second argument of nth_value, a bigint column.
[[nodiscard]] std::shared_ptr<arrow::ChunkedArray> value_of_frame(const std::string& function,
                                                                  const std::shared_ptr<arrow::ChunkedArray>& values,
                                                                  const std::shared_ptr<arrow::ChunkedArray>& places,
                                                                  const window_order& order, const frame_rows& frames,
                                                                  int position);

/// min, or max unless `least`. A deque holds the rows of the frame that may become the result, so that any length of
/// frames costs the same. The first of several equal values is the result.
[[nodiscard]] std::shared_ptr<arrow::ChunkedArray> extreme_of_frame(const std::shared_ptr<arrow::ChunkedArray>& values,
                                                                    bool least, const window_order& order,
                                                                    const window_runs& runs, const frame_rows& frames);

/// The same for windows of a window join, in any order.
[[nodiscard]] std::shared_ptr<arrow::ChunkedArray> extreme_of_windows(
    const std::shared_ptr<arrow::ChunkedArray>& values, bool least, const window_order& order,
    const frame_rows& frames);

}  // namespace espalier::engine
