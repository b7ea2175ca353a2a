// durability_test.cpp - statements that must not be able to damage the database they run on.
#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/catalog.hpp"
#include "engine/table/text_limit.hpp"
#include "espalier/engine/database.hpp"
#include "support/scratch_folder.hpp"

namespace espalier::engine {
namespace {

class DurableDatabase : public testing::Test {
 protected:
  static database_options options_for(const std::filesystem::path& folder, bool read_only = false) {
    database_options options;
    options.path = folder;
    options.device = device::cpu();
    options.read_only = read_only;
    return options;
  }
  [[nodiscard]] database opened() const { return database(options_for(folder_)); }
  static std::string first_value(database& db, const std::string& sql) {
    return (*db.execute(sql).rows->column(0)->GetScalar(0))->ToString();
  }
  static std::string refusal(database& db, const std::string& sql) {
    try {
      (void)db.execute(sql);
      return "";
    } catch (const error& e) {
      return e.what();
    }
  }
  static std::string bytes_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const test::scratch_folder scratch_;
  const std::filesystem::path folder_ = scratch_.path() / "db";
};

TEST_F(DurableDatabase, CopyIntoItsOwnFolderIsRefused) {
  auto db = opened();
  db.execute("CREATE TABLE t AS SELECT 1 AS a");
  const auto catalog = bytes_of(folder_ / "catalog.json");
  std::filesystem::create_symlink(folder_ / "catalog.json", scratch_.path() / "link.csv");
  std::filesystem::create_symlink("link.csv", scratch_.path() / "link to link.csv");
  std::filesystem::create_symlink(folder_ / "rows-000099.arrow", scratch_.path() / "dangling.csv");
  std::filesystem::create_directory_symlink("db", scratch_.path() / "folder link");
  std::filesystem::create_hard_link(folder_ / "catalog.json", scratch_.path() / "hard link.csv");
  for (const char* name : {"db/catalog.json", "db/rows-000001.arrow", "db/new.csv", "db/../db/./catalog.json",
                           "link.csv", "link to link.csv", "dangling.csv", "folder link/x.csv", "hard link.csv"}) {
    const std::string to = (scratch_.path() / name).string();
    EXPECT_NE(refusal(db, "COPY t TO '" + to + "' (FORMAT csv)").find("folder of the open database"), std::string::npos)
        << name;
    EXPECT_NE(refusal(db, "COPY (SELECT 2) TO '" + to + "' (FORMAT csv)"), "") << name;
  }
  EXPECT_EQ(bytes_of(folder_ / "catalog.json"), catalog);
  EXPECT_EQ(refusal(db, "COPY t TO '" + scratch_.file("out.csv") + "'"), "");
  EXPECT_EQ(refusal(db, "COPY t TO '" + scratch_.file("out.csv") + "'"), "");
  EXPECT_EQ(bytes_of(scratch_.path() / "out.csv"), "\"a\"\n1\n");
}

TEST_F(DurableDatabase, TheIndexOfAKeyCannotBeDropped) {
  const auto check = [](database& db) {
    for (const std::string index : {"t_pkey", "t_b_key", "t_b_c_key"}) {
      const auto said = refusal(db, "DROP INDEX " + index);
      EXPECT_NE(said.find("'" + index + "'"), std::string::npos) << said;
      EXPECT_NE(said.find(index == "t_pkey" ? "PRIMARY KEY" : "UNIQUE"), std::string::npos) << said;
      EXPECT_NE(said.find("CREATE TABLE"), std::string::npos) << "says what to do instead: " << said;
    }
    EXPECT_NE(refusal(db, "INSERT INTO t VALUES (1, 2, 3)"), "");
  };
  {
    auto db = opened();
    db.execute("CREATE TABLE t (a integer PRIMARY KEY, b integer UNIQUE, c integer, UNIQUE (b, c))");
    db.execute("INSERT INTO t VALUES (1, 1, 1)");
    db.execute("CREATE UNIQUE INDEX own ON t (c)");
    check(db);
  }
  auto db = opened();
  check(db);
  EXPECT_EQ(refusal(db, "DROP INDEX own"), "");
  EXPECT_EQ(refusal(db, "DROP INDEX IF EXISTS nothing"), "");
  db.execute("INSERT INTO t VALUES (2, 2, 1)");
  EXPECT_EQ(first_value(db, "SELECT count(*) FROM t"), "2");
  EXPECT_EQ(refusal(db, "DROP TABLE t"), "");
}

void cut_first_rows_file(const std::filesystem::path& folder) {
  std::filesystem::path first;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto name = entry.path().filename().string();
    if (name.starts_with("rows-") && (first.empty() || name < first.filename().string())) first = entry.path();
  }
  std::filesystem::resize_file(first, std::filesystem::file_size(first) - 1);
}

TEST_F(DurableDatabase, ADamagedTableLeavesTheOthersUsable) {
  {
    auto db = opened();
    db.run_script(
        "CREATE TABLE bad AS SELECT 1 AS a; CREATE TABLE good (b integer PRIMARY KEY); INSERT INTO good VALUES (1);");
  }
  cut_first_rows_file(folder_);
  {
    auto db = opened();
    ASSERT_EQ(db.warnings().size(), 1U);
    EXPECT_NE(db.warnings()[0].find("Table 'bad'"), std::string::npos) << db.warnings()[0];
    EXPECT_EQ(first_value(db, "SELECT b FROM good"), "1");
    db.execute("INSERT INTO good VALUES (2)");
    for (const std::string sql :
         {"SELECT * FROM bad", "SELECT count(*) FROM good, bad", "INSERT INTO bad VALUES (2)", "DELETE FROM bad",
          "CREATE INDEX i ON bad (a)", "CREATE TABLE bad (c integer)", "CREATE TABLE IF NOT EXISTS bad (c integer)"}) {
      try {
        (void)db.execute(sql);
        ADD_FAILURE() << sql;
      } catch (const sql_error& e) {
        EXPECT_EQ(e.kind(), error_kind::damaged) << sql;
        EXPECT_EQ(e.sqlstate(), "XX001") << sql;
        EXPECT_NE(e.sentence().find("Table 'bad' cannot be read: "), std::string::npos) << e.what();
        EXPECT_NE(e.sentence().find("rows-"), std::string::npos) << e.what();
      }
    }
  }
  auto db = opened();
  EXPECT_EQ(db.warnings().size(), 1U) << "still there, and still damaged";
  EXPECT_EQ(first_value(db, "SELECT count(*) FROM good"), "2");
  EXPECT_EQ(db.execute("DROP TABLE bad").tag, "DROP TABLE");
  db.execute("CREATE TABLE bad (c integer)");
  EXPECT_EQ(first_value(db, "SELECT count(*) FROM bad"), "0");
}

// A byte that is another in a file of the same size: only who reads it can tell.
void flip_a_byte_of_rows(const std::filesystem::path& folder, std::size_t which) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().filename().string().starts_with("rows-")) found.push_back(entry.path());
  }
  std::ranges::sort(found);
  std::fstream file(found.at(which), std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(64);
  const int before = file.get();
  file.seekp(64);
  file.put(static_cast<char>(before ^ 1));
}

