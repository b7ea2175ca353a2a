// text_pieces.hpp - columns with more text than one Arrow array can hold.
//
// Text offsets have 32 bits. A column of a relation may have more text, in several chunks; a batch, on which
// expressions are evaluated, may not. Code that creates an array of text checks it here before it is used, and a loop
// over rows that catches `text_overflow` continues with half as many rows at a time. A single text that is too long is
// refused. The limit is defined in table/text_limit.hpp; tests lower it.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/error.hpp"

namespace arrow {
struct Datum;
}

namespace espalier::engine {

/// The text of some rows does not fit one array, and the operation should be retried with fewer rows. For a single row
/// it is the final error (54000).
class text_overflow : public coded_refusal {
 public:
  explicit text_overflow(int position);
};

/// Returns the bytes of text; 0 for other types.
[[nodiscard]] std::int64_t text_bytes(const arrow::Array& values);
[[nodiscard]] std::int64_t text_bytes(const arrow::ChunkedArray& column);
/// The same for a datum; a scalar counts for each of `rows` rows.
[[nodiscard]] std::int64_t text_bytes(const arrow::Datum& values, std::int64_t rows);

/// Throws `text_overflow` if that many bytes do not fit one array.
void require_text_fits(std::int64_t bytes, int position);
/// The same for the result of a kernel, whose offsets may have wrapped.
void require_sound_text(const arrow::Datum& values, int position);
/// Throws unless `values` has this type, one value per row, and text that fits.
void require_values(const arrow::Datum& values, const arrow::DataType& type, std::int64_t rows, int position);

/// Calls body(begin, count) for rows [begin, begin + count), or for consecutive parts of them if it throws
/// `text_overflow`. `body` has to undo its side effects before it throws.
template <class Body>
void in_fitting_parts(std::int64_t begin, std::int64_t count, const Body& body) {
  try {
    body(begin, count);
    return;
  } catch (const text_overflow&) {
    if (count <= 1) throw;
  }
  in_fitting_parts(begin, count / 2, body);
  in_fitting_parts(begin + count / 2, count - count / 2, body);
}

/// Returns the column, or consecutive parts of it whose text fits one array each.
[[nodiscard]] std::vector<std::shared_ptr<arrow::ChunkedArray>> fitting_columns(
    const std::shared_ptr<arrow::ChunkedArray>& column);

/// Returns the maximum bytes of text in a batch of more than one row.
[[nodiscard]] std::int64_t most_text_of_a_batch();

/// Appends values to chunks whose text fits.
class chunk_builder {
 public:
  explicit chunk_builder(std::shared_ptr<arrow::DataType> type);
  ~chunk_builder();

  void append(const arrow::Scalar& value, int position);
  void append_text(std::string_view text, int position);
  void append_null();
  [[nodiscard]] std::shared_ptr<arrow::ChunkedArray> finish();

 private:
  void make_room(std::int64_t bytes, int position);

  struct parts;
  std::unique_ptr<parts> parts_;
};

}  // namespace espalier::engine
