// decimal_blocks.hpp - sums, differences and products of decimals, a block of rows at a time.
//
// Arrow makes a column of 128-bit values of each operation, and of 256-bit ones where the declared digits could exceed
// 38. Values hardly ever need that: here a whole expression runs over blocks that stay in a core's first cache, in 64
// bits, then, where a value does not fit, in 128 bits.
#pragma once

#include <arrow/type_fwd.h>

#include <functional>
#include <memory>

#include "engine/exec/relation.hpp"
#include "engine/sql/expr.hpp"

namespace espalier::engine {

/// An addition, subtraction or multiplication whose result is a decimal?
[[nodiscard]] bool is_decimal_arithmetic(const expr& e);

/// The values of such an expression for each row of the batch. `evaluate` gives the values of operands that are not
/// arithmetic themselves. Null where a value or an intermediate result has more than 38 digits (or comes near: the
/// caller then computes operation by operation, and reports which one fails).
[[nodiscard]] std::shared_ptr<arrow::Array> decimal_block_values(
    const expr_ptr& e, const batch& rows, const std::function<arrow::Datum(const expr_ptr&)>& evaluate);

}  // namespace espalier::engine