TEST_F(DurableDatabase, TablesAreReadWhenAStatementNamesThem) {
  {
    auto db = opened();
    db.run_script(
        "CREATE TABLE bad AS SELECT 1 AS a; CREATE TABLE good (b integer PRIMARY KEY); INSERT INTO good VALUES (1);"
        "CREATE TABLE wrong AS SELECT 2 AS c; CREATE INDEX wrong_c ON wrong (c)");
  }
  flip_a_byte_of_rows(folder_, 0);
  flip_a_byte_of_rows(folder_, 2);
  {
    auto db = opened();
    EXPECT_TRUE(db.warnings().empty());
    EXPECT_EQ(first_value(db, "SELECT b FROM good WHERE b = 1"), "1");
    db.execute("INSERT INTO good VALUES (2)");
    EXPECT_NE(refusal(db, "SELECT * FROM goood").find("did you mean 'good'"), std::string::npos);
    EXPECT_NE(refusal(db, "CREATE INDEX wrong_c ON good (b)").find("already"), std::string::npos);
    EXPECT_TRUE(db.warnings().empty()) << "none of this has read the other tables: " << db.warnings()[0];
    for (int i = 0; i < 2; ++i) {
      try {
        (void)db.execute("SELECT * FROM bad");
        ADD_FAILURE();
      } catch (const sql_error& e) {
        EXPECT_EQ(e.sqlstate(), "XX001");
        EXPECT_NE(e.sentence().find("Table 'bad' cannot be read: "), std::string::npos) << e.what();
        EXPECT_NE(e.sentence().find("checksum"), std::string::npos) << e.what();
      }
    }
    ASSERT_EQ(db.warnings().size(), 1U);
    EXPECT_NE(db.warnings()[0].find("DROP TABLE gives this one up"), std::string::npos);
    EXPECT_EQ(db.execute("DROP TABLE bad").tag, "DROP TABLE");
    EXPECT_EQ(db.execute("DROP TABLE wrong").tag, "DROP TABLE") << "it was never read";
    EXPECT_EQ(db.warnings().size(), 1U);
  }
  auto db = opened();
  EXPECT_EQ(first_value(db, "SELECT sum(b) FROM good"), "3");
  EXPECT_EQ(db.tables().names(), std::vector<std::string>{"good"});
}

