#include <fmt/format.h>

#include "engine/stop.hpp"
#include "engine/store/catalog_file.hpp"
#include "engine/store/folder.hpp"
#include "engine/store/load.hpp"
#include "engine/store/row_files.hpp"
#include "engine/store/store.hpp"

namespace espalier::engine {
namespace {

using index_check = std::function<std::string(const loaded_table&, const loaded_index&)>;

// Runs `look` and records the error that it throws, so that one damaged file does not hide the next.
template <class Look>
bool noted(verify_report& report, const Look& look) {
  try {
    look();
    return true;
  } catch (const query_cancelled&) {
    throw;
  } catch (const std::exception& e) {
    report.problems.emplace_back(e.what());
    return false;
  }
}

void verify_index(mapped_files& files, const loaded_table& table, const index_record& record, const index_check& check,
                  verify_report& report) {
  noted(report, [&] {
    auto index = load_index_or_note(files, record);
    try {
      if (index.sections) index.sections->check_all();
    } catch (const damaged_file& e) {
      index.problem = e.finding();
    }
    if (!index.problem.empty()) {
      report.problems.push_back(rebuild_notice(index.problem, record.name, table.name));
      return;
    }
    const std::string problem = check && table.rows ? check(table, index) : std::string();
    if (!problem.empty()) {
      report.problems.push_back(fmt::format("Index '{}' of table '{}': {}", record.name, table.name, problem));
    }
  });
}

void verify_table(mapped_files& files, const table_record& record, const index_check& check, const progress& tell,
                  verify_report& report) {
  bool all_segments = true;
  for (std::size_t i = 0; i < record.segments.size(); ++i) {
    if (tell) tell("checking " + record.name, i, record.segments.size());
    all_segments &= noted(report, [&] { (void)read_segment(files, record.segments[i], row_check::full); });
  }
  if (record.live) all_segments &= noted(report, [&] { (void)read_live(files, *record.live); });
  loaded_table table{record.name, record.about, nullptr, {}};
  if (all_segments) {
    noted(report, [&] { table.rows = load_rows(files, record, row_check::quick, {}); });
  }
  if (table.rows) report.rows += table.rows->live_rows();
  for (const auto& index : record.indexes) verify_index(files, table, index, check, report);
}

verify_report verified(const std::filesystem::path& folder, const index_check& check, const progress& tell) {
  verify_report report;
  noted(report, [&] {
    const auto catalog = read_catalog(folder);
    report.tables = catalog.tables.size();
    report.unnamed_files = unknown_files_in(contents_of(folder), catalog);
    for (const auto& file : files_of(catalog)) {
      ++report.files;
      report.bytes += file.bytes;
    }
    mapped_files files(folder);
    for (const auto& table : catalog.tables) verify_table(files, table, check, tell, report);
  });
  return report;
}

}  // namespace

verify_report verify(const std::filesystem::path& folder, const index_check& check, const progress& tell) {
  require_database(folder);
  constexpr int most_attempts = 10;
  for (int attempt = 1;; ++attempt) {
    const std::string header = catalog_header(folder);
    auto report = verified(folder, check, tell);
    // Another process may commit meanwhile and remove files of the state being checked.
    if (report.problems.empty() || attempt == most_attempts || catalog_header(folder) == header) return report;
  }
}

}  // namespace espalier::engine
