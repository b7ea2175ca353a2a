// describe.hpp - what a database holds, as answers that can be printed like any other.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>

#include "espalier/engine/database.hpp"

namespace espalier::cli {

/// Tables with their rows, columns, bytes and indexes.
[[nodiscard]] std::shared_ptr<arrow::Table> described_tables(const engine::database& db);

/// Columns of one table; throws where there is none of that name.
[[nodiscard]] std::shared_ptr<arrow::Table> described_columns(const engine::database& db, const std::string& table);

/// Indexes of one table: columns, kind, device, memory.
[[nodiscard]] std::shared_ptr<arrow::Table> described_indexes(const engine::database& db, const std::string& table);

}  // namespace espalier::cli
