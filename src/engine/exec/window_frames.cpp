#include "engine/exec/window_frames.hpp"

#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include "engine/error.hpp"
#include "engine/exec/window_range.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {
namespace {

// Stores bound(position, part) for all positions.
template <class Bound>
std::vector<std::uint32_t> bounds(const window_runs& runs, const Bound& bound) {
  std::vector<std::uint32_t> out(runs.partitions.back());
  for_each_part(runs.partitions, independent_pieces(), [&](const window_part& part) {
    for_each_row(part.begin, part.end, [&](std::size_t i) { out[i] = static_cast<std::uint32_t>(bound(i, part)); });
  });
  return out;
}

// Stores bound(peers of the position, peers at the partition's begin and end) for all positions.
template <class Bound>
std::vector<std::uint32_t> peer_bounds(const window_runs& runs, const Bound& bound) {
  std::vector<std::uint32_t> out(runs.partitions.back());
  for_each_part(runs.partitions, independent_pieces(), [&](const window_part& part) {
    const std::size_t first = run_cursor(runs.peers, part.first).at(part.first);
    const std::size_t last = run_cursor(runs.peers, part.last - 1).at(part.last - 1) + 1;
    run_cursor peers(runs.peers, part.begin);
    for_each_row(part.begin, part.end, [&](std::size_t i) { out[i] = runs.peers[bound(peers.at(i), first, last)]; });
  });
  return out;
}

std::size_t count_of(const arrow::Scalar& offset) {
  return static_cast<std::size_t>(static_cast<const arrow::Int64Scalar&>(offset).value);
}

// `at_end` tells apart the two ends of a frame: the end is the position behind its last row.
std::vector<std::uint32_t> row_bounds(const window_runs& runs, frame_bound bound, const arrow::Scalar* offset,
                                      bool at_end) {
  const std::size_t behind = at_end ? 1 : 0;
  const std::size_t count = offset ? count_of(*offset) : 0;
  if (bound == frame_bound::preceding) {
    return bounds(runs, [=](std::size_t i, const window_part& part) {
      const auto here = i + behind;
      return count >= here - part.first ? part.first : here - count;
    });
  }
  return bounds(runs, [=](std::size_t i, const window_part& part) {  // CURRENT ROW is 0 FOLLOWING
    const auto here = i + behind;
    return count >= part.last - here ? part.last : here + count;
  });
}

std::vector<std::uint32_t> group_bounds(const window_runs& runs, frame_bound bound, const arrow::Scalar* offset,
                                        bool at_end) {
  const std::size_t behind = at_end ? 1 : 0;
  const std::size_t count = offset ? count_of(*offset) : 0;
  if (bound == frame_bound::preceding) {
    return peer_bounds(runs, [=](std::size_t group, std::size_t first, std::size_t) {
      const auto here = group + behind;
      return count >= here - first ? first : here - count;
    });
  }
  return peer_bounds(runs, [=](std::size_t group, std::size_t, std::size_t last) {
    const auto here = group + behind;
    return count >= last - here ? last : here + count;
  });
}

std::vector<std::uint32_t> bound_of(const window_frame& frame, const frame_values& values, const window_order& order,
                                    const window_runs& runs, bool at_end) {
  const auto bound = at_end ? frame.end : frame.start;
  const auto* const offset = (at_end ? values.end_offset : values.start_offset).get();
  if (bound == frame_bound::unbounded_preceding) {
    return bounds(runs, [](std::size_t, const window_part& part) { return part.first; });
  }
  if (bound == frame_bound::unbounded_following) {
    return bounds(runs, [](std::size_t, const window_part& part) { return part.last; });
  }
  if (frame.unit == frame_unit::rows) return row_bounds(runs, bound, offset, at_end);
  if (frame.unit == frame_unit::groups || bound == frame_bound::current_row) {
    return group_bounds(runs, bound, offset, at_end);
  }
  const auto& computed = at_end ? values.range_end : values.range_start;
  const bool adds = (bound == frame_bound::following) != values.descending;
  return range_bounds(*values.range_key,
                      computed ? range_bound{computed, nullptr, false} : range_bound{nullptr, offset, adds},
                      values.descending, order, runs, at_end);
}

bool is_negative(const arrow::Scalar& offset) {
  switch (offset.type->id()) {
    case arrow::Type::DOUBLE:
      return !(static_cast<const arrow::DoubleScalar&>(offset).value >= 0);  // NaN is refused, too
    case arrow::Type::DECIMAL128:
      return static_cast<const arrow::Decimal128Scalar&>(offset).value.IsNegative();
    default:
      return static_cast<const arrow::Int64Scalar&>(offset).value < 0;
  }
}

}  // namespace

void check_frame_offset(const arrow::Scalar& offset, int position) {
  if (!offset.is_valid) throw_sql_error(codes::null_not_allowed, position, "The offset of a frame cannot be NULL.");
  if (is_negative(offset)) {
    throw_sql_error(codes::invalid_frame_offset, position, "The offset of a frame cannot be negative.");
  }
}

frame_rows frames_of(const window_frame& frame, const frame_values& values, const window_order& order,
                     const window_runs& runs) {
  frame_rows out{bound_of(frame, values, order, runs, false), bound_of(frame, values, order, runs, true)};
  parallel_pieces(out.begin.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) out.end[i] = std::max(out.begin[i], out.end[i]);
  });
  return out;
}

}  // namespace espalier::engine
