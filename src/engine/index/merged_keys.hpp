// merged_keys.hpp - updates saved keys to the current rows of their table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/index/ordered_keys.hpp"

namespace espalier::engine {

/// `saved` has the rows below `covered`, including those that were deleted since. The result has the current rows of
/// the table: without the deleted rows, and with the rows from `covered` on. Returns nothing if one of these does not
/// fit the encoder of `saved`. It sorts the new rows and then takes one pass over the keys.
[[nodiscard]] std::optional<ordered_keys> merged_keys(const ordered_keys& saved, const table_version& table,
                                                      std::uint64_t covered, std::span<const std::size_t> columns);

}  // namespace espalier::engine
