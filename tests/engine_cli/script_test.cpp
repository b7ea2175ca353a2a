// Scripts from files and pipes: backslash commands, errors late in the script, times on standard error.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "engine_cli/query_fixture.hpp"

namespace espalier::cli_test {
namespace {

class script_cli : public query_cli {
 protected:
  outcome script(const std::string& text, const std::string& options = "") const {
    std::ofstream(file("script.sql"), std::ios::binary) << text;
    return run("sql --device cpu " + options + " < " + file("script.sql"));
  }
  static void expect_has(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
};

TEST_F(script_cli, statements_before_a_scanner_error_are_run) {
  for (const std::string late : {"SELECT 'abc", "SELECT \"abc", "SELECT 1 /* abc", "SELECT $a$abc", "SELECT 1 'a\\",
                                 "SELECT E'\\xZ", "SELECT (1", "SELEC 1", "SELECT U&'\\zzzz'", "SELECT 1 2 3"}) {
    const outcome r = script("CREATE TABLE t (a integer);\nINSERT INTO t VALUES (';');\n");
    const outcome broken = script("CREATE TABLE t (a integer);\nINSERT INTO t VALUES (1);\n" + late);
    EXPECT_EQ(r.code, 1);  // ';' is not an integer: its semicolon ends nothing
    EXPECT_EQ(r.out, "CREATE TABLE\n");
    EXPECT_EQ(broken.code, 1) << late;
    EXPECT_EQ(broken.out, "CREATE TABLE\nINSERT 0 1\n") << late << '\n' << broken.err;
    expect_has(broken.err, "(line 3, column ");
  }
}

TEST_F(script_cli, answers_of_statements_that_share_a_commit_come_in_order) {
  const outcome r = script(
      "CREATE TABLE t (a integer PRIMARY KEY);\nINSERT INTO t VALUES (1);\nINSERT INTO t VALUES (2), (3);\n"
      "SELECT count(*) AS n FROM t;\nDELETE FROM t WHERE a = 1;\nINSERT INTO t VALUES (2);\nDROP TABLE t;\n",
      "--format table " + db());
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.out, "CREATE TABLE\nINSERT 0 1\nINSERT 0 2\n n\n---\n 3\n(1 row)\nDELETE 1\n");
  EXPECT_NE(r.err, "");
  const outcome after = sql("SELECT a FROM t ORDER BY a", db() + " --format csv");
  EXPECT_EQ(after.out, "\"a\"\n2\n3\n") << after.err;
}

TEST_F(script_cli, timing_speaks_on_standard_error_where_programs_read_the_answer) {
  for (const std::string format : {"csv", "json"}) {
    const outcome r = script("SELECT 1 AS one;\n", "--timing --format " + format);
    EXPECT_EQ(r.out, script("SELECT 1 AS one;\n", "--format " + format).out);
    EXPECT_TRUE(r.err.starts_with("Time: ")) << r.err;
  }
  const outcome to_file = script("SELECT 1 AS one;\n", "--timing --format table --out " + file("answer"));
  EXPECT_EQ(to_file.out, "");
  EXPECT_TRUE(to_file.err.starts_with("Time: ")) << to_file.err;
  const outcome plain = script("SELECT 1 AS one;\n", "--timing");
  expect_has(plain.out, "Time: ");
  EXPECT_EQ(plain.err, "");
}

TEST_F(script_cli, commands_work_in_pipes) {
  const outcome r = script(
      "CREATE TABLE t (a integer);\n\\d\n  \\d t;\n\\format csv\nSELECT '\n\\q' AS text;\n/*\n\\q */\n\\timing "
      "on\nSELECT 2 "
      "AS two;\n\\q\nSELECT 3 AS three;\n");
  EXPECT_EQ(r.code, 0) << r.err;
  expect_has(r.out, "CREATE TABLE\n");
  expect_has(r.out, "(1 row)\n");
  expect_has(r.out, " a ");
  expect_has(r.out, "\"text\"\n\"\n\\q\"\n");
  expect_has(r.out, "\"two\"\n2\n");
  EXPECT_EQ(r.out.find("three"), std::string::npos) << r.out;
  expect_has(r.err, "Timing is on.\nTime: ");
}

TEST_F(script_cli, a_command_that_fails_ends_the_script_at_its_place) {
  const outcome r = script("SELECT 1 AS one;\n\\nosuch\nSELECT 2;\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.out, " one\n-----\n   1\n(1 row)\n");
  expect_has(r.err, "There is no command \\nosuch");
  expect_has(r.err, "(line 2, column 1)\n\\nosuch\n^");
  EXPECT_EQ(script("\\d t\n").code, 1);
}

TEST_F(script_cli, errors_behind_a_command_have_their_place_in_the_whole_script) {
  const outcome r = script("\\timing off\nSELECT 1 AS one;\n\\format csv\nSELECT\n  nosuch;\n");
  EXPECT_EQ(r.code, 1);
  expect_has(r.err, "(line 5, column 3)\n  nosuch;\n  ^");
}

TEST_F(script_cli, an_error_in_a_long_line_shows_what_is_around_it) {
  std::string list = "1";
  for (int i = 0; i < 20000; ++i) list += ", 1";
  const outcome r = script("SELECT 1 WHERE 1 IN (" + list + ", nosuch, " + list + ");\n");
  EXPECT_EQ(r.code, 1);
  EXPECT_LT(r.err.size(), 500U) << r.err;
  expect_has(r.err, "...  1, 1, ");
  expect_has(r.err, ", nosuch, 1, ");
  expect_has(r.err, " ...\n");
  // The caret is below the first letter, in characters.
  const outcome wide = script("SELECT '\u5317\u4eac' AS a,\t nosuch;\n");
  expect_has(wide.err, "SELECT '\u5317\u4eac' AS a,\t nosuch;\n                 \t ^");
}

}  // namespace
}  // namespace espalier::cli_test
