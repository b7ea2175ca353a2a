// key_encoder.hpp - encodes rows and ranges of an index as keys of its trees: words of 32 or 64 bits, or bytes.
//
// - One fixed-width column is encoded as its word (core/scalar.hpp). NULL has no word and is stored separately.
// - Several fixed-width columns are bit fields of one word, the first column on top, if all of them fit 64 bits. A
//   field stores the difference from a base, so its width follows from the values of the table; spare bits widen the
//   fields for later rows. NULL, if the column has any, is the field's highest code.
// - All other keys are bytes (core/byte_key.hpp). In a composite key, a column with NULLs starts with 00, or is 01 for
//   NULL.
//
// An encoder is created for the rows of an index and is immutable. Rows that do not fit it (a value outside a field,
// the first NULL of a column) need a new encoder, and thus a new index; encode() returns nothing for them.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/index/key_columns.hpp"
#include "engine/index/ranges.hpp"
#include "engine/types.hpp"

namespace espalier::engine {

enum class key_form : std::uint8_t { word32, word64, bytes };

/// A column of a key.
struct key_field {
  column_type type;
  bool has_null = false;   ///< NULL has a code; never set for an index on one column
  std::uint64_t base = 0;  ///< words: the least value
  unsigned bits = 0;       ///< words: width of the field
  unsigned shift = 0;      ///< words: number of bits below the field

  [[nodiscard]] std::uint64_t all_ones() const {
    return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  }
  [[nodiscard]] std::uint64_t last_code() const { return all_ones() - (has_null ? 1 : 0); }
  [[nodiscard]] std::uint64_t null_code() const { return all_ones(); }
};

/// Consecutive keys of rows.
struct encoded_keys {
  std::size_t size = 0;
  std::vector<std::uint64_t> words;
  range_batch::byte_ends bytes;
  std::vector<std::uint8_t> nulls;  ///< 1 if a column is NULL; empty if there are none

  [[nodiscard]] bool has_null(std::size_t i) const { return !nulls.empty() && nulls[i] != 0; }

  // Appends a key as a word or as bytes, according to the form.
  void add_word(std::uint64_t word) {
    words.push_back(word);
    ++size;
  }
  void add_bytes(std::string_view key) {
    bytes.add(key);
    ++size;
  }
  /// Appends keys that are NULL, for an index on one column.
  void add_nulls(std::size_t n) {
    if (n == 0) return;
    nulls.resize(size, 0);
    nulls.resize(size + n, 1);
    words.resize(words.size() + n, 0);
    for (std::size_t i = 0; i < n; ++i) bytes.add({});
    size += n;
  }
  /// Called after the last key was appended.
  void fill_marks() {
    if (!nulls.empty()) nulls.resize(size, 0);
  }
};

class key_encoder : public std::enable_shared_from_this<key_encoder> {
 public:
  using columns_of_rows = std::vector<std::shared_ptr<arrow::ChunkedArray>>;

  /// Returns an encoder for these rows, or null if `want_words` is set and the keys do not fit 64 bits.
  [[nodiscard]] static std::shared_ptr<const key_encoder> plan(const std::vector<column_type>& types,
                                                               const columns_of_rows& rows, bool want_words);
  /// Restores the encoder of a saved index and validates it.
  [[nodiscard]] static std::shared_ptr<const key_encoder> restore(key_form form, std::vector<key_field> fields);

  [[nodiscard]] key_form form() const noexcept { return form_; }
  [[nodiscard]] const std::vector<key_field>& fields() const noexcept { return fields_; }
  [[nodiscard]] bool is_composite() const noexcept { return fields_.size() > 1; }

  /// Returns nothing if a row does not fit.
  [[nodiscard]] std::optional<encoded_keys> encode(const columns_of_rows& rows) const;
  [[nodiscard]] range_batch ranges(const key_ranges& shape) const;
  /// Decodes keys that encode() returned. Floats lose the sign of zero.
  [[nodiscard]] std::vector<std::shared_ptr<arrow::Array>> decode(const encoded_keys& keys) const;

  key_encoder(key_form form, std::vector<key_field> fields) : form_(form), fields_(std::move(fields)) {}

 private:
  [[nodiscard]] std::optional<encoded_keys> encode_words(const std::vector<key_column>& columns, std::size_t n) const;
  [[nodiscard]] std::optional<encoded_keys> encode_bytes(const std::vector<key_column>& columns, std::size_t n) const;

  key_form form_;
  std::vector<key_field> fields_;
};

/// Appends a column to a byte key. `last` means that no column follows, so a string needs no terminator.
void append_key_column(std::string& out, const key_field& field, const key_column& column, std::size_t i, bool last);

}  // namespace espalier::engine
