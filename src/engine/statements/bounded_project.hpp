// bounded_project.hpp - the rows of a plan, with text columns in chunks that an array can hold.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "engine/plan/node.hpp"

namespace espalier::engine {

/// As `executor::table`. Expressions of the topmost projection are evaluated for few rows at a time where their text
/// could exceed `most_text_bytes` (table/text_limit.hpp): kernels count text bytes in 32 bits and do not notice an
/// overflow. A value that does not fit by itself is refused.
[[nodiscard]] std::shared_ptr<arrow::Table> bounded_rows(plan_node& plan);

}  // namespace espalier::engine
