// text_pieces.hpp - columns with more text than one Arrow array can hold.
//
// Offsets of text have 32 bits. A column of a relation may have more text, in several chunks; a batch, on which
// expressions are evaluated, may not. Whatever makes an array of text checks it here before it is used, and a loop over
// rows that meets `text_overflow` goes on with half as many rows at a time. A single text that is too long is refused.
// The limit is that of table/text_limit.hpp, which tests lower.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "engine/sql/error.hpp"

namespace arrow {
struct Datum;
}

namespace espalier::engine {

/// The text of some rows does not fit one array: to be tried again with fewer rows. Of one row it is the refusal
/// (54000).
class text_overflow : public coded_refusal {
 public:
  explicit text_overflow(int position);
};

/// Bytes of text; 0 of other types.
[[nodiscard]] std::int64_t text_bytes(const arrow::Array& values);
[[nodiscard]] std::int64_t text_bytes(const arrow::ChunkedArray& column);
/// The same of a value that stands for `rows` rows if it is a scalar.
[[nodiscard]] std::int64_t text_bytes(const arrow::Datum& values, std::int64_t rows);

/// Throws `text_overflow` where so much text does not fit one array.
void require_text_fits(std::int64_t bytes, int position);
/// The same of what a kernel has made, whose offsets may have wrapped.
void require_sound_text(const arrow::Datum& values, int position);
/// Throws where an expression has not made values of this type, as many as there are rows, with text that fits.
void require_values(const arrow::Datum& values, const arrow::DataType& type, std::int64_t rows, int position);

/// Calls body(begin, count) for rows [begin, begin + count), or for parts of them one after the other where it throws
/// `text_overflow`. What a call has done before it throws has to be undone by `body`.
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

/// The column, or parts of it one after the other whose text fits one array each.
[[nodiscard]] std::vector<std::shared_ptr<arrow::ChunkedArray>> fitting_columns(
    const std::shared_ptr<arrow::ChunkedArray>& column);

/// How much text a batch has at most, if it has more than one row.
[[nodiscard]] std::int64_t most_text_of_a_batch();

/// Values one after the other, in chunks that hold their text.
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
