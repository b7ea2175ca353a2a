#include "cli/query/command_runner.hpp"

#include <arrow/table.h>
#include <fmt/format.h>

#include <cstdio>

#include "cli/query/describe.hpp"
#include "espalier/core/error.hpp"

namespace espalier::cli {
namespace {

constexpr const char* command_help =
    "Statements end with a semicolon and may have several lines.\n"
    "  \\d            tables\n"
    "  \\d TABLE      columns and indexes of a table\n"
    "  \\timing       time of each statement: on or off\n"
    "  \\format NAME  of answers: table, csv or json\n"
    "  \\?, help      this list\n"
    "  \\q, quit      the end; so is Ctrl-D\n"
    "Ctrl-C drops what was typed, and stops a statement that runs.";

// Messages are not part of a result, whatever the destination of results.
void say_to_user(const std::string& text) { fmt::print(stderr, "{}\n", text); }

}  // namespace

void command_runner::run(const shell_command& asked) {
  if (asked.name == "\\q") {
    asked.require_words(0, "\\q");
    ended_ = true;
  } else if (asked.name == "\\?") {
    asked.require_words(0, "\\?");
    say_to_user(command_help);
  } else if (asked.name == "\\timing") {
    asked.require_words(1, "\\timing [on|off]");
    set_timing(asked.word(0));
  } else if (asked.name == "\\format") {
    asked.require_words(1, "\\format table|csv|json");
    set_format(asked.word(0));
  } else if (asked.name == "\\d") {
    asked.require_words(1, "\\d [TABLE]");
    describe(asked.word(0));
  } else {
    throw error(fmt::format("There is no command {}: \\? lists them.", asked.name));
  }
}

void command_runner::describe(const std::string& word) {
  if (word.empty()) return out_.rows(described_tables(db_));
  const std::string table = table_named(db_, word);
  out_.rows(described_columns(db_, table));
  const auto indexes = described_indexes(db_, table);
  if (indexes->num_rows() != 0) out_.rows(indexes);
}

void command_runner::set_timing(const std::string& word) {
  if (!word.empty() && word != "on" && word != "off") {
    throw error(fmt::format("\\timing does not know '{}': give on or off, or nothing to turn it over.", word));
  }
  statements_.timing = word.empty() ? !statements_.timing : word == "on";
  say_to_user(statements_.timing ? "Timing is on." : "Timing is off.");
}

void command_runner::set_format(const std::string& name) {
  const auto format = answer_format_from(name);
  if (!format || *format == answer_format::arrow) throw error("\\format takes table, csv or json.");
  out_.set_format(*format);
}

}  // namespace espalier::cli
