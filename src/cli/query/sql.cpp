// sql.cpp - `espalier sql`: a script, one statement, or a shell.
#include <unistd.h>

#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/query/query_options.hpp"
#include "cli/query/shell.hpp"
#include "cli/query/statement_runner.hpp"

namespace espalier::cli {
namespace {

struct sql_options : query_options {
  std::string file;
  std::string command;
  bool timing = false;
};

int run_sql(const sql_options& options) {
  const bool interactive = options.file.empty() && options.command.empty() && ::isatty(STDIN_FILENO) != 0;
  std::string script;
  if (!interactive)
    script = statement_text(options.file.empty() && options.command.empty() ? "-" : options.file, options.command);
  answer_output out(chosen_format(options), options.out);
  auto db = open_database(options, database_use::may_be_made);
  if (interactive) {
    run_shell(db, out);
  } else {
    statement_runner runner(db, out);
    runner.timing = options.timing;
    try {
      runner.run(script);
    } catch (const engine::sql_error& e) {
      report_failure(e);
      return 1;
    }
  }
  out.finish();
  return 0;
}

}  // namespace

void add_sql(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand("sql", "Ask SQL: a script, one statement with -c, or a shell.");
  auto options = std::make_shared<sql_options>();
  command->add_option("FILE", options->file, "Script to run; - for standard input");
  command->add_option("-c,--command", options->command, "Statements to run");
  command->add_flag("--timing", options->timing, "Say after each statement how long it took");
  add_database_options(*command, *options, "Folder of the database; without it tables live in memory until the end");
  add_output_options(*command, *options);
  command->footer(
      "Examples:\n  espalier sql --db shop\n  espalier sql --db shop report.sql --out report.csv\n"
      "  espalier sql -c \"SELECT count(*) FROM read_parquet('orders-*.parquet')\"");
  command->callback([&chosen, options] { chosen = [options] { return run_sql(*options); }; });
}

}  // namespace espalier::cli
