// explain.cpp - `espalier explain`: shows the plan of a statement, and with ANALYZE its execution.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "cli/errors.hpp"
#include "cli/query/progress_line.hpp"
#include "cli/query/query_options.hpp"

namespace espalier::cli {
namespace {

struct explain_options : query_options {
  std::string file;
  std::string command;
  bool analyze = false;
};

std::string explain_words(const explain_options& options) {
  const bool json = options.format == "json";
  if (!json && options.format != "text") {
    throw bad_arguments(fmt::format("--format does not know '{}': choose text or json.", options.format));
  }
  return fmt::format("EXPLAIN (ANALYZE {}, FORMAT {}) ", options.analyze ? "true" : "false", json ? "json" : "text");
}

// Error positions refer to the script as given, without the words that are prepended here.
std::string plan_of(engine::database& db, const std::string& words, const engine::script_statement& statement,
                    const std::string& script) try {
  progress_line line;
  return db.execute(words + statement.text, line.reporter(), line.stop()).plan;
} catch (const engine::sql_error& e) {
  if (!e.position()) throw;
  const std::size_t within = std::max(*e.position(), words.size()) - words.size();
  throw engine::sql_error(e.sentence(), script, statement.offset + within, e.code());
}

int run_explain(const explain_options& options) {
  const std::string script =
      statement_text(options.file.empty() && options.command.empty() ? "-" : options.file, options.command);
  try {
    const auto statements = engine::split_script(script);
    if (statements.size() != 1) throw bad_arguments("Give one statement to explain.");
    const std::string words = explain_words(options);
    auto db = open_database(options, options.db.empty() ? database_use::may_be_made : database_use::must_exist);
    const auto printed = db.warnings().size();
    const auto plan = plan_of(db, words, statements.front(), script);
    (void)print_warnings(db, printed);
    fmt::print("{}\n", plan);
    return 0;
  } catch (const engine::sql_error& e) {
    report_failure(e);
    return 1;
  }
}

}  // namespace

void add_explain(CLI::App& app, action& chosen) {
  auto* command =
      app.add_subcommand("explain", "Show how a statement is answered: access paths, indexes, device, costs.");
  auto options = std::make_shared<explain_options>();
  options->format = "text";
  command->add_option("FILE", options->file, "File with one statement; - for standard input");
  command->add_option("-c,--command", options->command, "The statement");
  command->add_flag("--analyze", options->analyze, "Run it, and show actual rows and times as well");
  command->add_option("--format", options->format, "text, or json as PostgreSQL writes it")->capture_default_str();
  add_database_options(*command, *options, "Folder of the database; without it tables live in memory until the end");
  command->footer(
      "Example:\n  espalier explain --db shop --analyze -c \"SELECT count(*) FROM orders WHERE day > '2024-01-01'\"");
  command->callback([&chosen, options] { chosen = [options] { return run_explain(*options); }; });
}

}  // namespace espalier::cli
