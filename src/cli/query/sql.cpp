// sql.cpp - `espalier sql`: runs a script, one statement, or a shell.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "cli/query/command_runner.hpp"
#include "cli/query/query_options.hpp"
#include "cli/query/script.hpp"
#include "cli/query/shell.hpp"
#include "cli/query/statement_runner.hpp"

namespace espalier::cli {
namespace {

struct sql_options : query_options {
  std::string file;
  std::string command;
  bool timing = false;
  bool create = false;
  bool single_transaction = false;
};

bool creates_a_table(const engine::script_statement& statement) {
  std::istringstream words(statement.text);
  std::string first, second;
  words >> first >> second;
  for (auto* const word : {&first, &second}) {
    std::ranges::transform(*word, word->begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  }
  return first == "create" && second == "table";
}

// A misspelt --db must not create a database; that requires --create or CREATE TABLE.
void require_database_or_create(const sql_options& options, const std::string& script) {
  if (options.db.empty() || options.create || std::filesystem::exists(options.db)) return;
  const auto creates = [&](const script_part& part) {
    const auto text = std::string_view(script).substr(part.begin, part.end - part.begin);
    return !part.command && std::ranges::any_of(engine::split_script(text), creates_a_table);
  };
  if (!options.read_only && std::ranges::any_of(script_parts(script), creates)) return;
  throw bad_arguments(fmt::format("--db: there is no database '{}'; add --create to make one.", options.db));
}

// A command that fails ends the script, as a statement does.
void run_script(engine::database& db, answer_output& out, const std::string& script, bool timing) {
  statement_runner statements(db, out);
  command_runner commands(db, out, statements);
  statements.timing = timing;
  for (const auto& part : script_parts(script)) {
    if (!part.command) {
      statements.run(script, part.begin, part.end);
      continue;
    }
    try {
      commands.run(*part.command);
    } catch (const engine::engine_error&) {
      throw;
    } catch (const error& e) {
      throw engine::sql_error(e.what(), script, part.begin, engine::codes::syntax_error);
    }
    if (commands.ended()) return;
  }
}

// With `single`, the statements of a script are executed as one transaction.
void run_statements(engine::database& db, answer_output& out, const std::string& script, bool single, bool timing) {
  if (single) db.execute("BEGIN");
  run_script(db, out, script, timing);
  if (single) {
    for (const auto& notice : db.execute("COMMIT").notices) fmt::print(stderr, "espalier: warning: {}\n", notice);
  }
  if (db.transaction() == engine::transaction_status::none) return;
  fmt::print(stderr, "espalier: warning: The script ended inside a transaction, which was rolled back.\n");
  db.execute("ROLLBACK");
}

int run_sql(const sql_options& options) {
  const bool interactive = options.file.empty() && options.command.empty() && ::isatty(STDIN_FILENO) != 0;
  if (interactive && options.single_transaction) {
    throw bad_arguments("--single-transaction is for scripts; type BEGIN in the shell.");
  }
  std::string script;
  if (!interactive)
    script = statement_text(options.file.empty() && options.command.empty() ? "-" : options.file, options.command);
  try {
    require_database_or_create(options, script);
  } catch (const engine::sql_error& e) {
    report_failure(e);
    return 1;
  }
  require_output_outside_database(options);
  answer_output out(chosen_format(options), options.out);
  auto db = open_database(options, database_use::may_be_made);
  if (interactive) {
    run_shell(db, out);
  } else {
    try {
      run_statements(db, out, script, options.single_transaction, options.timing);
    } catch (const engine::sql_error& e) {
      report_failure(e);
      return 1;
    }
  }
  out.finish();
  save_indexes_or_warn(db);
  return 0;
}

}  // namespace

void add_sql(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand("sql", "Ask SQL: a script, one statement with -c, or a shell.");
  auto options = std::make_shared<sql_options>();
  command->add_option("FILE", options->file, "Script to run; - for standard input")
      ->check(not_empty("the name of a script"));
  command->add_option("-c,--command", options->command, "Statements to run")->check(not_empty("a statement"));
  command->add_flag("--timing", options->timing, "Say after each statement how long it took");
  command->add_flag("-1,--single-transaction", options->single_transaction,
                    "Run all statements in one transaction: one commit at the end, and none if a statement fails");
  command->add_flag("--create", options->create, "Make the database in --db if there is none");
  add_database_options(*command, *options, "Folder of the database; without it tables live in memory until the end");
  add_output_options(*command, *options);
  command->footer(
      "Examples:\n  espalier sql --db shop\n  espalier sql --db shop report.sql --out report.csv\n"
      "  espalier sql -c \"SELECT count(*) FROM read_parquet('orders-*.parquet')\"");
  command->callback([&chosen, options] { chosen = [options] { return run_sql(*options); }; });
}

}  // namespace espalier::cli
