// asof_last_seen.hpp - as-of join with groups of two sides that are sorted in time: one pass over both.
//
// The pass goes through right rows in key order and notes the row of each group in a table; a left row takes the row
// that its group has when all right rows before it were noted. The forward direction is the same pass from the end.
//
// The rows are cut into parts of equal length along the merge path. Each part starts with an empty table. A left row
// whose group is not in the table of its part is pending: its row is that of the nearest earlier part with that group,
// which one thread looks up afterwards, with one table that takes over part by part.
//
// A thread interleaves several parts (lanes), one row of each per round. A step consumes the next right or the next
// left row without a branch: the order of rows is unpredictable, and a mispredicted branch costs as much as four steps.
// A step that consumes a left row stores to a dummy slot of the table; one that consumes a right row stores to a dummy
// result. Steps read one row past their part, so a part that contains the end of a side is processed by plain loops,
// and the partition keeps such parts short. If the tables of several lanes exceed the cache because there are many
// groups, all parts are processed by plain loops.
//
// Invariant: after part p, the combined table has for each group the last row noted in parts 0..p.
#pragma once

#include <vector>

#include "espalier/join/asof_join.hpp"
#include "join/side.hpp"

namespace espalier::join_detail {

template <class Key>
class last_seen_join {
 public:
  last_seen_join(const cpu_backend& backend, const device& dev, const clean_rows<Key>& left,
                 const clean_rows<Key>& right, std::uint32_t groups, bool exact)
      : backend_(backend), dev_(dev), left_(left), right_(right), groups_(groups), exact_(exact) {}

  /// Writes positions of clean right rows, or no_row, for all clean left rows.
  void backward(row_number* out) const {
    exact_ ? run<bound_type::upper, false>(out) : run<bound_type::lower, false>(out);
  }
  void forward(row_number* out) const {
    exact_ ? run<bound_type::lower, true>(out) : run<bound_type::upper, true>(out);
  }

 private:
  struct part {
    std::size_t left_first, left_last, right_first, right_last;
    std::vector<row_number> pending;
  };

  struct lane {
    std::size_t left, right;
    row_number* table;
  };
  static constexpr std::size_t lanes = 4;
  static constexpr std::size_t lane_groups = std::size_t{1} << 13;  // four tables of 32 KiB

  template <bound_type Bound, bool Forward>
  void run(row_number* out) const {
    // CPU time of one thread, 500 groups, 2^20 left rows: lanes 8.3 ms and plain loops 14.5 ms for 2^20 right rows, but
    // 36 and 29 ms for 2^23, because every step reads the table, and a plain loop reads it once per left row.
    const bool uses_lanes = groups_ <= lane_groups && right_.n / 4 <= left_.n && left_.n + right_.n >= piece_rows;
    std::vector<part> parts = cut<Bound, Forward>(uses_lanes);
    const std::size_t count = parts.size(), stride = groups_ + 1;  // the last slot is spare
    const buffer<row_number> tables(dev_, count * stride);
    const std::size_t together = uses_lanes ? lanes : 1;
    backend_.for_each_chunk((count + together - 1) / together, 1, [&](std::size_t from, std::size_t to) {
      for (std::size_t t = from; t < to; ++t) {
        // Forward, the short part is the first one: parts are taken together from the end.
        const std::size_t ahead = Forward ? (together - count % together) % together : 0;
        const std::size_t first = t == 0 ? 0 : t * together - ahead, last = std::min(count, (t + 1) * together - ahead);
        for (std::size_t p = first; p < last; ++p) std::fill_n(tables.data() + p * stride, stride, no_row);
        pass<Bound, Forward>(parts.data() + first, last - first, tables.data() + first * stride, out);
        for (std::size_t p = first; p < last; ++p) note_pending(parts[p], out);
      }
    });
    for (std::size_t step = 1; step < count; ++step) {
      const std::size_t p = Forward ? count - 1 - step : step;
      row_number* table = tables.data() + p * stride;
      const row_number* before = Forward ? table + stride : table - stride;
      for (const row_number i : parts[p].pending) out[i] = before[left_.codes[i]];
      for (std::size_t g = 0; g < groups_; ++g) table[g] = table[g] == no_row ? before[g] : table[g];
    }
  }

