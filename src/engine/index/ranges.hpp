// ranges.hpp - key ranges that an index is queried with, in batches that are encoded once for all kinds of indexes.
//
// table_index::ranges() creates a batch from Arrow arrays. The batch is valid for that index and its key encoding only:
// after the index was rebuilt, using it is an error.
#pragma once

#include <arrow/type_fwd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace espalier::engine {

/// The condition on the first key column after those in `equal`.
enum class key_condition : std::uint8_t {
  anything,  ///< no condition; NULL is included
  between,   ///< from `lo` to `hi`; without both it is IS NOT NULL
  prefix,    ///< a string that begins with `lo`
  is_null,
};

/// A batch of ranges of one shape: values for the first key columns, then a condition on the next one. Every array has
/// the stored type of its column (types.hpp: arrow_type) and one value per range, or a single one for all of them. A
/// NULL among the values makes a range empty, since a comparison with NULL is not true.
///
///   index over (a, b, c)     equal      condition
///   a = 1 AND b > 2          {1}        between, lo = 2, lo_inclusive = false
///   a = 1 AND b = 2          {1, 2}     anything
///   a LIKE 'x%'              {}         prefix, lo = 'x'
///   a IS NULL                {}         is_null
///   (all rows)               {}         anything
struct key_ranges {
  std::vector<std::shared_ptr<arrow::Array>> equal;
  key_condition condition = key_condition::anything;
  std::shared_ptr<arrow::Array> lo;  ///< null if unbounded
  std::shared_ptr<arrow::Array> hi;  ///< null if unbounded
  bool lo_inclusive = true;
  bool hi_inclusive = true;
};

class key_encoder;

/// Encoded ranges. For words, both bounds are inclusive, and lo > hi is an empty range. For bytes, lo is inclusive and
/// hi is exclusive.
class range_batch {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return n; }
  /// Appends the ranges of `more`, which belong to the same index.
  void append(const range_batch& more);

  /// Contiguous byte strings; n of them have n + 1 offsets.
  struct byte_ends {
    std::string bytes;
    std::vector<std::uint64_t> offsets{0};
    void add(std::string_view end);
    [[nodiscard]] std::string_view operator[](std::size_t i) const {
      return std::string_view(bytes).substr(offsets[i], offsets[i + 1] - offsets[i]);
    }
  };
  /// The kind of a range.
  enum class mark : std::uint8_t {
    ends,       ///< bounded by lo and hi
    from_lo,    ///< bytes: no upper bound
    empty,      ///< an empty range
    null_rows,  ///< the rows whose key is NULL (index on one column)
    every_row,  ///< all rows, including NULL keys
  };

  std::size_t n = 0;
  std::shared_ptr<const key_encoder> encoder;  ///< defines the meaning of the bounds
  std::vector<std::uint64_t> lo_words, hi_words;
  byte_ends lo_bytes, hi_bytes;
  std::vector<mark> marks;  ///< empty if every range is `ends`
  [[nodiscard]] mark mark_of(std::size_t i) const { return marks.empty() ? mark::ends : marks[i]; }
};

}  // namespace espalier::engine
