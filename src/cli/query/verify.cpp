// verify.cpp - `espalier verify`: checks every byte of a database, then every index against its table.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <string_view>

#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "cli/query/progress_line.hpp"
#include "cli/query/query_options.hpp"
#include "engine/catalog.hpp"
#include "engine/store/store.hpp"

namespace espalier::cli {
namespace {

struct verify_options : query_options {
  std::string folder;
};

std::string counted(std::uint64_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

// Files can be intact and still not contain an index of these rows.
void verify_indexes(const query_options& options, engine::verify_report& report) {
  const auto db = open_database(options, database_use::must_be_whole);
  for (const auto& table : db.tables().all()) {
    for (const auto& index : table->indexes) {
      const std::string problem = index->validate();
      if (problem.empty()) continue;
      report.problems.push_back(
          fmt::format("The index '{}' of the table '{}' is wrong ({}): drop it and create it again.",
                      index->spec().name, table->name, problem));
    }
  }
}

engine::verify_report verified_files(const query_options& options) {
  progress_line line;
  return engine::verify(options.db, {}, line.reporter());
}

int run_verify(verify_options options) {
  if (options.folder.empty() == options.db.empty()) {
    throw bad_arguments("Name the database's folder once: espalier verify DIR, or --db DIR.");
  }
  if (options.db.empty()) options.db = options.folder;
  options.read_only = true;
  auto report = verified_files(options);
  if (report.problems.empty()) verify_indexes(options, report);
  for (const auto& problem : report.problems) fmt::print(stderr, "espalier: {}\n", problem);
  for (const auto& name : report.unnamed_files) {
    fmt::print("{}: {} is not named by the catalog; it is kept\n", options.db, name);
  }
  if (!report.problems.empty()) {
    fmt::print("{}: {}\n", options.db, counted(report.problems.size(), "problem"));
    return 1;
  }
  fmt::print("{}: {}, {}, {}, {}: all is right\n", options.db, counted(report.tables, "table"),
             counted(report.rows, "row"), counted(report.files, "file"), counted(report.bytes, "byte"));
  return 0;
}

}  // namespace

void add_verify(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand("verify", "Check every file and every index of a database.");
  auto options = std::make_shared<verify_options>();
  command->add_option("DIR", options->folder, "Folder of the database");
  add_database_options(*command, *options, "The same, as other commands name it");
  command->footer("Example:\n  espalier verify shop");
  command->callback([&chosen, options] { chosen = [options] { return run_verify(*options); }; });
}

}  // namespace espalier::cli
