// verify.cpp - `espalier verify`: every byte of a database, then every index against its table.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "bench/options.hpp"
#include "cli/commands.hpp"
#include "cli/query/progress_line.hpp"
#include "cli/query/query_options.hpp"
#include "engine/catalog.hpp"
#include "engine/store/store.hpp"

namespace espalier::cli {
namespace {

// What files say can be right and still not be an index of these rows.
void verify_indexes(const query_options& options, engine::verify_report& report) {
  const auto db = open_database(options, database_use::must_exist);
  for (const auto& table : db.tables().all()) {
    for (const auto& index : table->indexes) {
      const std::string problem = index->validate();
      if (problem.empty()) continue;
      report.problems.push_back(fmt::format("Index '{}' of table '{}': {}", index->spec().name, table->name, problem));
    }
  }
}

engine::verify_report verified_files(const query_options& options) {
  progress_line line;
  return engine::verify(options.db, {}, line.reporter());
}

int run_verify(const query_options& options) {
  auto report = verified_files(options);
  if (report.problems.empty()) verify_indexes(options, report);
  for (const auto& problem : report.problems) fmt::print(stderr, "espalier: {}\n", problem);
  if (!report.problems.empty()) {
    fmt::print("{}: {} {}\n", options.db, report.problems.size(), report.problems.size() == 1 ? "problem" : "problems");
    return 1;
  }
  fmt::print("{}: {} tables, {} rows, {} files, {} bytes: all is right\n", options.db, report.tables, report.rows,
             report.files, report.bytes);
  return 0;
}

}  // namespace

void add_verify(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand("verify", "Check every file and every index of a database.");
  auto options = std::make_shared<query_options>();
  command->add_option("DIR", options->db, "Folder of the database")->required();
  command->add_option("--device", options->device, "Where indexes are loaded: auto, cpu or gpu")->capture_default_str();
  command->callback([&chosen, options] { chosen = [options] { return run_verify(*options); }; });
}

}  // namespace espalier::cli
