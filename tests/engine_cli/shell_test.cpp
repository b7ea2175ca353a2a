// shell_test.cpp - `espalier sql` at a terminal: a pseudo terminal types, and what is shown is read back.
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <poll.h>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "engine_cli/query_fixture.hpp"

namespace espalier::cli_test {
namespace {

const char* const ctrl_c = "\x03";

/// The tool with a terminal of its own.
class terminal {
 public:
  /// Without a database tables are in memory.
  explicit terminal(const std::string& history, const std::string& database = "") {
    child_ = ::forkpty(&master_, nullptr, nullptr, nullptr);
    if (child_ == 0) {
      ::setenv("ESPALIER_HISTORY", history.c_str(), 1);
      ::setenv("TERM", "dumb", 1);
      const std::string tool = cli_path().string();
      ::execl(tool.c_str(), tool.c_str(), "sql", "--device", "cpu", database.empty() ? nullptr : "--db",
              database.c_str(), nullptr);
      ::_exit(127);
    }
  }
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;
  ~terminal() {
    if (master_ >= 0) ::close(master_);
    if (child_ <= 0) return;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  void type(const std::string& text) const {
    ASSERT_EQ(::write(master_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  /// Everything shown until `text` is; fails after some seconds.
  std::string until(const std::string& text) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const std::size_t from = seen_;
    while (shown_.find(text, from) == std::string::npos && std::chrono::steady_clock::now() < deadline) read_more();
    const auto at = shown_.find(text, from);
    EXPECT_NE(at, std::string::npos) << "waited for '" << text << "', saw: " << shown_.substr(from);
    seen_ = at == std::string::npos ? shown_.size() : at + text.size();
    return shown_.substr(from, seen_ - from);
  }

  /// Kills the tool if it does not end by itself within some seconds. `again` is typed until then: what comes between
  /// the prompt and the line editor, the terminal keeps to itself.
  int exit_code(const std::string& again = "") {
    int status = 0;
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (read_more()) {
      if (std::chrono::steady_clock::now() > deadline) ::kill(child_, SIGKILL);
      if (!again.empty()) (void)!::write(master_, again.data(), again.size());
    }
    ::waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  bool read_more() {
    pollfd ready{master_, POLLIN, 0};
    if (::poll(&ready, 1, 200) <= 0) return true;
    char piece[4096];
    const ssize_t n = ::read(master_, piece, sizeof piece);
    if (n <= 0) return false;
    shown_.append(piece, static_cast<std::size_t>(n));
    return true;
  }

  int master_ = -1;
  pid_t child_ = -1;
  std::string shown_;
  std::size_t seen_ = 0;
};

TEST_F(query_cli, shell_runs_statements_over_several_lines_and_goes_on_after_errors) {
  make_fruit_table();
  terminal shell(file("history"), file("db"));
  shell.until("espalier> ");
  shell.type("SELECT count(*) AS n\n");
  shell.until("..> ");
  shell.type("FROM fruit;\n");
  shell.until("(1 row)");
  shell.until("Time: ");
  shell.type("SELECT nothing FROM fruit;\n");
  shell.until("line 1, column 8");
  shell.until("espalier> ");
  shell.type("SELECT 'gr\xc3\xbcn' || '!' AS s;\n");
  shell.until(" gr\xc3\xbcn!\r\n");
  shell.type("\\timing off\n");
  shell.until("Timing is off.");
  shell.type("\\d\n");
  shell.until("fruit");
  shell.type("\\d fruit\n");
  shell.until("varchar");
  shell.type("\\nonsense\n");
  shell.until("There is no command \\nonsense");
  shell.type("\\?\n");
  shell.until("this list");
  shell.type("\\q\n");
  EXPECT_EQ(shell.exit_code(), 0);
}

TEST_F(query_cli, shell_remembers_statements_for_later_sessions) {
  make_fruit_table();
  {
    terminal shell(file("history"), file("db"));
    shell.until("espalier> ");
    shell.type("SELECT 41 +\n1 AS answer;\n");
    shell.until("42");
    shell.type("\\q\n");
    EXPECT_EQ(shell.exit_code(), 0);
  }
  if (!std::filesystem::exists(file("history"))) GTEST_SKIP() << "this build has no line editor";
  terminal shell(file("history"), file("db"));
  shell.until("espalier> ");
  shell.type("\x10\x10\n");  // Ctrl-P: past \q to the statement
  shell.until("42");
  shell.until("espalier> ");
  EXPECT_EQ(shell.exit_code("\x04"), 0);  // Ctrl-D
}

TEST_F(query_cli, shell_keeps_the_database_to_itself) {
  make_fruit_table();
  terminal shell(file("history"), file("db"));
  shell.until("espalier> ");
  const outcome other = sql("SELECT count(*) FROM fruit", db());
  EXPECT_EQ(other.code, 1);
  EXPECT_NE(other.err.find("open in another process"), std::string::npos) << other.err;
  shell.type("\\q\n");
  EXPECT_EQ(shell.exit_code(), 0);
}

TEST_F(query_cli, shell_drops_the_line_at_ctrl_c_and_keeps_its_tables) {
  terminal shell(file("history"));
  shell.until("espalier> ");
  shell.type("CREATE TABLE t (a integer);\n");
  shell.until("CREATE TABLE\r\n");
  shell.until("espalier> ");
  shell.type("SELECT nonsense");
  shell.until("nonsense");
  shell.type(ctrl_c);
  shell.until("espalier> ");
  shell.type("SELECT more nonsense\n");
  shell.until("..> ");
  shell.type("and more");
  shell.until("and more");
  shell.type(ctrl_c);
  shell.until("espalier> ");
  shell.type("SELECT count(*) + 41 AS n FROM t;\n");
  shell.until(" 41\r\n(1 row)");
  shell.type("\\q\n");
  EXPECT_EQ(shell.exit_code(), 0);
}

TEST_F(query_cli, shell_survives_ctrl_c_in_a_long_answer) {
  std::ofstream many(file("many.csv"));
  for (int i = 0; i < 200000; ++i) many << (i == 0 ? "number\n" : std::to_string(i) + "\n");
  many.close();
  terminal shell(file("history"));
  shell.until("espalier> ");
  shell.type("SELECT * FROM read_csv('" + file("many.csv") + "');\n");
  shell.until("-----");  // the answer begins, and nobody reads on: it is not written to its end
  shell.type(ctrl_c);
  EXPECT_EQ(shell.until("Stopped: ").find("199999"), std::string::npos);
  shell.until("espalier> ");
  shell.type("SELECT 41 + 1 AS n;\n");
  shell.until("42");
  shell.type("\\q\n");
  EXPECT_EQ(shell.exit_code(), 0);
}

// Each of these takes minutes; the shell is back in seconds.
TEST_F(query_cli, shell_stops_a_running_statement_at_ctrl_c_and_goes_on) {
  std::ofstream many(file("many.csv"));
  for (int i = 0; i < 16000; ++i) many << (i == 0 ? "x,g\n" : "") << i << ',' << i % 4 << '\n';
  many.close();
  terminal shell(file("history"));
  shell.until("espalier> ");
  shell.type("CREATE TABLE n AS SELECT * FROM read_csv('" + file("many.csv") + "');\n");
  shell.until("SELECT 16000");
  shell.until("espalier> ");
  // Each would take minutes.
  for (const std::string statement :
       {"SELECT count(*) FROM n a, n b, n c WHERE (a.x * b.x + c.x) % 7 = 3",
        "SELECT count(*) FROM n a JOIN n b ON a.g = b.g AND a.x % 7 < b.x % 5 JOIN n c ON (a.x + b.x) % 5 < c.x % 3",
        "SELECT a.x FROM n a JOIN n b ON a.x / 2000 = b.x / 2000 ORDER BY a.x * b.x % 10007"}) {
    shell.type("SELECT 41 + 1 AS n; " + statement + ";\n");
    shell.until(" 42\r\n(1 row)");
    std::this_thread::sleep_for(std::chrono::seconds(1));
    shell.type(ctrl_c);
    shell.until("Stopped: everything is as it was before the statement.");
    shell.until("espalier> ");
  }
  shell.type("SELECT count(*) + 26000 AS n FROM n;\n");
  shell.until(" 42000\r\n(1 row)");
  shell.type("\\q\n");
  EXPECT_EQ(shell.exit_code(), 0);
}

TEST_F(query_cli, shell_that_is_killed_has_written_its_history) {
  {
    terminal shell(file("history"));
    shell.until("espalier> ");
    shell.type("SELECT 'two\nlines' AS s, 41 + 1 AS n;\n");
    shell.until("42");
  }
  if (!std::filesystem::exists(file("history"))) GTEST_SKIP() << "this build has no line editor";
  terminal shell(file("history"));
  shell.until("espalier> ");
  shell.type("\x10\n");  // Ctrl-P
  shell.until("two\\nlines | 42");
}

TEST_F(query_cli, shell_takes_commands_at_the_start_of_every_line_but_not_in_strings) {
  terminal shell(file("history"));
  shell.until("espalier> ");
  shell.type("SELECT 41 +\n");
  shell.until("..> ");
  shell.type("\\?\n");
  shell.until("this list");
  shell.until("..> ");
  shell.type("1 AS n;\n");
  shell.until("42");
  shell.until("espalier> ");
  shell.type("SELECT 'a\n");
  shell.until("..> ");
  shell.type("\\q\n");
  shell.until("..> ");
  shell.type("' AS s;\n");
  shell.until("a\\n\\q\\n");
  shell.until("espalier> ");
  shell.type("SELECT\n");
  shell.until("..> ");
  shell.type("quit\n");
  shell.until("\\q ends the shell");
  shell.until("..> ");
  shell.type("  \\q;\n");
  shell.until("was not run");
  EXPECT_EQ(shell.exit_code(), 0);
}

TEST_F(query_cli, shell_knows_help_quit_and_exit_as_words) {
  for (const std::string end : {"quit", "exit;", "QUIT ;", "\\q;"}) {
    terminal shell(file("history"));
    shell.until("espalier> ");
    shell.type("help;\n");
    shell.until("this list");
    shell.until("espalier> ");
    shell.type(end + "\n");
    EXPECT_EQ(shell.exit_code(), 0) << end;
  }
}

TEST_F(query_cli, shell_passes_over_nothing_that_was_typed) {
  terminal shell(file("history"));
  shell.until("espalier> ");
  shell.type("\\timing maybe\n");
  shell.until("\\timing does not know 'maybe': give on or off");
  shell.type("\\timing off again\n");
  shell.until("'again' is one word too many");
  shell.type("\\q now\n");
  shell.until("'now' is one word too many");
  shell.type("CREATE TABLE \"My Table\" (a integer); CREATE TABLE small (b date);\n");
  shell.until("Time: ");
  shell.type("\\d \"My Table\";\n");
  shell.until(" a      | integer");
  shell.type("\\d SMALL\n");
  shell.until(" b      | date");
  shell.type("\\d smal\n");
  shell.until("There is no table 'smal'; did you mean 'small'?");
  shell.type("SELECT nothing; SELECT 1; SELECT 2;\n");
  shell.until("The 2 statements after it were not run.");
  shell.type("\\format csv\n\\timing\n");
  shell.until("Timing is off.");
  shell.type("SELECT 3\n");
  shell.until("..> ");
  shell.type("\\q\n");
  shell.until("had no semicolon and was not run.");
  EXPECT_EQ(shell.exit_code(), 0);
}

}  // namespace
}  // namespace espalier::cli_test
