// index_shape.hpp - ranges of an index as the plan has them, as the index is asked them.
#pragma once

#include "engine/exec/evaluate.hpp"
#include "engine/plan/node.hpp"

namespace espalier::engine {

/// Constants as arrays of one value, or, for IN, of as many as the list has different ones.
[[nodiscard]] key_ranges shape_of(const index_range& range, const evaluation& values);

}  // namespace espalier::engine
