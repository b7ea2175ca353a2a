// load.hpp - from what a catalog names to tables in memory.
#pragma once

#include <filesystem>
#include <vector>

#include "engine/progress.hpp"
#include "engine/store/row_files.hpp"
#include "engine/store/store.hpp"

namespace espalier::engine {

/// The rows of one table. Segments are read on all cores.
[[nodiscard]] table_version::pointer load_rows(const std::filesystem::path& folder, const table_record& table,
                                               row_check check, const progress& tell);
[[nodiscard]] loaded_index load_index(const std::filesystem::path& folder, const index_record& index);
/// Throws where rows cannot be read; indexes that cannot be have a `problem`.
[[nodiscard]] loaded_table load_table(const std::filesystem::path& folder, const table_record& table, row_check check,
                                      const progress& tell);

}  // namespace espalier::engine
