// decimal_blocks.hpp - sums, differences and products of decimals, one block of rows at a time.
//
// Arrow materializes a column of 128-bit values per operation, and of 256-bit values if the declared digits could
// exceed 38. Few values need that many. Here a whole expression runs over blocks that fit the L1 cache, in 64 bits and,
// if a value does not fit, in 128 bits.
#pragma once

#include <arrow/type_fwd.h>

#include <functional>
#include <memory>

#include "engine/expr/expr.hpp"
#include "engine/expr/relation.hpp"

namespace espalier::engine {

/// Returns whether the expression is an addition, subtraction or multiplication with a decimal result.
[[nodiscard]] bool is_decimal_arithmetic(const expr& e);

/// Returns the values of such an expression for each row of the batch. `evaluate` computes operands that are not
/// arithmetic. Returns null if a value or an intermediate result has more than 38 digits or is close to that; the
/// caller then computes operation by operation and reports the one that fails.
[[nodiscard]] std::shared_ptr<arrow::Array> decimal_block_values(
    const expr_ptr& e, const batch& rows, const std::function<arrow::Datum(const expr_ptr&)>& evaluate);

}  // namespace espalier::engine
