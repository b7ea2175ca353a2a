// asof_join.hpp - for each left row the right row with the nearest key: the last quote before each trade.
//
//   std::vector<espalier::row_number> rows(trades.size());
//   espalier::asof_join({.on = trade_times}, {.on = quote_times}, rows);
//   espalier::gather_column(quote_prices, rows, std::span(prices), validity);
//
// Bytes that are moved, with 8-byte keys, n left and m right rows:
//   both sides sorted, no groups   8 n + at most 8 m read, 4 n written; no scratch memory. Blocks of 512 left rows are
//                                  merged with a window of the right side that starts at the previous block. From two
//                                  right rows per left row on, every eighth key is merged; from 16 on, only
//                                  O(n log(m / n)) keys are read.
//   both sides sorted, groups      12 (n + m) read, 4 n written, and 4 bytes per group and part: one pass that keeps
//                                  the last row of each group. Each part of the time has its own table;
//                                  left rows whose group was not seen in their part get their row from earlier tables.
//   otherwise                      a side that is not in order is sorted once (radix sort of key and row number, then
//                                  a stable partition by group): 24 n or 24 m bytes of scratch memory.
//                                  Without groups, 2^16 or more left rows out of order are not sorted if the right keys
//                                  fit the L2 cache: a directory of the keys serves them.
// One more pass, which finds the order, reads 8 (n + m) bytes unless the caller declares the order.
//
// On a GPU the right side is sorted if it is not in order (radix sort, 24 m bytes of scratch memory), and blocks of
// 1,024 left rows search the window of the right side that holds their answers; left rows in no order are sorted by 16
// bits (16 n bytes). Both sides in order, no groups: at most 8 m (twice, to find the order) + 8 n read, 4 n written.
#pragma once

#include <optional>
#include <span>

#include "espalier/device/device.hpp"
#include "espalier/join/column.hpp"

namespace espalier {

enum class asof_direction : std::uint8_t {
  backward,  ///< the greatest right key that is not greater; of equal right keys the last row
  forward,   ///< the least right key that is not less; of equal right keys the first row
  nearest,   ///< the smaller distance of both; the backward row if distances are equal
};

struct asof_options {
  asof_direction direction = asof_direction::backward;
  /// False: right keys that equal the left key do not match.
  bool allow_exact_matches = true;
  /// The largest distance between matching keys, not negative. Distances of integer keys are exact; those of f32 and
  /// f64 keys are computed as double.
  std::optional<key_distance> tolerance = {};
};

/// Writes for each left row the number of the matching right row, or no_row. `rows` has one element per left row. Equal
/// right keys are ordered by row number. On a CPU, memory is host memory. On a GPU, every array may be in its memory or
/// in host memory, which is copied piece by piece while earlier pieces are joined if it is pinned; work is done in the
/// order of `s`, and is complete when the call returns. Throws `error` if types, sizes or group codes do not fit,
/// before anything is written, and out_of_memory.
void asof_join(const join_side& left, const join_side& right, std::span<row_number> rows,
               const asof_options& options = {}, const device& dev = device::cpu(), const stream& s = {});

}  // namespace espalier
