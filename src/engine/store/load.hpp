// load.hpp - loads the tables that a catalog names into memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/store/row_files.hpp"
#include "engine/store/store.hpp"
#include "espalier/engine/progress.hpp"

namespace espalier::engine {

/// Loads the rows of one table. Segments are read on all cores.
[[nodiscard]] table_version::pointer load_rows(mapped_files& files, const table_record& table, row_check check,
                                               const progress& tell);
/// If the file is missing or damaged, `problem` of the index is set.
[[nodiscard]] loaded_index load_index_or_note(mapped_files& files, const index_record& index);
/// Returns the message that describes such a problem to the user: the index will be rebuilt.
[[nodiscard]] std::string rebuild_notice(std::string_view problem, std::string_view index, std::string_view table);
/// If files of rows or indexes are damaged or missing, `problem` is set.
[[nodiscard]] loaded_table load_table(mapped_files& files, const table_record& table, row_check check,
                                      const progress& tell);

}  // namespace espalier::engine
