// ordered_keys.hpp - the content from which an index is built and as which it is saved: sorted keys and their rows.
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

/// Immutable byte strings, owned or mapped.
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
  number_array words;    ///< words: one per row that has a key, ascending
  byte_strings strings;  ///< bytes: distinct keys, ascending
  number_array starts;   ///< bytes: key i has rows [starts[i], starts[i + 1]); empty: one row each
  number_array rows;     ///< in key order, rows of one key ascending; rows whose key is NULL are last
  std::uint64_t null_rows = 0;

  [[nodiscard]] std::uint64_t keyed_rows() const { return rows.size() - null_rows; }
};

/// Sorts the keys of all rows of the table (key i belongs to row i), without the deleted rows. Throws duplicate_key.
[[nodiscard]] ordered_keys order_rows(std::shared_ptr<const key_encoder> encoder, const encoded_keys& keys,
                                      const table_version& table, bool unique, const device& host);

/// Returns whether a key occurs twice. Not applicable to composite keys, which may be duplicates if they contain a
/// NULL.
[[nodiscard]] bool has_duplicates(const ordered_keys& keys);

/// Counts the rows of each range by binary search.
[[nodiscard]] std::vector<std::uint64_t> counts_in(const ordered_keys& keys, const range_batch& ranges);

void save_keys(const ordered_keys& keys, section_writer& to);
/// Loads keys that were saved when the table had the rows of `covers`. Checks sizes, order, and that each row that the
/// table had then and still has occurs once; rows that were deleted since may occur. Throws `damaged_file`.
[[nodiscard]] ordered_keys load_keys(const std::shared_ptr<const mapped_sections>& from, const table_version& table,
                                     const row_counts& covers, std::span<const std::size_t> columns);

}  // namespace espalier::engine
