// Databases in a folder: what one process leaves is what the next one finds.
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "engine/catalog.hpp"
#include "engine/database.hpp"

namespace espalier::engine {
namespace {

class EngineFolder : public testing::Test {
 protected:
  EngineFolder()
      : folder_(std::filesystem::temp_directory_path() /
                ("espalier_engine_" + std::to_string(::getpid()) + "_" +
                 testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::remove_all(folder_);
  }
  ~EngineFolder() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] database open() const {
    database_options options;
    options.dir = folder_;
    options.where = device::cpu();
    options.prefer_indexes = true;
    return database(options);
  }
  static std::string value(database& db, const std::string& sql) {
    return (*db.execute(sql).rows->column(0)->GetScalar(0))->ToString();
  }
  static void check_indexes(const database& db, std::size_t count) {
    std::size_t seen = 0;
    for (const auto& entry : db.tables().all()) {
      for (const auto& index : entry->indexes) {
        EXPECT_EQ(index->validate(), "") << index->spec().name;
        ++seen;
      }
    }
    EXPECT_EQ(seen, count);
  }

  std::filesystem::path folder_;
};

TEST_F(EngineFolder, TablesAndIndexesAreFoundAgain) {
  {
    auto db = open();
    db.run_script(
        "CREATE TABLE t (id integer PRIMARY KEY, a integer NOT NULL, s varchar);"
        "INSERT INTO t VALUES (1, 10, 'x'), (2, 20, 'y'), (3, 30, NULL);"
        "CREATE INDEX by_a ON t USING static (a) INCLUDE (id);"
        "CREATE INDEX by_s ON t USING radix (s);");
  }
  auto db = open();
  EXPECT_EQ(value(db, "SELECT sum(id) FROM t WHERE a >= 20"), "5");
  EXPECT_EQ(value(db, "SELECT id FROM t WHERE s = 'y'"), "2");
  EXPECT_THROW(db.execute("INSERT INTO t VALUES (1, 1, 'again')"), error);
  EXPECT_THROW(db.execute("INSERT INTO t VALUES (4, NULL, 'no')"), error);
  check_indexes(db, 3);
}

TEST_F(EngineFolder, ChangesAreFoundAgain) {
  {
    auto db = open();
    db.run_script(
        "CREATE TABLE t (id integer, a integer); CREATE INDEX i ON t (a); INSERT INTO t VALUES (1, 1), (2, 2), (3, "
        "3);");
  }
  {
    auto db = open();
    db.execute("UPDATE t SET a = a + 10 WHERE id > 1");
    db.execute("DELETE FROM t WHERE id = 3");
    db.execute("INSERT INTO t VALUES (4, 40)");
  }
  {
    auto db = open();
    EXPECT_EQ(value(db, "SELECT sum(a) FROM t WHERE a > 0"), "53");
    check_indexes(db, 1);
    db.execute("DROP INDEX i");
    db.execute("CREATE TABLE other AS SELECT * FROM t");
    db.execute("DROP TABLE t");
  }
  auto db = open();
  EXPECT_FALSE(db.tables().find("t"));
  EXPECT_EQ(value(db, "SELECT count(*) FROM other"), "3");
  check_indexes(db, 0);
}

TEST_F(EngineFolder, AFailedStatementLeavesTheFolderAsItWas) {
  {
    auto db = open();
    db.run_script("CREATE TABLE t (id integer PRIMARY KEY); INSERT INTO t VALUES (1), (2);");
    EXPECT_THROW(db.execute("INSERT INTO t VALUES (3), (1)"), error);
    EXPECT_THROW(db.execute("INSERT INTO t SELECT id / 0 FROM t"), error);
  }
  auto db = open();
  EXPECT_EQ(value(db, "SELECT count(*) FROM t"), "2");
  check_indexes(db, 1);
}

TEST_F(EngineFolder, CopyWritesAndReadsFiles) {
  std::filesystem::create_directories(folder_);
  const auto file = [&](const char* name) { return (folder_ / name).string(); };
  database db({.dir = {}, .where = device::cpu()});
  db.run_script(
      "CREATE TABLE t (id integer, n numeric(10,2), s varchar, d date);"
      "INSERT INTO t VALUES (1, 1.5, 'a,\"b', '2024-01-02'), (2, NULL, 'ä', NULL);");
  for (const std::string format : {"csv", "parquet", "arrow"}) {
    const auto name = file(("t." + format).c_str());
    EXPECT_EQ(db.execute("COPY t TO '" + name + "'").tag, "COPY 2");
    db.execute("CREATE TABLE back (id integer, n numeric(10,2), s varchar, d date)");
    EXPECT_EQ(db.execute("COPY back FROM '" + name + "'").tag, "COPY 2");
    EXPECT_EQ(
        value(db,
              "SELECT count(*) FROM t JOIN back ON t.id = back.id AND t.s = back.s AND t.n IS NOT DISTINCT FROM back.n "
              "AND t.d IS NOT DISTINCT FROM back.d"),
        "2")
        << format;
    EXPECT_EQ(value(db, "SELECT count(*) FROM read_" + format + "('" + name + "') WHERE id > 1"), "1");
    db.execute("DROP TABLE back");
  }
  EXPECT_EQ(db.execute("COPY (SELECT id FROM t) TO '" + file("q.csv") + "' (FORMAT csv, HEADER false)").tag, "COPY 2");
  EXPECT_THROW(db.execute("COPY t FROM '" + file("none.csv") + "'"), error);
  EXPECT_THROW(db.execute("COPY t FROM '" + file("q.csv") + "'"), error);
  EXPECT_EQ(value(db, "SELECT count(*) FROM t"), "2");
}

}  // namespace
}  // namespace espalier::engine
