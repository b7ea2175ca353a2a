// ranges.hpp - questions to an index: which keys, asked in batches, encoded once for all kinds of indexes.
//
// A batch is made by table_index::ranges() from Arrow arrays. It belongs to that index and the codes of its keys: once
// the index has been built anew, it is refused, not misread.
#pragma once

#include <arrow/type_fwd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace espalier::engine {

/// What the first key column behind the `equal` ones has to be.
enum class key_condition : std::uint8_t {
  anything,  ///< no condition, NULL is fine
  between,   ///< from `lo` to `hi`; without either of them: IS NOT NULL
  prefix,    ///< a string that begins with `lo`
  is_null,
};

/// A batch of ranges of one shape: a value for each of the first key columns, then a condition on the next one. Every
/// array has the type that its column is stored as (types.hpp: arrow_type), and one value for each range, or a single
/// one for all of them. A NULL among the values makes a range empty, as a comparison with NULL is not true.
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
  std::shared_ptr<arrow::Array> lo;  ///< null: no lower end
  std::shared_ptr<arrow::Array> hi;  ///< null: no upper end
  bool lo_inclusive = true;
  bool hi_inclusive = true;
};

class key_encoder;

/// Ranges as an index searches them. Words: ends are inclusive, and lo > hi is empty. Bytes: lo is inclusive and hi is
/// not.
class range_batch {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return n; }
  /// These ranges, then those of `more`, of the same index.
  void append(const range_batch& more);

  /// Byte strings one behind the other; n of them have n + 1 offsets.
  struct byte_ends {
    std::string bytes;
    std::vector<std::uint64_t> offsets{0};
    void add(std::string_view end);
    [[nodiscard]] std::string_view operator[](std::size_t i) const {
      return std::string_view(bytes).substr(offsets[i], offsets[i + 1] - offsets[i]);
    }
  };
  /// What a range is, beside its ends.
  enum class mark : std::uint8_t {
    ends,       ///< as lo and hi say
    from_lo,    ///< bytes: there is no upper end
    empty,      ///< holds nothing
    null_rows,  ///< the rows whose key is NULL (indexes over one column)
    every_row,  ///< all of them, NULL or not
  };

  std::size_t n = 0;
  std::shared_ptr<const key_encoder> encoder;  ///< which knows what the ends mean
  std::vector<std::uint64_t> lo_words, hi_words;
  byte_ends lo_bytes, hi_bytes;
  std::vector<mark> marks;  ///< none at all: every one is `ends`
  [[nodiscard]] mark mark_of(std::size_t i) const { return marks.empty() ? mark::ends : marks[i]; }
};

}  // namespace espalier::engine
