// parameter_batch.hpp - executes a prepared statement once per row of a table of parameters.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "engine/statements/session.hpp"

namespace espalier::engine {

/// Implements `prepared::execute`. `parameters` is the number of parameters found when the statement was prepared.
[[nodiscard]] query_result run_batch(session& open, const ast::select& select, const arrow::Table& parameters);

}  // namespace espalier::engine