  /// Passes parts with consecutive tables: in lanes where all of them allow it.
  template <bound_type Bound, bool Forward>
  void pass(part* parts, std::size_t count, row_number* tables, row_number* out) const {
    const std::size_t stride = groups_ + 1;
    const auto is_inside = [&](const part& x) {
      return Forward ? x.left_first > 0 && x.right_first > 0 : x.left_last < left_.n && x.right_last < right_.n;
    };
    if (count == lanes && std::all_of(parts, parts + count, is_inside)) {
      pass_lanes<Bound, Forward>(parts, tables, out);
      return;
    }
    for (std::size_t p = 0; p < count; ++p) {
      if constexpr (Forward) {
        pass_down<Bound>(parts[p], tables + p * stride, out);
      } else {
        pass_up<Bound>(parts[p], tables + p * stride, out);
      }
    }
  }

  template <bound_type Bound, bool Forward>
  void pass_lanes(const part* parts, row_number* tables, row_number* out) const {
    const Key* right_keys = right_.keys;
    const Key* left_keys = left_.keys;
    const std::uint32_t* right_codes = right_.codes;
    const std::uint32_t* left_codes = left_.codes;
    const auto spare = static_cast<std::uint32_t>(groups_);
    row_number spare_result = no_row;
    std::size_t steps[lanes];
    for (std::size_t l = 0; l < lanes; ++l) {
      steps[l] = parts[l].left_last - parts[l].left_first + parts[l].right_last - parts[l].right_first;
    }
    // Lanes are variables of their own: as elements of an array they would be stored and loaded in each step.
    const auto lane_of = [&](std::size_t l) {
      return Forward ? lane{parts[l].left_last, parts[l].right_last, tables + l * (groups_ + 1)}
                     : lane{parts[l].left_first, parts[l].right_first, tables + l * (groups_ + 1)};
    };
    lane a = lane_of(0), b = lane_of(1), c = lane_of(2), d = lane_of(3);
    const auto step = [ =, &spare_result ](lane & x) __attribute__((always_inline)) {
      const std::size_t left = x.left - (Forward ? 1 : 0), right = x.right - (Forward ? 1 : 0);
      const std::size_t takes_right = is_before<Bound>(right_keys[right], left_keys[left]) != Forward ? 1 : 0;
      const std::uint32_t all = std::uint32_t{0} - static_cast<std::uint32_t>(takes_right);
      x.table[(right_codes[right] & all) | (spare & ~all)] = static_cast<row_number>(right);
      row_number* const results[2] = {out + left, &spare_result};
      *results[takes_right] = x.table[left_codes[left]];
      if constexpr (Forward) {
        x.right -= takes_right;
        x.left -= 1 - takes_right;
      } else {
        x.right += takes_right;
        x.left += 1 - takes_right;
      }
    };
    const std::size_t common = *std::min_element(steps, steps + lanes);
    for (std::size_t k = 0; k < common; ++k) {
      step(a);
      step(b);
      step(c);
      step(d);
    }
    for (std::size_t k = common; k < steps[0]; ++k) step(a);
    for (std::size_t k = common; k < steps[1]; ++k) step(b);
    for (std::size_t k = common; k < steps[2]; ++k) step(c);
    for (std::size_t k = common; k < steps[3]; ++k) step(d);
  }

  /// Parts with equal numbers of rows. A part has the right rows [rank(its first left row), rank(the next part's)).
  /// With lanes, the part at the end where sides may end (at the start, for Forward) is one of 256.
  template <bound_type Bound, bool Forward>
  [[nodiscard]] std::vector<part> cut(bool uses_lanes) const {
    const std::size_t total = left_.n + right_.n;
    std::size_t count = backend_.threads() == 1 ? 1 : std::min<std::size_t>(2 * backend_.threads(), total / piece_rows);
    while (count > 1 && count * groups_ > total) --count;
    count = std::max<std::size_t>(count, 1) * (uses_lanes ? lanes : 1);
    const std::size_t rest = uses_lanes ? total / 256 : 0;
    const auto rank = [&](std::size_t i) { return binary_search<Bound>(right_.keys, 0, right_.n, left_.keys[i]); };
    std::vector<std::size_t> diagonals;  // where parts end, but for the last
    if (Forward && rest != 0) diagonals.push_back(rest);
    for (std::size_t p = 1; p < count; ++p) diagonals.push_back((total - rest) / count * p + (Forward ? rest : 0));
    if (!Forward && rest != 0) diagonals.push_back(total - rest);
    std::vector<part> parts;
    std::size_t left_first = 0, right_first = 0;
    if constexpr (Forward) right_first = left_.n == 0 ? 0 : rank(0);
    for (const std::size_t diagonal : diagonals) {
      std::size_t low = left_first, high = left_.n;  // the first left row with i + rank(i) >= diagonal
      while (low < high) {
        const std::size_t middle = low + (high - low) / 2;
        if (middle + rank(middle) < diagonal) {
          low = middle + 1;
        } else {
          high = middle;
        }
      }
      const std::size_t right_last = low == left_.n ? right_.n : rank(low);
      parts.push_back({left_first, low, right_first, right_last, {}});
      left_first = low;
      right_first = right_last;
    }
    parts.push_back({left_first, left_.n, right_first, right_.n, {}});
    return parts;
  }

