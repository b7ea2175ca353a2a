// kill_test.cpp - `espalier sql` is killed while it writes: a prefix of the statements is there, with all that it had
// said it did, and at most one group of statements more.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "engine_cli/query_fixture.hpp"

namespace espalier::cli_test {
namespace {

constexpr int statements_of_a_group = 1000;  // the limit in statements/session.hpp

int occurrences(const std::string& text, const std::string& word) {
  int n = 0;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

/// Runs a script into a file of answers and kills the process a while after the first of them.
void run_and_kill(const std::string& database, const std::string& script, const std::string& answers,
                  std::chrono::milliseconds after) {
  ::unlink(answers.c_str());
  const pid_t child = ::fork();
  if (child == 0) {
    const std::string tool = cli_path().string();
    const int out = ::open(answers.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (out < 0 || ::dup2(out, STDOUT_FILENO) < 0) ::_exit(127);
    ::execl(tool.c_str(), tool.c_str(), "sql", "--device", "cpu", "--db", database.c_str(), script.c_str(), nullptr);
    ::_exit(127);
  }
  const auto min_idle_buckets = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (occurrences(contents(answers), "INSERT 0 1") == 0 && std::chrono::steady_clock::now() < min_idle_buckets)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(after);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_F(query_cli, what_was_answered_survives_a_kill) {
  ASSERT_EQ(sql("CREATE TABLE t (a integer, s varchar); CREATE UNIQUE INDEX by_a ON t (a)", db()).code, 0);
  int next = 0;
  for (const int milliseconds : {0, 37, 250}) {
    std::ofstream script(file("script.sql"));
    for (int i = next; i < next + 2000; ++i) script << "INSERT INTO t VALUES (" << i << ", 'row " << i << "');\n";
    script.close();
    run_and_kill(file("db"), file("script.sql"), file("answers"), std::chrono::milliseconds(milliseconds));
    const int answered = occurrences(contents(file("answers")), "INSERT 0 1");
    const outcome count = sql("SELECT count(*) AS n, max(a) AS last FROM t WHERE a >= 0", db() + " --format json");
    ASSERT_EQ(count.code, 0) << count.err;
    const auto rows = json::parse(count.out, nullptr, false);
    const int found = rows[0]["n"].get<int>();
    EXPECT_GE(found, next + answered);
    EXPECT_LE(found, next + answered + statements_of_a_group);
    EXPECT_EQ(rows[0]["last"].get<int>(), found - 1) << "a prefix: no statement is missing before one that is there";
    const outcome verified = run("verify --device cpu " + file("db"));
    EXPECT_EQ(verified.code, 0) << verified.err;
    next = found;
  }
  EXPECT_GT(next, 0) << "nothing was written before the kills";
}

}  // namespace
}  // namespace espalier::cli_test
