// tables.cpp - `espalier tables`: lists the tables of a database.
#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/query/answer_output.hpp"
#include "cli/query/describe.hpp"
#include "cli/query/query_options.hpp"

namespace espalier::cli {
namespace {

struct tables_options : query_options {
  std::string table;
};

int run_tables(const tables_options& options) {
  require_output_outside_database(options);
  answer_output out(chosen_format(options), options.out);
  const auto db = open_database(options, database_use::must_exist);
  const auto printed = db.warnings().size();
  const auto found = options.table.empty() ? described_tables(db) : described_columns(db, options.table);
  (void)print_warnings(db, printed);
  out.rows(found);
  out.finish();
  return 0;
}

}  // namespace

void add_tables(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand("tables", "List the tables of a database, or the columns of one.");
  auto options = std::make_shared<tables_options>();
  command->add_option("TABLE", options->table, "Table whose columns to list");
  add_database_options(*command, *options, "Folder of the database");
  add_output_options(*command, *options);
  command->footer("Examples:\n  espalier tables --db shop\n  espalier tables orders --db shop --format json");
  command->callback([&chosen, options] { chosen = [options] { return run_tables(*options); }; });
}

}  // namespace espalier::cli