TEST_F(DurableDatabase, TablesThatWereNotReadStayAsTheyAre) {
  {
    auto db = opened();
    db.run_script(
        "CREATE TABLE a (x integer PRIMARY KEY); INSERT INTO a VALUES (1); CREATE TABLE b AS SELECT 2 AS y;"
        "DELETE FROM b; INSERT INTO b VALUES (3); CREATE INDEX b_y ON b USING blink (y)");
  }
  const auto index_files = [&] {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with("index-")) found.push_back(entry.path().filename().string());
    }
    std::ranges::sort(found);
    return found;
  };
  const auto files = index_files();
  for (int i = 0; i < 3; ++i) opened().execute("CREATE TABLE c" + std::to_string(i) + " AS SELECT 1 AS z");
  {
    auto db = opened();  // read inside a transaction, by a statement that stays and by one that does not
    db.run_script("BEGIN; SELECT * FROM a; INSERT INTO b VALUES (4); ROLLBACK; BEGIN; DROP TABLE a; ROLLBACK");
    EXPECT_EQ(first_value(db, "SELECT x FROM a WHERE x = 1"), "1");
    EXPECT_EQ(first_value(db, "SELECT count(*) FROM b WHERE y >= 0"), "1");
  }
  EXPECT_EQ(index_files(), files) << "no index was written again";
  auto db = opened();
  EXPECT_EQ(first_value(db, "SELECT y FROM b WHERE y >= 0"), "3");
  EXPECT_EQ(first_value(db, "SELECT x FROM a"), "1");
  EXPECT_EQ(first_value(db, "SELECT z FROM c2"), "1");
  EXPECT_TRUE(db.warnings().empty());
}

