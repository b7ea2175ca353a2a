// describe.hpp - the contents of a database as results that can be printed like any other.
#pragma once

#include <arrow/type_fwd.h>

#include <memory>
#include <string>

#include "espalier/engine/database.hpp"

namespace espalier::cli {

/// Returns tables with their rows, columns, bytes and indexes.
[[nodiscard]] std::shared_ptr<arrow::Table> described_tables(const engine::database& db);

/// Returns the columns of a table. Throws if it does not exist.
[[nodiscard]] std::shared_ptr<arrow::Table> described_columns(const engine::database& db, const std::string& table);

/// Returns the indexes of a table: columns, kind, device, memory.
[[nodiscard]] std::shared_ptr<arrow::Table> described_indexes(const engine::database& db, const std::string& table);

}  // namespace espalier::cli
