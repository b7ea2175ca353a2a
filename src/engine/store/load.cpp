#include "engine/store/load.hpp"

#include <arrow/buffer.h>
#include <arrow/record_batch.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/parallel.hpp"
#include "engine/store/folder.hpp"

namespace espalier::engine {

table_version::pointer load_rows(mapped_files& files, const table_record& table, row_check check,
                                 const progress& tell) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> segments(table.segments.size());
  // Files are read in groups, so that progress is reported from this thread.
  const std::size_t at_once = 4 * parallel_width();
  for (std::size_t first = 0; first < segments.size(); first += at_once) {
    if (tell) tell("opening " + table.name, first, segments.size());
    std::vector<std::shared_ptr<mapped_file>> mapped;
    for (std::size_t i = first; i < std::min(first + at_once, segments.size()); ++i) {
      mapped.push_back(files.take(table.segments[i]));
    }
    parallel_for(mapped.size(), [&](std::size_t i) {
      const auto& file = table.segments[first + i];
      segments[first + i] = read_segment(std::move(mapped[i]), files.path_of(file), file, check);
    });
  }
  std::shared_ptr<arrow::Buffer> live;
  if (table.live) live = read_live(files, *table.live);
  try {
    return table_version::restored(table.columns, std::move(segments), std::move(live),
                                   table.live ? table.live->rows : 0);
  } catch (const error& e) {
    throw damaged_file(files.folder() / catalog_file_name, e.what());
  }
}

namespace {

loaded_index load_index(mapped_files& files, const index_record& index) {
  loaded_index loaded{index.name, index.spec, nullptr};
  loaded.covers = index.covers;
  if (index.file) {
    const auto path = files.path_of(*index.file);
    loaded.sections = mapped_sections::open(files.take(*index.file), path, index_file_kind);
    if (loaded.sections->checksum() != index.file->checksum) {
      throw damaged_file(path, "it is not the one that the catalog names");
    }
  }
  return loaded;
}

}  // namespace

loaded_index load_index_or_note(mapped_files& files, const index_record& index) {
  loaded_index noted{index.name, index.spec, nullptr};
  if (index.file && !files.has(*index.file)) {
    noted.problem = fmt::format("'{}' is missing", files.path_of(*index.file).string());
    return noted;
  }
  try {
    return load_index(files, index);
  } catch (const damaged_file& e) {
    noted.problem = e.finding();
  }
  return noted;
}

std::string rebuild_notice(std::string_view problem, std::string_view index, std::string_view table) {
  return fmt::format("{}: the next command that uses the database rebuilds index '{}' of table '{}'.", problem, index,
                     table);
}

loaded_table load_table(mapped_files& files, const table_record& table, row_check check, const progress& tell) {
  loaded_table loaded{table.name, table.about, nullptr, {}};
  try {
    loaded.rows = load_rows(files, table, check, tell);
  } catch (const engine_error& e) {
    if (e.kind() != error_kind::damaged && e.code().sqlstate != codes::undefined_file.sqlstate) throw;
    loaded.problem = fmt::format("Table '{}' cannot be read: {}", table.name, e.what());
    return loaded;
  }
  auto used = std::make_shared<table_files>(table.name);
  for (const auto& segment : table.segments) used->add(files.take(segment));
  for (const auto& index : table.indexes) loaded.indexes.push_back(load_index_or_note(files, index));
  loaded.files = std::move(used);
  return loaded;
}

}  // namespace espalier::engine