TEST_F(DurableDatabase, TextBeyondTheLimitOfAnArrayIsSplit) {
  {
    auto db = opened();
    db.execute("CREATE TABLE docs AS SELECT 1 AS id, 'short' AS body");
    for (int i = 0; i < 8; ++i) db.execute("INSERT INTO docs SELECT id, body FROM docs");
    const lowered_text_limit limit(20'000);
    const std::string hundred(100, 'x');
    db.execute("UPDATE docs SET body = '" + hundred + "'");  // 256 rows of 100 bytes
    EXPECT_EQ(first_value(db, "SELECT sum(length(body)) FROM docs"), "25600");
    db.execute("UPDATE docs SET body = replace(body, 'x', 'yyy')");
    db.execute("CREATE TABLE copied AS SELECT upper(body) || body AS doubled FROM docs");
    EXPECT_NE(refusal(db, "UPDATE docs SET body = '" + std::string(20'001, 'z') + "'"), "") << "one value is too long";
  }
  auto db = opened();
  EXPECT_TRUE(db.warnings().empty());
  EXPECT_EQ(first_value(db, "SELECT count(*) FROM docs WHERE length(body) = 300 AND body LIKE 'yyy%'"), "256");
  EXPECT_EQ(first_value(db, "SELECT count(*) FROM copied WHERE length(doubled) = 600"), "256");
  db.execute("UPDATE docs SET body = body || '!'");
  EXPECT_EQ(first_value(db, "SELECT sum(length(body)) FROM docs"), "77056");
}

// With the real limit: 131,072 rows of 17,000 bytes are 2.2 GB of text.
TEST_F(DurableDatabase, LargeTextOfAnUpdateIsFoundAgain) {
  {
    auto db = opened();
    db.execute("CREATE TABLE docs AS SELECT 0 AS id, 'short' AS body");
    for (int i = 1; i < 131'072; i *= 2) {
      db.execute("INSERT INTO docs SELECT id + " + std::to_string(i) + ", body FROM docs");
    }
    db.execute("CREATE INDEX by_id ON docs (id)");
    EXPECT_EQ(db.execute("UPDATE docs SET body = '" + std::string(17'000, 'x') + "'").tag, "UPDATE 131072");
  }
  auto db = opened();
  EXPECT_TRUE(db.warnings().empty());
  EXPECT_EQ(first_value(db, "SELECT count(*) FROM docs"), "131072");
  EXPECT_EQ(first_value(db, "SELECT length(body) FROM docs WHERE id = 131071"), "17000");
  EXPECT_EQ(db.execute("DROP TABLE docs").tag, "DROP TABLE");
}

TEST_F(DurableDatabase, StatementsOverFilesCanBePrepared) {
  const auto path = scratch_.file("numbers.csv");
  std::ofstream(path) << "a,b\n1,10\n2,20\n3,30\n";
  database db;
  arrow::Int64Builder builder;
  ASSERT_TRUE(builder.AppendValues({1, 2}).ok());
  const auto parameters = arrow::Table::Make(arrow::schema({arrow::field("p", arrow::int64())}), {*builder.Finish()});
  auto statement = db.prepare("SELECT sum(b) FROM read_csv('" + path + "') WHERE a > $1");
  EXPECT_EQ(statement.parameters(), 1U);
  const auto rows = statement.execute(*parameters).rows;
  ASSERT_EQ(rows->num_rows(), 2);
  EXPECT_EQ((*rows->column(1)->GetScalar(0))->ToString(), "50");
  EXPECT_EQ((*rows->column(1)->GetScalar(1))->ToString(), "30");
}

TEST_F(DurableDatabase, ErrorsHaveAKindAndASqlstate) {
  auto db = opened();
  db.execute("CREATE TABLE t (a integer PRIMARY KEY, b integer NOT NULL)");
  db.execute("INSERT INTO t VALUES (1, 1)");
  const std::string long_name(400, 'n');
  struct expectation {
    std::string sql;
    error_kind kind;
    std::string_view sqlstate;
  };
  for (const auto& [sql, kind, sqlstate] :
       {expectation{"SELEC 1", error_kind::syntax, "42601"}, expectation{"SELECT '\xe9'", error_kind::syntax, "22021"},
        expectation{"SELECT c FROM t", error_kind::refused, "42703"},
        expectation{"DROP TABLE u", error_kind::refused, "42P01"},
        expectation{"INSERT INTO u VALUES (1)", error_kind::refused, "42P01"},
        expectation{"DROP INDEX u", error_kind::refused, "42704"},
        expectation{"CREATE TABLE t (c integer)", error_kind::refused, "42P07"},
        expectation{"CREATE INDEX t_pkey ON t (b)", error_kind::refused, "42710"},
        expectation{"DROP INDEX t_pkey", error_kind::refused, "2BP01"},
        expectation{"SELECT 1 / (b - 1) FROM t", error_kind::execution, "22012"},
        expectation{"INSERT INTO t VALUES (1, 2)", error_kind::constraint, "23505"},
        expectation{"INSERT INTO t VALUES (2, NULL)", error_kind::constraint, "23502"},
        expectation{"COPY t FROM '" + long_name + ".csv'", error_kind::file, "58030"},
        expectation{"COPY t FROM 'none.csv'", error_kind::file, "58P01"}}) {
    try {
      (void)db.execute(sql);
      ADD_FAILURE() << sql;
    } catch (const sql_error& e) {
      EXPECT_EQ(e.kind(), kind) << sql << ": " << e.what();
      EXPECT_EQ(e.sqlstate(), sqlstate) << sql << ": " << e.what();
    }
  }
}

TEST_F(DurableDatabase, ExceptionsOfLibrariesDoNotReachTheCaller) {
  auto db = opened();
  const auto latin = scratch_.file("latin.csv");
  std::ofstream(latin) << "a,caf\xe9\n1,2\n";
  for (const std::string& sql :
       {"SELECT * FROM read_csv('" + std::string(5000, 'n') + "')",
        "CREATE TABLE t AS SELECT * FROM read_csv('" + latin + "')", "SELECT * FROM read_csv('" + latin + "')",
        std::string("CREATE TABLE \"caf\xe9\" (a integer)")}) {
    EXPECT_THROW((void)db.execute(sql), sql_error) << sql;
  }
  EXPECT_THROW(database(options_for(std::string(5000, 'd'))), engine_error);
  EXPECT_THROW(database(options_for(scratch_.path() / "none", true)), engine_error);
}

TEST_F(DurableDatabase, WhatProgressThrowsReachesTheCaller) {
  database db;
  const auto path = scratch_.file("one.parquet");
  db.execute("COPY (SELECT 1 AS a) TO '" + path + "'");
  struct own_exception {};
  EXPECT_THROW(
      (void)db.execute("SELECT * FROM read_parquet('" + path + "')", [](auto, auto, auto) { throw own_exception(); }),
      own_exception);
}

// What is in memory is then not what is in the folder: neither is answered from.
TEST_F(DurableDatabase, AfterACommitThatCouldNotBeMadeTheDatabaseHasToBeOpenedAgain) {
  {
    auto db = opened();
    db.execute("CREATE TABLE t AS SELECT 1 AS a");
    const auto older = bytes_of(folder_ / "catalog.json");
    db.execute("CREATE TABLE u AS SELECT 2 AS a");
    std::ofstream(folder_ / "catalog.json", std::ios::binary) << older;  // another program has been here
    try {
      (void)db.execute("INSERT INTO t VALUES (3)");
      ADD_FAILURE() << "written over the other program's catalog";
    } catch (const sql_error& e) {
      EXPECT_EQ(e.kind(), error_kind::in_use) << e.what();
    }
    EXPECT_NE(refusal(db, "SELECT a FROM t").find("opened again"), std::string::npos);
    EXPECT_NE(refusal(db, "INSERT INTO t VALUES (4)").find("opened again"), std::string::npos);
  }
  auto db = opened();
  EXPECT_EQ(first_value(db, "SELECT sum(a) FROM t"), "1");
  EXPECT_NE(refusal(db, "SELECT * FROM u"), "");
}

TEST_F(DurableDatabase, IndexesThatCannotBeSavedAreReported) {
  auto db = opened();
  db.execute("CREATE TABLE t (a integer PRIMARY KEY)");
  db.execute("INSERT INTO t VALUES (1)");
  for (int i = 1; i < 100; ++i) {  // in the way of every temporary file that could come next
    std::filesystem::create_directory(
        folder_ / ("index-0000" + std::string(i < 10 ? "0" : "") + std::to_string(i) + ".sections.part"));
  }
  EXPECT_THROW(db.save_indexes(), sql_error);
  EXPECT_EQ(first_value(db, "SELECT a FROM t"), "1") << "nothing but the file of the index is missing";
}

TEST_F(DurableDatabase, ReadOnlyReadsBesideAWriterAndChangesNothing) {
  auto writer = opened();
  writer.execute("CREATE TABLE t (a integer PRIMARY KEY)");
  writer.execute("INSERT INTO t VALUES (1)");
  database reader(options_for(folder_, true));
  writer.execute("INSERT INTO t VALUES (2)");
  EXPECT_EQ(first_value(reader, "SELECT count(*) FROM t WHERE a >= 0"), "1");
  for (const std::string sql :
       {"INSERT INTO t VALUES (3)", "UPDATE t SET a = 4", "DELETE FROM t", "DROP TABLE t", "CREATE TABLE u (a integer)",
        "CREATE TABLE u AS SELECT 1 AS a", "DROP INDEX t_pkey", "CREATE INDEX i ON t (a)", "COPY t FROM 'x.csv'"}) {
    try {
      (void)reader.execute(sql);
      ADD_FAILURE() << sql;
    } catch (const sql_error& e) {
      EXPECT_EQ(e.sqlstate(), "25006") << sql;
    }
  }
  EXPECT_EQ(refusal(reader, "COPY t TO '" + scratch_.file("out.csv") + "'"), "");
  EXPECT_EQ(refusal(reader, "EXPLAIN SELECT * FROM t"), "");
  database next(options_for(folder_, true));
  EXPECT_EQ(first_value(next, "SELECT count(*) FROM t"), "2");
}

}  // namespace
}  // namespace espalier::engine
