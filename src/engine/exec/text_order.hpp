// text_order.hpp - rows in the bytewise order of their texts.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <vector>

#include "engine/exec/key_packer.hpp"

namespace espalier::engine {

/// All rows of a column of strings in order; rows with equal texts stay in their order, and so do NULLs.
[[nodiscard]] std::vector<std::int64_t> rows_in_text_order(const arrow::ChunkedArray& column, key_direction direction);

/// Each row's place among the different texts of a column, counted from 0; that of NULLs is 0.
[[nodiscard]] std::vector<std::uint64_t> ranks_of_texts(const arrow::ChunkedArray& column);
/// Do some rows, looked at here and there, have so few different texts that numbering them by a hash table (codes.hpp)
/// is faster than sorting all?
[[nodiscard]] bool has_few_texts(const arrow::ChunkedArray& column);

}  // namespace espalier::engine
