// parameter_batch.hpp - a prepared statement asked once for each row of a table of parameters.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>

#include "engine/statements/session.hpp"

namespace espalier::engine {

/// As `prepared::execute`. `parameters` are how many the statement has, as it was prepared.
[[nodiscard]] query_result run_batch(session& open, const ast::select& select, const arrow::Table& parameters);

}  // namespace espalier::engine
