// sql_test.cpp - `espalier sql` from outside: formats, scripts, errors.
#include <arrow/api.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

#include "engine/table/read.hpp"
#include "engine_cli/query_fixture.hpp"
#include "espalier/device/device.hpp"

namespace espalier::cli_test {
namespace {

TEST_F(query_cli, answers_as_a_table) {
  const outcome r = sql("SELECT * FROM " + fruit() + " ORDER BY id");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out,
            " id | name  | price\n"
            "----+-------+-------\n"
            "  1 | apple |   0.5\n"
            "  2 | pear  |  0.75\n"
            "  3 | NULL  |  1.25\n"
            "(3 rows)\n");
}

TEST_F(query_cli, answers_as_csv) {
  const outcome r = sql("SELECT id, name FROM " + fruit() + " WHERE id >= 2 ORDER BY id", "--format csv");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "\"id\",\"name\"\n2,\"pear\"\n3,\n");
}

TEST_F(query_cli, answers_as_json) {
  const outcome r =
      sql("SELECT id, name, price, id AS id FROM " + fruit() + " WHERE id >= 2 ORDER BY id", "--format json");
  EXPECT_EQ(r.code, 0) << r.err;
  const auto answer = json::parse(r.out, nullptr, false);
  ASSERT_EQ(answer.size(), 2U) << r.out;
  EXPECT_EQ(answer[0], json({{"id", 2}, {"name", "pear"}, {"price", 0.75}, {"id_1", 2}}));
  EXPECT_TRUE(answer[1]["name"].is_null());
}

TEST_F(query_cli, answers_as_an_arrow_file) {
  const outcome r = sql("SELECT * FROM " + fruit() + " ORDER BY id", "--format arrow --out " + file("answer.arrow"));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "");
  const auto answer = engine::read_table(file("answer.arrow"), engine::file_format::arrow);
  EXPECT_EQ(answer->num_rows(), 3);
  EXPECT_EQ(answer->ColumnNames(), (std::vector<std::string>{"id", "name", "price"}));
}

TEST_F(query_cli, the_ending_of_the_file_chooses_the_format) {
  const std::string statement = "SELECT id FROM " + fruit() + " WHERE id = 2";
  const auto written = [&](const std::string& name, const std::string& options = "") {
    const outcome r = sql(statement, "--out " + file(name) + options);
    EXPECT_EQ(r.code, 0) << r.err;
    return contents(file(name));
  };
  const std::string table = " id\n----\n  2\n(1 row)\n";
  EXPECT_EQ(written("a.csv"), "\"id\"\n2\n");
  EXPECT_EQ(written("a.JSON"), "[{\"id\": 2}]\n");
  EXPECT_EQ(written("a.txt"), table);
  EXPECT_EQ(written("b.csv", " --format table"), table);
  EXPECT_NE(written("a.arrow"), table);
  EXPECT_EQ(engine::read_table(file("a.arrow"), engine::file_format::arrow)->num_rows(), 1);
  expect_refused("sql -c 'SELECT 1' --out " + file("a.parquet"), "COPY");
  EXPECT_NE(run("sql --help").out.find("the ending of --out"), std::string::npos);
}

TEST_F(query_cli, wide_characters_take_two_columns_of_the_table) {
  std::ofstream(file("wide.csv")) << "s,n\n\u5317\u4eac,1\nLima,2\nKo\u0308ln,3\n\u00fc,4\n";
  EXPECT_EQ(sql("SELECT * FROM read_csv('" + file("wide.csv") + "')").out,
            " s    | n\n------+---\n \u5317\u4eac | 1\n Lima | 2\n Ko\u0308ln | 3\n \u00fc    | 4\n(4 rows)\n");
}

TEST_F(query_cli, runs_scripts_from_files_and_pipes) {
  std::ofstream(file("script.sql")) << "CREATE TABLE t (a integer);\n-- a comment\nINSERT INTO t VALUES (1), (2);\n"
                                       "SELECT sum(a) AS s FROM t;\n";
  const std::string expected = "CREATE TABLE\nINSERT 0 2\n s\n---\n 3\n(1 row)\n";
  EXPECT_EQ(run("sql --device cpu " + file("script.sql")).out, expected);
  EXPECT_EQ(run("sql --device cpu - < " + file("script.sql")).out, expected);
  EXPECT_EQ(run("sql --device cpu < " + file("script.sql")).out, expected);
}

