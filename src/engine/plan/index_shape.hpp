// index_shape.hpp - converts index ranges of a plan to the form that an index takes.
#pragma once

#include "engine/expr/evaluate.hpp"
#include "engine/plan/node.hpp"

namespace espalier::engine {

/// Returns constants as arrays of one value or, for IN, of the distinct values of the list.
[[nodiscard]] key_ranges shape_of(const index_range& range, const evaluation& values);

}  // namespace espalier::engine
