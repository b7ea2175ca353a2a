// text_order.hpp - sorts rows by the bytes of their texts.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <vector>

#include "engine/keys/key_packer.hpp"

namespace espalier::engine {

/// Returns all rows of a string column in order. The sort is stable, also for NULLs.
[[nodiscard]] std::vector<std::int64_t> rows_in_text_order(const arrow::ChunkedArray& column, key_direction direction);

/// Returns each row's rank among the distinct texts of a column, counted from 0; NULLs have rank 0.
[[nodiscard]] std::vector<std::uint64_t> ranks_of_texts(const arrow::ChunkedArray& column);
/// Returns whether a sample of rows has so few distinct texts that numbering them by a hash table (normalized_keys.hpp)
/// is faster than sorting all.
[[nodiscard]] bool has_few_texts(const arrow::ChunkedArray& column);

}  // namespace espalier::engine