TEST_F(query_cli, errors_name_the_place_in_the_script) {
  std::ofstream(file("script.sql")) << "CREATE TABLE t (a integer);\nSELECT b\nFROM t;\nSELECT 1;\n";
  const outcome r = run("sql --device cpu " + file("script.sql"));
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(r.out, "CREATE TABLE\n");
  EXPECT_NE(r.err.find("line 2, column 8"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("SELECT b\n       ^"), std::string::npos) << r.err;
}

TEST_F(query_cli, a_failed_answer_leaves_the_old_file) {
  std::ofstream(file("kept")) << "as it was";
  EXPECT_EQ(sql("SELECT 1; SELECT nothing", "--out " + file("kept")).code, 1);
  EXPECT_EQ(contents(file("kept")), "as it was");
  EXPECT_FALSE(std::filesystem::exists(file("kept.part")));
}

TEST_F(query_cli, an_answer_that_cannot_be_written_is_an_error) {
  if (!std::filesystem::is_character_file("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  for (const std::string format : {"table", "csv", "json", "arrow"}) {
    const outcome r = sql("SELECT 1 AS one", "--format " + format + " > /dev/full");
    EXPECT_EQ(r.code, 1) << format;
    EXPECT_NE(r.err.find("standard output"), std::string::npos) << r.err;
  }
}

TEST_F(query_cli, an_answer_goes_through_links_and_into_pipes) {
  std::ofstream(file("target")) << "before";
  std::filesystem::create_symlink("target", file("link"));
  EXPECT_EQ(sql("SELECT 1 AS one", "--format csv --out " + file("link")).code, 0);
  EXPECT_TRUE(std::filesystem::is_symlink(file("link")));
  EXPECT_EQ(contents(file("target")), "\"one\"\n1\n");
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  const outcome r = sql("SELECT 2 AS two", "--format csv --out " + file("pipe") + " & cat " + file("pipe"));
  EXPECT_EQ(r.out, "\"two\"\n2\n");
  EXPECT_TRUE(std::filesystem::is_fifo(file("pipe")));
}

TEST_F(query_cli, says_how_long_it_took_if_asked) {
  const outcome r = sql("SELECT 1 AS one", "--timing");
  EXPECT_NE(r.out.find("Time: "), std::string::npos) << r.out;
  EXPECT_EQ(sql("SELECT 1 AS one").out.find("Time: "), std::string::npos);
}

TEST_F(query_cli, bad_arguments_are_refused) {
  expect_refused("sql --format xml -c 'SELECT 1'", "xml");
  if (device::default_device().kind() == device_kind::cpu)
    expect_refused("sql --device gpu -c 'SELECT 1'", "--device cpu can.");
  expect_refused("sql --device tpu -c 'SELECT 1'", "tpu");
  expect_refused("sql " + file("none.sql"), "none.sql");
  expect_refused("sql -c 'SELECT 1' " + file("fruit.csv"), "either");
  expect_refused("sql -c 'SELECT 1' --out /no/such/folder/file", "/no/such/folder/file");
  expect_refused("import " + file("none.csv") + db() + " --table t", "none.csv");
  expect_refused("import " + file("fruit.csv") + " --table t", "--db");
  expect_refused("import " + file("fruit.csv") + db() + " --table t --input xml", "xml");
  expect_refused("tables", "--db");
  expect_refused("tables --db " + file("none"), "none");
  expect_refused("explain --format yaml -c 'SELECT 1'", "yaml");
  expect_refused("explain -c 'SELECT 1; SELECT 2'", "one statement");
  expect_refused("verify", "verify DIR");
  expect_refused("verify " + file("a") + " --db " + file("b"), "once");
}

TEST_F(query_cli, every_type_is_printed_as_postgres_does) {
  const outcome r =
      sql("SELECT true AS b, 1::numeric(12,4) AS d, (-0.05)::numeric(4,2) AS small, DATE '1969-12-31' AS day, "
          "TIMESTAMP '1969-12-31 23:59:59.25' AS ts, NULL::varchar AS none, 1e300::double precision AS big",
          "--format csv");
  EXPECT_EQ(r.code, 0) << r.err;
  const outcome table =
      sql("SELECT true AS b, 1::numeric(12,4) AS d, (-0.05)::numeric(4,2) AS small, DATE '1969-12-31' AS day, "
          "TIMESTAMP '1969-12-31 23:59:59.25' AS ts, NULL::varchar AS none, 1e300::double precision AS big");
  EXPECT_NE(table.out.find(" true | 1.0000 | -0.05 | 1969-12-31 | 1969-12-31 23:59:59.25 | NULL | 1e+300\n"),
            std::string::npos)
      << table.out;
}

TEST_F(query_cli, years_of_five_digits_are_written_to_csv) {
  const std::string columns =
      "DATE '40000-02-29' AS far, TIMESTAMP '99999-12-31 23:59:59.5' AS moment, DATE '2024-02-29' AS near, NULL::date "
      "AS none";
  EXPECT_EQ(sql("SELECT " + columns, "--format csv").out,
            "\"far\",\"moment\",\"near\",\"none\"\n\"40000-02-29\",\"99999-12-31 23:59:59.5\",2024-02-29,\n");
  const outcome r = sql("CREATE TABLE t AS SELECT " + columns + "; COPY t TO '" + file("far.csv") + "'; COPY t FROM '" +
                        file("far.csv") + "'; SELECT count(*) AS n, min(far) = max(far) AS same FROM t");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find(" 2 | true\n"), std::string::npos) << r.out;
}

// "--db $UNSET" made a database in memory, and its tables were lost.
TEST_F(query_cli, empty_arguments_are_refused) {
  expect_refused("sql --db '' -c 'CREATE TABLE t (a integer)'", "the name of a folder");
  expect_refused("sql --out '' -c 'SELECT 1'", "the name of a file");
  expect_refused("sql -c ''", "a statement");
  expect_refused("sql ''", "the name of a script");
  expect_refused("import " + file("fruit.csv") + " --db '' --table t", "the name of a folder");
}

TEST_F(query_cli, a_byte_order_mark_is_no_part_of_a_script) {
  std::ofstream(file("bom.sql"), std::ios::binary) << "\xEF\xBB\xBFSELECT 1 AS one;\nSELEC";
  for (const std::string& source : {file("bom.sql"), "< " + file("bom.sql")}) {
    const outcome r = run("sql --device cpu --format csv " + source);
    EXPECT_EQ(r.out, "\"one\"\n1\n");
    EXPECT_NE(r.err.find("(line 2, column 1)"), std::string::npos) << r.err;
  }
}

TEST_F(query_cli, full_disks_are_named) {
  const outcome copied = sql("COPY (SELECT 1 AS one) TO '/dev/full' (FORMAT csv)");
  EXPECT_EQ(copied.code, 1);
  EXPECT_EQ(copied.err, "espalier: '/dev/full' cannot be written: No space left on device.\n");
}

// A file beyond the limit of the shell killed the process by SIGXFSZ.
TEST_F(query_cli, files_beyond_the_limit_of_the_shell_are_an_error) {
  ASSERT_EQ(sql("CREATE TABLE t (a integer); INSERT INTO t VALUES (1)", db()).code, 0);
  std::ofstream(file("limited.sh")) << "ulimit -f 100; exec \"$@\"\n";
  std::ofstream(file("large.sql")) << "INSERT INTO t SELECT * FROM generate_series(1, 500000);";
  const auto command = "bash " + file("limited.sh") + " " + cli_path().string() + " sql --device cpu" + db() + " " +
                       file("large.sql") + " 2> " + file("errors");
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status)) << status;
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_NE(contents(file("errors")).find("File too large"), std::string::npos) << contents(file("errors"));
  EXPECT_EQ(sql("SELECT count(*) AS n FROM t", db() + " --format csv").out, "\"n\"\n1\n");
}

}  // namespace
}  // namespace espalier::cli_test
