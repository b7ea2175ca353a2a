// database_test.cpp - `import`, `tables`, `explain` and `verify` on a database in a folder.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "engine_cli/query_fixture.hpp"

namespace espalier::cli_test {
namespace {

TEST_F(query_cli, import_makes_a_table_and_adds_to_it) {
  make_fruit_table();
  EXPECT_EQ(sql("SELECT count(*) AS n FROM fruit", db() + " --format csv").out, "\"n\"\n3\n");
  const outcome again = run("import --device cpu " + file("fruit.csv") + db() + " --table fruit");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_NE(again.out.find("Table fruit has 6 rows."), std::string::npos) << again.out;
}

TEST_F(query_cli, import_takes_many_files_in_their_order) {
  std::ofstream(file("b, odd.csv")) << "a;b\n1;x\n";
  std::ofstream(file("a.csv")) << "a;b\n2;-\n";
  const outcome r = run("import --device cpu '" + file("b, odd.csv") + "' '" + file("[a].csv") + "'" + db() +
                        " --table t --delimiter ';' --null -");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(sql("SELECT a, b FROM t", db() + " --format csv").out, "\"a\",\"b\"\n1,\"x\"\n2,\n");
}

TEST_F(query_cli, import_of_a_bad_file_changes_nothing) {
  make_fruit_table();
  std::ofstream(file("bad.csv")) << "id,name,price\n4,fig,cheap\n";
  const outcome r = run("import --device cpu " + file("fruit.csv") + " " + file("bad.csv") + db() + " --table fruit");
  EXPECT_EQ(r.code, 1);
  EXPECT_EQ(sql("SELECT count(*) AS n FROM fruit", db() + " --format csv").out, "\"n\"\n3\n");
}

TEST_F(query_cli, tables_lists_tables_and_columns) {
  make_fruit_table();
  ASSERT_EQ(sql("CREATE INDEX by_price ON fruit (price); CREATE TABLE empty (d numeric(12,2) NOT NULL)", db()).code, 0);
  const auto tables = json::parse(run("tables --device cpu --format json" + db()).out, nullptr, false);
  ASSERT_EQ(tables.size(), 2U);
  EXPECT_EQ(tables[0]["table"], "empty");
  EXPECT_EQ(tables[1]["table"], "fruit");
  EXPECT_EQ(tables[1]["rows"], 3);
  EXPECT_EQ(tables[1]["columns"], 3);
  EXPECT_EQ(tables[1]["indexes"], "by_price");
  const auto columns = json::parse(run("tables empty --device cpu --format json" + db()).out, nullptr, false);
  ASSERT_EQ(columns.size(), 1U);
  EXPECT_EQ(columns[0], json({{"column", "d"}, {"type", "numeric(12,2)"}, {"nullable", "no"}}));
}

TEST_F(query_cli, tables_and_indexes_outlive_the_process) {
  make_fruit_table();
  ASSERT_EQ(sql("CREATE UNIQUE INDEX by_id ON fruit (id)", db()).code, 0);
  ASSERT_EQ(sql("INSERT INTO fruit VALUES (4, 'fig', 2.5); DELETE FROM fruit WHERE id = 1", db()).code, 0);
  EXPECT_EQ(sql("SELECT id FROM fruit WHERE id BETWEEN 1 AND 3 ORDER BY id", db() + " --format csv").out,
            "\"id\"\n2\n3\n");
  const outcome twice = sql("INSERT INTO fruit VALUES (4, 'again', 1)", db());
  EXPECT_EQ(twice.code, 1);
  EXPECT_NE(twice.err.find("by_id"), std::string::npos) << twice.err;
  EXPECT_EQ(sql("SELECT count(*) AS n FROM fruit", db() + " --format csv").out, "\"n\"\n3\n");
}

TEST_F(query_cli, explain_shows_the_index) {
  make_fruit_table();
  ASSERT_EQ(sql("CREATE INDEX by_id ON fruit (id)", db()).code, 0);
  const std::string statement = " -c 'SELECT count(*) FROM fruit WHERE id BETWEEN 1 AND 2'";
  const outcome text = run("explain --device cpu" + db() + statement);
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("fruit"), std::string::npos) << text.out;
  const outcome analyzed = run("explain --device cpu --analyze --format json" + db() + statement);
  EXPECT_EQ(analyzed.code, 0) << analyzed.err;
  const auto plan = json::parse(analyzed.out, nullptr, false);
  ASSERT_TRUE(plan.is_array()) << analyzed.out;
  EXPECT_TRUE(plan[0].contains("Plan")) << analyzed.out;
}

TEST_F(query_cli, explain_shows_errors_in_the_text_that_was_given) {
  make_fruit_table();
  std::ofstream(file("question.sql")) << "-- of fruit\nSELECT nothing\nFROM fruit;\n";
  const outcome r = run("explain --device cpu --analyze" + db() + " " + file("question.sql"));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("line 2, column 8"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("\nSELECT nothing\n       ^"), std::string::npos) << r.err;
}

TEST_F(query_cli, help_speaks_of_the_command_that_was_asked_for) {
  for (const std::string command : {"import", "tables", "verify"}) {
    EXPECT_EQ(run(command + " --help").out.find("in memory"), std::string::npos) << command;
  }
  for (const std::string command : {"verify", "tables", "info", "version", "demo", "import", "explain", "sql"}) {
    const std::string help = run(command + " --help").out;
    EXPECT_EQ(help.find("espalier explore"), std::string::npos) << help;
    EXPECT_EQ(help.find("\n  espalier " + command) == std::string::npos, command == "version") << help;
  }
}

TEST_F(query_cli, answers_do_not_go_into_the_folder_of_the_database) {
  make_fruit_table();
  const std::string catalog = contents(file("db/catalog.json"));
  for (const std::string name : {"db/catalog.json", "db/new.csv", "db/../db/catalog.json"}) {
    const outcome r = sql("SELECT 1", db() + " --format csv --out " + file(name));
    EXPECT_EQ(r.code, 2) << name;
    EXPECT_NE(r.err.find("in the folder of the database"), std::string::npos) << r.err;
    EXPECT_EQ(run("tables --device cpu" + db() + " --out " + file(name)).code, 2) << name;
  }
  EXPECT_EQ(contents(file("db/catalog.json")), catalog);
  std::ofstream(file("out.csv.part")) << "mine";
  EXPECT_EQ(sql("SELECT 1", db() + " --out " + file("out.csv")).code, 0);
  EXPECT_EQ(contents(file("out.csv.part")), "mine");
}

TEST_F(query_cli, read_only_commands_change_nothing) {
  make_fruit_table();
  const auto names = [&] {
    std::set<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(file("db"))) {
      found.insert(entry.path().filename().string());
    }
    return found;
  };
  std::ofstream(file("db/rows-000099.arrow.part")) << "x";
  const auto before = names();
  EXPECT_EQ(run("verify --device cpu " + file("db")).code, 0);
  EXPECT_EQ(sql("SELECT count(*) AS n FROM fruit", db() + " --read-only --format csv").out, "\"n\"\n3\n");
  const outcome refused = sql("DELETE FROM fruit", db() + " --read-only");
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("read-only"), std::string::npos) << refused.err;
  EXPECT_EQ(names(), before);
  EXPECT_EQ(run("sql --device cpu --read-only --db " + file("none") + " -c 'SELECT 1'").code, 2);
  EXPECT_FALSE(std::filesystem::exists(file("none")));
}

