// pending_changes.hpp - the changes since a rank base was built: added rows and removed ranks.
//
// Invariants: `added` ascends by (NULL last, key, row), and added[i].at, the rank of the base before which it belongs,
// ascends with it. `removed` are distinct ranks of the base, ascending. The order of a row is therefore determined
// once, when it is added; queries compare ranks only and never keys of the base.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/index/number_array.hpp"
#include "engine/index/table_index.hpp"

namespace espalier::engine {

template <class Key>
struct pending_row {
  Key key;
  std::uint64_t row = 0;
  std::uint64_t at = 0;  ///< the row is before this rank of the base and after the preceding one
  bool null = false;     ///< it has no key
  bool exempt = false;   ///< a key column is NULL, so duplicates are allowed

  [[nodiscard]] bool operator<(const pending_row& other) const {
    if (null != other.null) return other.null;
    if (!null && key != other.key) return key < other.key;
    return row < other.row;
  }
};

/// The content of a range: ranks [from, to) of the base and pending rows [added_from, added_to).
struct merged_range {
  std::uint64_t from = 0, to = 0;
  std::uint64_t added_from = 0, added_to = 0;
};

/// OFFSET and LIMIT within a range.
struct row_window {
  std::uint64_t skip = 0;
  std::uint64_t limit = no_limit;
};

template <class Key>
struct pending_changes {
  std::vector<pending_row<Key>> added;
  std::vector<std::uint64_t> removed;

  [[nodiscard]] bool empty() const { return added.empty() && removed.empty(); }
  [[nodiscard]] std::size_t size() const { return added.size() + removed.size(); }

  [[nodiscard]] std::size_t removed_below(std::uint64_t rank) const {
    return static_cast<std::size_t>(std::lower_bound(removed.begin(), removed.end(), rank) - removed.begin());
  }
  [[nodiscard]] bool is_removed(std::uint64_t rank) const {
    return std::binary_search(removed.begin(), removed.end(), rank);
  }
  [[nodiscard]] std::uint64_t count(const merged_range& r) const {
    const std::uint64_t base = r.to - r.from - (removed.empty() ? 0 : removed_below(r.to) - removed_below(r.from));
    return base + (r.added_to - r.added_from);
  }

  /// Writes the rows of the range that are in the window, in order. Returns the position after the last one.
  std::uint64_t* write(const merged_range& r, const number_array& rows, key_order order, row_window window,
                       std::uint64_t* out) const {
    return order == key_order::ascending ? write_up(r, rows, window, out) : write_down(r, rows, window, out);
  }

 private:
  /// Returns the part of a run of n rows that is in the window: the number of rows to skip, and then to take.
  static row_window cut(row_window& window, std::uint64_t n) {
    const std::uint64_t skip = std::min(window.skip, n);
    const std::uint64_t take = std::min(window.limit, n - skip);
    window.skip -= skip;
    window.limit -= take;
    return {skip, take};
  }

  std::uint64_t* write_up(const merged_range& r, const number_array& rows, row_window window,
                          std::uint64_t* out) const {
    std::uint64_t b = r.from;
    std::size_t d = r.added_from;
    std::size_t gone = removed_below(b);
    while (window.limit != 0) {
      const std::uint64_t stop = d < r.added_to ? std::min(added[d].at, r.to) : r.to;
      if (b < stop) {
        const std::uint64_t gap = gone < removed.size() ? std::min(removed[gone], stop) : stop;
        if (b == gap) {
          ++b, ++gone;
          continue;
        }
        const row_window part = cut(window, gap - b);
        rows.copy(b + part.skip, b + part.skip + part.limit, out);
        out += part.limit;
        b = gap;
      } else if (d < r.added_to) {
        if (cut(window, 1).limit == 1) *out++ = added[d].row;
        ++d;
      } else {
        break;
      }
    }
    return out;
  }

  std::uint64_t* write_down(const merged_range& r, const number_array& rows, row_window window,
                            std::uint64_t* out) const {
    std::uint64_t b = r.to;
    std::size_t d = r.added_to;
    std::size_t gone = removed_below(b);
    while (window.limit != 0) {
      const std::uint64_t start = d > r.added_from ? std::max(added[d - 1].at, r.from) : r.from;
      if (b > start) {
        const std::uint64_t gap = gone > 0 ? std::max(removed[gone - 1] + 1, start) : start;
        if (b == gap) {
          --b, --gone;
          continue;
        }
        const row_window part = cut(window, b - gap);
        for (std::uint64_t i = 0; i < part.limit; ++i) *out++ = rows[b - 1 - part.skip - i];
        b = gap;
      } else if (d > r.added_from) {
        --d;
        if (cut(window, 1).limit == 1) *out++ = added[d].row;
      } else {
        break;
      }
    }
    return out;
  }
};

}  // namespace espalier::engine
