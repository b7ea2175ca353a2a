// merged_keys.hpp - saved keys brought up to the present rows of their table.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "engine/index/ordered_keys.hpp"

namespace espalier::engine {

/// `saved` holds the rows below `covered`, those that were deleted since included. The answer holds the rows that the
/// table has now: without the deleted ones, and with those from `covered` on. Nothing if one of these does not fit the
/// encoder of `saved`. One pass over the keys, after the new rows were sorted.
[[nodiscard]] std::optional<ordered_keys> merged_keys(const ordered_keys& saved, const table_version& table,
                                                      std::uint64_t covered, std::span<const std::size_t> columns);

}  // namespace espalier::engine
