// asof_last_seen.hpp - as-of join with groups of two sides that are sorted in time: one pass over both.
//
// The pass goes through right rows in key order and notes the row of each group in a table; a left row takes the row
// that its group has when all right rows before it were noted. The forward direction is the same pass from the end.
//
// With several threads the rows are cut into parts of equal length along the merge path. Each part starts with an
// empty table. A left row whose group is not in the table of its part is pending: its row is that of the nearest
// earlier part with that group, which one thread looks up afterwards, with one table that takes over part by part.
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

  template <bound_type Bound, bool Forward>
  void run(row_number* out) const {
    std::vector<part> parts = cut<Bound, Forward>();
    const buffer<row_number> tables(dev_, parts.size() * groups_);
    backend_.for_each_chunk(parts.size(), 1, [&](std::size_t from, std::size_t to) {
      for (std::size_t p = from; p < to; ++p) {
        row_number* table = tables.data() + p * groups_;
        std::fill(table, table + groups_, no_row);
        if constexpr (Forward) {
          pass_down<Bound>(parts[p], p != 0, table, out);
        } else {
          pass_up<Bound>(parts[p], p + 1 != parts.size(), table, out);
        }
      }
    });
    const std::size_t count = parts.size();
    for (std::size_t step = 1; step < count; ++step) {
      const std::size_t p = Forward ? count - 1 - step : step;
      row_number* table = tables.data() + p * groups_;
      const row_number* before = Forward ? table + groups_ : table - groups_;
      for (const row_number i : parts[p].pending) out[i] = before[left_.codes[i]];
      if (step + 1 == count) break;
      for (std::size_t g = 0; g < groups_; ++g) table[g] = table[g] == no_row ? before[g] : table[g];
    }
  }

  /// Parts with equal numbers of rows. A part has the right rows [rank(its first left row), rank(the next part's)).
  template <bound_type Bound, bool Forward>
  [[nodiscard]] std::vector<part> cut() const {
    const std::size_t total = left_.n + right_.n;
    std::size_t count = backend_.threads() == 1 ? 1 : std::min<std::size_t>(2 * backend_.threads(), total / piece_rows);
    while (count > 1 && count * groups_ > total) --count;
    count = std::max<std::size_t>(count, 1);
    const auto rank = [&](std::size_t i) { return binary_search<Bound>(right_.keys, 0, right_.n, left_.keys[i]); };
    std::vector<part> parts(count);
    std::size_t left_first = 0, right_first = 0;
    if constexpr (Forward) right_first = left_.n == 0 ? 0 : rank(0);
    for (std::size_t p = 0; p < count; ++p) {
      std::size_t left_last = left_.n, right_last = right_.n;
      if (p + 1 < count) {
        const std::size_t diagonal = total / count * (p + 1);
        std::size_t low = left_first, high = left_.n;  // the first left row with i + rank(i) >= diagonal
        while (low < high) {
          const std::size_t middle = low + (high - low) / 2;
          if (middle + rank(middle) < diagonal) {
            low = middle + 1;
          } else {
            high = middle;
          }
        }
        left_last = low;
        right_last = low == left_.n ? right_.n : rank(low);
      }
      parts[p] = {left_first, left_last, right_first, right_last, {}};
      left_first = left_last;
      right_first = right_last;
    }
    return parts;
  }

  template <bound_type Bound>
  void pass_up(part& in, bool completes, row_number* table, row_number* out) const {
    const Key* keys = right_.keys;
    const std::uint32_t* codes = right_.codes;
    std::size_t at = in.right_first;
    for (std::size_t i = in.left_first; i < in.left_last; ++i) {
      const Key q = left_.keys[i];
      for (; at < in.right_last && is_before<Bound>(keys[at], q); ++at) table[codes[at]] = static_cast<row_number>(at);
      note(in, i, table[left_.codes[i]], out);
    }
    if (!completes) return;
    for (; at < in.right_last; ++at) table[codes[at]] = static_cast<row_number>(at);
  }

  template <bound_type Bound>
  void pass_down(part& in, bool completes, row_number* table, row_number* out) const {
    const Key* keys = right_.keys;
    const std::uint32_t* codes = right_.codes;
    std::size_t at = in.right_last;
    for (std::size_t i = in.left_last; i > in.left_first; --i) {
      const Key q = left_.keys[i - 1];
      for (; at > in.right_first && !is_before<Bound>(keys[at - 1], q); --at) {
        table[codes[at - 1]] = static_cast<row_number>(at - 1);
      }
      note(in, i - 1, table[left_.codes[i - 1]], out);
    }
    if (!completes) return;
    for (; at > in.right_first; --at) table[codes[at - 1]] = static_cast<row_number>(at - 1);
  }

  static void note(part& in, std::size_t i, row_number found, row_number* out) {
    out[i] = found;
    if (found == no_row) in.pending.push_back(static_cast<row_number>(i));
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