TEST_F(query_cli, a_mistyped_database_is_not_made) {
  const outcome r = sql("SELECT 1", db());
  EXPECT_EQ(r.code, 2);
  EXPECT_NE(r.err.find("--create"), std::string::npos) << r.err;
  EXPECT_EQ(run("explain --device cpu" + db() + " -c 'SELECT 1'").code, 2);
  EXPECT_EQ(sql("CREATE INDEX i ON t (a)", db()).code, 2);
  EXPECT_FALSE(std::filesystem::exists(file("db")));
  EXPECT_EQ(sql("SELECT 1", db() + " --create").code, 0);
  EXPECT_TRUE(std::filesystem::exists(file("db")));
  EXPECT_EQ(sql("-- of fruit\ncreate table t (a integer)", " --db " + file("other")).code, 0);
}

TEST_F(query_cli, pipes_are_not_read) {
  ASSERT_EQ(::mkfifo(file("pipe.csv").c_str(), 0600), 0);
  const outcome r = sql("SELECT * FROM read_csv('" + file("pipe.csv") + "')");
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("not a regular file"), std::string::npos) << r.err;
}

TEST_F(query_cli, verify_says_that_all_is_right_or_names_the_file) {
  make_fruit_table();
  ASSERT_EQ(sql("CREATE INDEX by_id ON fruit (id)", db()).code, 0);
  const outcome right = run("verify --device cpu " + file("db"));
  EXPECT_EQ(right.code, 0) << right.err;
  EXPECT_NE(right.out.find(": 1 table, 3 rows, "), std::string::npos) << right.out;
  EXPECT_NE(right.out.find("all is right"), std::string::npos) << right.out;
  EXPECT_EQ(run("verify --device cpu" + db()).out, right.out);
  for (const auto& entry : std::filesystem::directory_iterator(file("db"))) {
    if (entry.path().extension() == ".arrow") std::filesystem::resize_file(entry.path(), entry.file_size() - 1);
  }
  const outcome wrong = run("verify --device cpu " + file("db"));
  EXPECT_EQ(wrong.code, 1);
  EXPECT_NE(wrong.err.find(".arrow' is damaged"), std::string::npos) << wrong.err;
  const outcome refused = sql("SELECT * FROM fruit", db());
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find(".arrow' is damaged"), std::string::npos) << refused.err;
}

TEST_F(query_cli, a_script_in_a_single_transaction_is_there_as_a_whole_or_not_at_all) {
  ASSERT_EQ(sql("CREATE TABLE t (a integer PRIMARY KEY)", db()).code, 0);
  const outcome failed = sql("INSERT INTO t VALUES (1); INSERT INTO t VALUES (1)", db() + " --single-transaction");
  EXPECT_EQ(failed.code, 1);
  EXPECT_NE(failed.err.find("is there already"), std::string::npos) << failed.err;
  EXPECT_EQ(sql("SELECT count(*) FROM t", db() + " --format csv").out, "\"count\"\n0\n");
  const outcome done = sql("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2)", db() + " -1");
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(sql("SELECT count(*) FROM t", db() + " --format csv").out, "\"count\"\n2\n");
}

TEST_F(query_cli, a_script_that_ends_inside_a_transaction_rolls_it_back_and_says_so) {
  ASSERT_EQ(sql("CREATE TABLE t (a integer PRIMARY KEY)", db()).code, 0);
  const outcome open = sql("INSERT INTO t VALUES (1); BEGIN; BEGIN; INSERT INTO t VALUES (2)", db());
  EXPECT_EQ(open.code, 0);
  EXPECT_NE(open.err.find("already a transaction in progress"), std::string::npos) << open.err;
  EXPECT_NE(open.err.find("rolled back"), std::string::npos) << open.err;
  EXPECT_EQ(sql("SELECT count(*) FROM t", db() + " --format csv").out, "\"count\"\n1\n");
}

}  // namespace
}  // namespace espalier::cli_test
