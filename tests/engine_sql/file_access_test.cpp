// file_access_test.cpp - database_options::allow_file_access: statements of others are kept from files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "espalier/engine/database.hpp"

namespace espalier::engine {
namespace {

class FileAccess : public testing::Test {
 protected:
  FileAccess() { std::filesystem::create_directories(folder_); }
  ~FileAccess() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string file(const std::string& name) const { return (folder_ / name).string(); }

  static void expect_refused(database& db, const std::string& statement) {
    try {
      db.execute(statement);
      FAIL() << statement;
    } catch (const sql_error& e) {
      EXPECT_EQ(e.sqlstate(), "42501") << statement << ": " << e.what();
    }
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("espalier-file-access-" + std::to_string(getpid()));
};

TEST_F(FileAccess, StatementsThatNameFilesAreRefusedWithoutIt) {
  std::ofstream(file("a.csv")) << "a\n1\n";
  database_options options;
  options.path = folder_ / "db";
  options.allow_file_access = false;
  database db(options);
  db.execute("CREATE TABLE t (a integer)");
  expect_refused(db, "SELECT * FROM read_csv('" + file("a.csv") + "')");
  expect_refused(db, "SELECT 1 WHERE EXISTS (SELECT * FROM read_parquet('" + file("none") + "'))");
  expect_refused(db, "CREATE TABLE u AS SELECT * FROM read_arrow('" + file("none") + "')");
  expect_refused(db, "INSERT INTO t SELECT * FROM read_csv('" + file("a.csv") + "')");
  expect_refused(db, "EXPLAIN SELECT * FROM read_csv('" + file("a.csv") + "')");
  expect_refused(db, "COPY t FROM '" + file("a.csv") + "'");
  expect_refused(db, "COPY t TO '" + file("b.csv") + "'");
  expect_refused(db, "COPY (SELECT 1 AS a) TO '" + file("b.csv") + "'");
  EXPECT_THROW((void)db.prepare("SELECT * FROM read_csv('" + file("a.csv") + "') WHERE a = $1"), sql_error);
  EXPECT_FALSE(std::filesystem::exists(file("b.csv")));
  EXPECT_EQ(db.execute("INSERT INTO t VALUES (7)").tag, "INSERT 0 1");
}

TEST_F(FileAccess, TheDefaultAllowsIt) {
  std::ofstream(file("a.csv")) << "a\n1\n";
  database db;
  EXPECT_EQ(db.execute("CREATE TABLE t AS SELECT * FROM read_csv('" + file("a.csv") + "')").tag, "SELECT 1");
  db.execute("COPY t TO '" + file("b.csv") + "'");
  EXPECT_TRUE(std::filesystem::exists(file("b.csv")));
}

}  // namespace
}  // namespace espalier::engine
