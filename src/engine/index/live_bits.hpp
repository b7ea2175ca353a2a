// live_bits.hpp - the deleted rows of a table, for loops over all rows.
#pragma once

#include <arrow/buffer.h>

#include <cstdint>

#include "engine/table/table_version.hpp"

namespace espalier::engine {

/// An inline version of table_version::is_deleted. The table must outlive the view.
class live_bits_view {
 public:
  explicit live_bits_view(const table_version& table)
      : bits_(table.live_bits() ? table.live_bits()->data() : nullptr), masked_(bits_ ? table.masked_rows() : 0) {}

  [[nodiscard]] bool is_live(std::uint64_t row) const noexcept {
    return row >= masked_ || (bits_[row / 8] >> (row % 8) & 1) != 0;
  }

 private:
  const std::uint8_t* bits_;
  std::uint64_t masked_;
};

}  // namespace espalier::engine
