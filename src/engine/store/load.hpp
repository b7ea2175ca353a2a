// load.hpp - from what a catalog names to tables in memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/store/row_files.hpp"
#include "engine/store/store.hpp"
#include "espalier/engine/progress.hpp"

namespace espalier::engine {

/// The rows of one table. Segments are read on all cores.
[[nodiscard]] table_version::pointer load_rows(mapped_files& files, const table_record& table, row_check check,
                                               const progress& tell);
/// A file that is missing or damaged is the `problem` of the index.
[[nodiscard]] loaded_index load_index_or_note(mapped_files& files, const index_record& index);
/// What such a problem means for the index: a sentence for somebody who only looks.
[[nodiscard]] std::string will_be_built_anew(std::string_view problem, std::string_view index, std::string_view table);
/// Rows and indexes whose files are damaged or missing have a `problem`.
[[nodiscard]] loaded_table load_table(mapped_files& files, const table_record& table, row_check check,
                                      const progress& tell);

}  // namespace espalier::engine
