#include "cli/query/shell.hpp"

#include <arrow/table.h>
#include <fmt/format.h>

#include <sstream>
#include <string>

#include "cli/query/describe.hpp"
#include "cli/query/line_reader.hpp"
#include "cli/query/query_options.hpp"
#include "cli/query/statement_runner.hpp"
#include "espalier/core/error.hpp"

namespace espalier::cli {
namespace {

constexpr const char* first_prompt = "espalier> ";
constexpr const char* next_prompt = "      ..> ";

constexpr const char* shell_help =
    "Statements end with a semicolon and may have several lines.\n"
    "  \\d            tables\n"
    "  \\d TABLE      columns and indexes of a table\n"
    "  \\timing       time of each statement: on or off\n"
    "  \\format NAME  of answers: table, csv or json\n"
    "  \\?            this list\n"
    "  \\q            the end; so is Ctrl-D\n"
    "Ctrl-C stops a statement that tells its progress.";

bool is_blank(const std::string& text) { return text.find_first_not_of(" \t\r\n;") == std::string::npos; }

class shell {
 public:
  shell(engine::database& db, answer_output& out) : db_(db), out_(out), runner_(db, out) { runner_.timing = true; }

  void run() {
    out_.remark(fmt::format("Espalier on {}. \\? helps, \\q ends.", db_.where().name()));
    std::string typed;
    while (!ended_) {
      const auto line = lines_.read(typed.empty() ? first_prompt : next_prompt);
      if (!line) break;
      if (typed.empty() && line->starts_with("\\")) {
        lines_.remember(*line);
        guarded([&] { command(*line); });
        continue;
      }
      typed += *line + "\n";
      if (is_blank(typed)) {
        typed.clear();
      } else if (engine::is_complete(typed)) {
        lines_.remember(typed.substr(0, typed.size() - 1));
        guarded([&] { runner_.run(typed); });
        typed.clear();
      }
    }
    if (!is_blank(typed)) out_.remark("The last statement had no semicolon and was not run.");
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

  void command(const std::string& line) {
    std::istringstream words(line);
    std::string name;
    std::string argument;
    words >> name >> argument;
    if (name == "\\q") {
      ended_ = true;
    } else if (name == "\\?") {
      out_.remark(shell_help);
    } else if (name == "\\timing") {
      runner_.timing = argument.empty() ? !runner_.timing : argument == "on";
      out_.remark(runner_.timing ? "Timing is on." : "Timing is off.");
    } else if (name == "\\format") {
      set_format(argument);
    } else if (name == "\\d" && argument.empty()) {
      out_.rows(described_tables(db_));
    } else if (name == "\\d") {
      out_.rows(described_columns(db_, argument));
      const auto indexes = described_indexes(db_, argument);
      if (indexes->num_rows() != 0) out_.rows(indexes);
    } else {
      throw error(fmt::format("There is no command {}: \\? lists them.", name));
    }
  }

  void set_format(const std::string& name) {
    const auto format = answer_format_from(name);
    if (!format || *format == answer_format::arrow) throw error("\\format takes table, csv or json.");
    out_.set_format(*format);
  }

  engine::database& db_;
  answer_output& out_;
  statement_runner runner_;
  line_reader lines_;
  bool ended_ = false;
};

}  // namespace

void run_shell(engine::database& db, answer_output& out) { shell(db, out).run(); }

}  // namespace espalier::cli
