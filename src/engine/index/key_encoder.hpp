// key_encoder.hpp - rows and ranges of an index as its trees see them: words of 32 or 64 bits, or bytes.
//
//   one fixed-width column     its word (core/scalar.hpp); NULL has none and is kept aside
//   several of them            a field of bits each, the first on top, if all fit 64 bits. A field counts from a base,
//   so its
//                              width follows from the values that are there, with what is left over as room to grow;
//                              NULL, if the column has any, is the field's highest code
//   anything else              bytes (core/byte_key.hpp); in composites a column with NULLs begins with 00, or is 01
//   for NULL
//
// An encoder is made for the rows of an index and never changes. Rows that do not fit it (a value outside a field, a
// first NULL) need another encoder, and with it another index: encode() says so.
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
  bool has_null = false;   ///< NULL has a code; never in an index over one column
  std::uint64_t base = 0;  ///< words: the lowest value
  unsigned bits = 0;       ///< words: width of the field
  unsigned shift = 0;      ///< words: bits below it

  [[nodiscard]] std::uint64_t all_ones() const {
    return bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  }
  [[nodiscard]] std::uint64_t last_code() const { return all_ones() - (has_null ? 1 : 0); }
  [[nodiscard]] std::uint64_t null_code() const { return all_ones(); }
};

/// Keys of rows, one after the other.
struct encoded_keys {
  std::size_t size = 0;
  std::vector<std::uint64_t> words;
  range_batch::byte_ends bytes;
  std::vector<std::uint8_t> nulls;  ///< 1: some column is NULL; empty: none is

  [[nodiscard]] bool has_null(std::size_t i) const { return !nulls.empty() && nulls[i] != 0; }

  // One after the other; words or bytes, as the form is.
  void add_word(std::uint64_t word) {
    words.push_back(word);
    ++size;
  }
  void add_bytes(std::string_view key) {
    bytes.add(key);
    ++size;
  }
  /// Keys that are NULL, of an index over one column.
  void add_nulls(std::size_t n) {
    if (n == 0) return;
    nulls.resize(size, 0);
    nulls.resize(size + n, 1);
    words.resize(words.size() + n, 0);
    for (std::size_t i = 0; i < n; ++i) bytes.add({});
    size += n;
  }
  /// When all are there.
  void fill_marks() {
    if (!nulls.empty()) nulls.resize(size, 0);
  }
};

class key_encoder : public std::enable_shared_from_this<key_encoder> {
 public:
  using columns_of_rows = std::vector<std::shared_ptr<arrow::ChunkedArray>>;

  /// For these rows. None if `want_words` and they do not fit 64 bits.
  [[nodiscard]] static std::shared_ptr<const key_encoder> plan(const std::vector<column_type>& types,
                                                               const columns_of_rows& rows, bool want_words);
  /// Of an index that was saved; checked.
  [[nodiscard]] static std::shared_ptr<const key_encoder> restore(key_form form, std::vector<key_field> fields);

  [[nodiscard]] key_form form() const noexcept { return form_; }
  [[nodiscard]] const std::vector<key_field>& fields() const noexcept { return fields_; }
  [[nodiscard]] bool is_composite() const noexcept { return fields_.size() > 1; }

  /// Nothing if a row does not fit.
  [[nodiscard]] std::optional<encoded_keys> encode(const columns_of_rows& rows) const;
  [[nodiscard]] range_batch ranges(const key_ranges& shape) const;
  /// The columns of keys that encode() made; floats lose the sign of zero.
  [[nodiscard]] std::vector<std::shared_ptr<arrow::Array>> decode(const encoded_keys& keys) const;

  key_encoder(key_form form, std::vector<key_field> fields) : form_(form), fields_(std::move(fields)) {}

 private:
  [[nodiscard]] std::optional<encoded_keys> encode_words(const std::vector<key_column>& columns, std::size_t n) const;
  [[nodiscard]] std::optional<encoded_keys> encode_bytes(const std::vector<key_column>& columns, std::size_t n) const;

  key_form form_;
  std::vector<key_field> fields_;
};

/// Appends a column to a byte key; `last`: nothing follows, so a string needs no end.
void append_key_column(std::string& out, const key_field& field, const key_column& column, std::size_t i, bool last);

}  // namespace espalier::engine
