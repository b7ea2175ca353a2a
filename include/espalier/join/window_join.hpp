// window_join.hpp - aggregates of the right rows in a window around each left row, and of the points in each span.
//
//   espalier::window_index volumes(prepared_quotes, {{bid_sizes}});
//   volumes.window_join({.on = trade_times, .by = symbols, .groups = 500}, {.preceding = 1s, .following = 0s},
//                       {{espalier::window_function::sum, 0, sums}});
//
// A window is two ranks in the sorted right side. Cost per left row does not depend on the number of rows in the
// window, and no pair of rows is made:
//   count      difference of ranks, or of prefix counts where values are NULL
//   sum, avg   difference of prefix sums. Integers: exact, 64 bits if the sum of all absolute values fits, else 128.
//              f32 and f64: double-double prefix sums (about 106 bits) over blocks of 4,096 rows, so that the result
//              does not depend on the number of threads. The absolute error is at most 2^-53 |result| + n 2^-104 S,
//              where S is the sum of the absolute values of all n right rows. Infinities and NaN are counted apart:
//              they affect only the windows that contain them.
//   min, max   a sparse table over blocks of 32 values, and the extremes from each value to both ends of its block
//   first, last  the row itself: its number, for gather_column()
// Bytes per right row, beyond the prepared side: sum 8 or 16; min and max 8 for the values, and 16 and
// 8 log2(n / 32) / 32 each.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

#include "espalier/join/gather.hpp"
#include "espalier/join/prepared_side.hpp"

namespace espalier {

enum class window_function : std::uint8_t {
  count_rows,  ///< rows, as count(*); u64
  count,       ///< values that are not NULL; u64
  sum,         ///< of integers int128 or, if the output has 8 bytes, i64; of f32 and f64 double
  min,         ///< of the column's type; NaN is greater than other values, as in PostgreSQL
  max,         ///< likewise
  avg,         ///< double
  first,       ///< row_number of the first row, in key order, whose value is not NULL
  last,        ///< likewise of the last row
};

/// The window [t - preceding, t + following] of a left row with key t. Distances may be negative; without a value the
/// end is unbounded. Ends saturate at the limits of the key type, so no key is lost to an overflow.
struct window_bounds {
  std::optional<key_distance> preceding = {};
  std::optional<key_distance> following = {};
  bool includes_first = true;  ///< false: the lower end is open
  bool includes_last = true;   ///< false: the upper end is open
};

/// One result column. NULL values are skipped. Where no value is in the window, counts are 0, rows are no_row, and the
/// other results are zero bytes whose validity bit is 0.
struct window_output {
  window_function function = window_function::count_rows;
  std::size_t column = 0;  ///< which value column; count_rows uses none
  void* data = nullptr;    ///< one element per left row
  std::size_t size = 0;
  unsigned width = 0;                     ///< bytes of an element
  std::span<std::uint8_t> validity = {};  ///< empty, or (size + 7) / 8 bytes: bits, least significant first

  window_output() = default;
  template <class T>
  window_output(window_function function_, std::size_t column_, std::span<T> out,
                std::span<std::uint8_t> validity_ = {})
      : function(function_),
        column(column_),
        data(out.data()),
        size(out.size()),
        width(sizeof(T)),
        validity(validity_) {}
};

/// Value columns over a prepared side, ready for aggregates over ranks. Move-only. Thread-safe: all methods are const.
/// Lifetime: the prepared side must outlive it and must not be changed.
class window_index {
 public:
  /// Columns have one value for each row of the side. Structures for `functions` are made for every column. Throws
  /// `error` if the side has appended rows that are not compacted.
  window_index(const prepared_side& side, std::span<const column_view> columns,
               std::span<const window_function> functions, const stream& s = {});
  window_index(const prepared_side& side, std::initializer_list<column_view> columns,
               std::initializer_list<window_function> functions, const stream& s = {})
      : window_index(side, std::span(columns.begin(), columns.size()), std::span(functions.begin(), functions.size()),
                     s) {}
  window_index(window_index&&) noexcept;
  window_index& operator=(window_index&&) noexcept;
  ~window_index();

  /// Aggregates over the window of each left row. A left row whose key is NULL or NaN has an empty window.
  void window_join(const join_side& left, const window_bounds& bounds, std::span<const window_output> outputs,
                   const stream& s = {}) const;
  void window_join(const join_side& left, const window_bounds& bounds, std::initializer_list<window_output> outputs,
                   const stream& s = {}) const {
    window_join(left, bounds, std::span(outputs.begin(), outputs.size()), s);
  }
  [[nodiscard]] std::size_t bytes() const noexcept;

  /// The implementation, for the joins of this folder.
  class implementation;
  explicit window_index(std::unique_ptr<implementation> made);
  [[nodiscard]] const implementation& get() const noexcept { return *implementation_; }

 private:
  std::unique_ptr<implementation> implementation_;
};

/// As window_index::window_join(), with a right side that is used once. Sorted keys of the right side are not copied.
/// On a GPU, every array may be in its memory or in host memory; results are those of the CPU bit by bit, and are
/// complete when the call returns. A prepared side, and so a window_index, is of a CPU.
void window_join(const join_side& left, const join_side& right, std::span<const column_view> columns,
                 const window_bounds& bounds, std::span<const window_output> outputs, const device& dev = device::cpu(),
                 const stream& s = {});

}  // namespace espalier
