// ordered_keys.hpp - what an index is made from and saved as: keys in order, and the rows that have them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/index/key_encoder.hpp"
#include "engine/index/number_array.hpp"
#include "engine/table/row_counts.hpp"
#include "espalier/device/device.hpp"

namespace espalier::engine {

class mapped_sections;
class section_writer;
class table_version;

/// Byte strings that do not change, owned or mapped.
struct byte_strings {
  std::string_view bytes;
  std::span<const std::uint64_t> offsets;  ///< one more than there are strings
  std::shared_ptr<const void> hold;

  [[nodiscard]] std::size_t size() const { return offsets.empty() ? 0 : offsets.size() - 1; }
  [[nodiscard]] std::string_view operator[](std::size_t i) const {
    return bytes.substr(offsets[i], offsets[i + 1] - offsets[i]);
  }
};

struct ordered_keys {
  std::shared_ptr<const key_encoder> encoder;
  number_array words;    ///< words: one for each row that has a key, ascending
  byte_strings strings;  ///< bytes: each key once, ascending
  number_array starts;   ///< bytes: key i has rows [starts[i], starts[i + 1]); empty: one row each
  number_array rows;     ///< in the order of keys, rows of one key ascending; then those whose key is NULL
  std::uint64_t null_rows = 0;

  [[nodiscard]] std::uint64_t keyed_rows() const { return rows.size() - null_rows; }
};

/// Keys of all rows of the table (key i is that of row i), in order, without the deleted ones. Throws duplicate_key.
[[nodiscard]] ordered_keys order_rows(std::shared_ptr<const key_encoder> encoder, const encoded_keys& keys,
                                      const table_version& table, bool unique, const device& host);

/// Is a key there twice? Of composite keys nothing is said: with a NULL in them they may be.
[[nodiscard]] bool has_duplicates(const ordered_keys& keys);

/// How many rows each range has, by binary search.
[[nodiscard]] std::vector<std::uint64_t> counts_in(const ordered_keys& keys, const range_batch& ranges);

void save_keys(const ordered_keys& keys, section_writer& to);
/// Keys that were saved when the table had the rows of `covers`. Checks sizes, order, and that each row that the table
/// had then and has now is there once; rows that were deleted since may be there. Throws `damaged_file`.
[[nodiscard]] ordered_keys load_keys(const std::shared_ptr<const mapped_sections>& from, const table_version& table,
                                     const row_counts& covers, std::span<const std::size_t> columns);

}  // namespace espalier::engine