  template <bound_type Bound>
  void pass_up(const part& in, row_number* table, row_number* out) const {
    const Key* keys = right_.keys;
    const std::uint32_t* codes = right_.codes;
    std::size_t at = in.right_first;
    for (std::size_t i = in.left_first; i < in.left_last; ++i) {
      const Key q = left_.keys[i];
      for (; at < in.right_last && is_before<Bound>(keys[at], q); ++at) table[codes[at]] = static_cast<row_number>(at);
      out[i] = table[left_.codes[i]];
    }
    for (; at < in.right_last; ++at) table[codes[at]] = static_cast<row_number>(at);
  }

  template <bound_type Bound>
  void pass_down(const part& in, row_number* table, row_number* out) const {
    const Key* keys = right_.keys;
    const std::uint32_t* codes = right_.codes;
    std::size_t at = in.right_last;
    for (std::size_t i = in.left_last; i > in.left_first; --i) {
      const Key q = left_.keys[i - 1];
      for (; at > in.right_first && !is_before<Bound>(keys[at - 1], q); --at) {
        table[codes[at - 1]] = static_cast<row_number>(at - 1);
      }
      out[i - 1] = table[left_.codes[i - 1]];
    }
    for (; at > in.right_first; --at) table[codes[at - 1]] = static_cast<row_number>(at - 1);
  }

  static void note_pending(part& in, const row_number* out) {
    for (std::size_t i = in.left_first; i < in.left_last; ++i) {
      if (out[i] == no_row) in.pending.push_back(static_cast<row_number>(i));
    }
  }

  const cpu_backend& backend_;
  const device& dev_;
  const clean_rows<Key>& left_;
  const clean_rows<Key>& right_;
  std::size_t groups_;
  bool exact_;
};

/// The whole join: passes, tolerance, and row numbers of the sides.
template <class Key>
void asof_by_last_seen(const cpu_backend& backend, const device& dev, const clean_rows<Key>& left,
                       const clean_rows<Key>& right, std::uint32_t groups, const asof_options& options,
                       const tolerance_of<Key>& tolerance, std::span<row_number> rows) {
  const last_seen_join<Key> join(backend, dev, left, right, groups, options.allow_exact_matches);
  buffer<row_number> compact, other;
  row_number* found = rows.data();
  if (left.rows != nullptr) {
    compact = buffer<row_number>(dev, left.n);
    found = compact.data();
  }
  if (options.direction == asof_direction::forward) {
    join.forward(found);
  } else {
    join.backward(found);
  }
  const bool both = options.direction == asof_direction::nearest;
  if (both) {
    other = buffer<row_number>(dev, left.n);
    join.forward(other.data());
  }
  if (!both && !tolerance.is_set() && left.rows == nullptr && right.rows == nullptr) return;
  backend.for_each_chunk(left.n, piece_rows, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      row_number row = found[i];
      if (both) {
        const row_number next = other.data()[i];
        if (row == no_row || (next != no_row && distance_between(right.keys[next], left.keys[i]) <
                                                    distance_between(right.keys[row], left.keys[i]))) {
          row = next;
        }
      }
      if (row != no_row && !tolerance.allows(right.keys[row], left.keys[i])) row = no_row;
      if (row != no_row && right.rows != nullptr) row = right.rows[row];
      rows[left.rows == nullptr ? i : left.rows[i]] = row;
    }
  });
}

}  // namespace espalier::join_detail
