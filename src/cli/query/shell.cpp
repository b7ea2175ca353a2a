#include "cli/query/shell.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "cli/query/command_runner.hpp"
#include "cli/query/interrupt.hpp"
#include "cli/query/line_reader.hpp"
#include "cli/query/query_options.hpp"
#include "cli/query/shell_command.hpp"
#include "cli/query/statement_runner.hpp"

namespace espalier::cli {
namespace {

// Marks the prompt as psql does: * inside a transaction, ! after an error in it.
const char* first_prompt(engine::transaction_status status) {
  switch (status) {
    case engine::transaction_status::active:
      return "espalier*> ";
    case engine::transaction_status::failed:
      return "espalier!> ";
    default:
      return "espalier> ";
  }
}
constexpr const char* next_prompt = "      ..> ";

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r\n;") == std::string::npos; }

// Returns whether a semicolon after the text would end a statement, so that the next character is not in a string or a
// comment.
bool is_outside_quotes(const std::string& typed) { return engine::is_complete(typed + ";"); }

// Prints messages of the shell itself, whatever the destination of results.
void say(const std::string& text) { fmt::print(stderr, "{}\n", text); }

class shell {
 public:
  shell(engine::database& db, answer_output& out) : db_(db), runner_(db, out), commands_(db, out, runner_) {
    runner_.timing = true;
  }

  void run() {
    say(fmt::format("Espalier on {}. \\? helps, \\q ends.", db_.get_device().name()));
    while (!commands_.ended()) {
      const auto line = lines_.read(typed_.empty() ? first_prompt(db_.transaction()) : next_prompt);
      if (line.kind == typed_line::what::end) break;
      if (line.kind == typed_line::what::dropped) {
        typed_.clear();
      } else {
        guarded([&] { take(line.text); });
      }
    }
    if (db_.transaction() != engine::transaction_status::none) say("The transaction was not committed: rolled back.");
    if (!is_blank(typed_)) say("The last statement had no semicolon and was not run.");
  }

 private:
  template <class Work>
  static void guarded(const Work& work) {
    try {
      work();
    } catch (const std::exception& e) {
      report_failure(e);
    }
  }

  void take(const std::string& line) {
    const bool outside = is_outside_quotes(typed_);
    if (const auto asked = outside ? shell_command_in(line, typed_.empty()) : std::nullopt) {
      lines_.remember(line);
      return commands_.run(*asked);
    }
    if (outside && shell_command_in(line, true)) {
      say("This is taken as a part of the statement: \\q ends the shell, \\? helps, Ctrl-C drops what was typed.");
    }
    typed_ += line + "\n";
    if (is_blank(typed_)) {
      typed_.clear();
    } else if (engine::is_complete(typed_)) {
      const std::string statements = std::exchange(typed_, "");
      lines_.remember(statements.substr(0, statements.size() - 1));
      run_all(statements);
    }
  }

  void run_all(const std::string& statements) {
    guarded([&] { runner_.run(statements); });
    if (const auto left = runner_.left(); left != 0) {
      say(left == 1 ? "The statement after it was not run."
                    : fmt::format("The {} statements after it were not run.", left));
    }
  }

  engine::database& db_;
  statement_runner runner_;
  command_runner commands_;
  line_reader lines_;
  interrupt_watch watch_{second_interrupt::is_noted};
  std::string typed_;  ///< lines of an incomplete statement
};

}  // namespace

void run_shell(engine::database& db, answer_output& out) { shell(db, out).run(); }

}  // namespace espalier::cli
