// truncated_file_test.cpp - statements over a database of which another process truncates a file, and index files that
// statements do not read.
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "engine/catalog.hpp"
#include "engine/store/store.hpp"
#include "espalier/engine/database.hpp"
#include "support/scratch_folder.hpp"
#include "support/truncate_in_child.hpp"

namespace espalier::engine {
namespace {

constexpr int row_count = 300000;

class TruncatedFile : public testing::Test {
 protected:
  TruncatedFile() {
    auto db = opened();
    db.run_script("CREATE TABLE small AS SELECT 7 AS x");
    before_ = files("");
    db.run_script("CREATE TABLE t AS SELECT i AS id, i % 1000 AS a, 'text ' || i AS s FROM generate_series(1, " +
                  std::to_string(row_count) + ") r(i)");
  }

  [[nodiscard]] database opened() const {
    database_options options;
    options.path = folder_;
    options.device = device::cpu();
    return database(options);
  }
  [[nodiscard]] std::vector<std::filesystem::path> files(const std::string& beginning) const {
    std::vector<std::filesystem::path> out;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with(beginning)) out.push_back(entry.path());
    }
    std::ranges::sort(out);
    return out;
  }
  /// Returns the largest file of the rows of t.
  [[nodiscard]] std::filesystem::path rows_of_t() const {
    auto rows = files("rows-");
    std::erase_if(rows, [&](const auto& path) { return std::ranges::find(before_, path) != before_.end(); });
    return *std::ranges::max_element(rows, {}, [](const auto& path) { return std::filesystem::file_size(path); });
  }
  static void cut_half(const std::filesystem::path& path) {
    test::truncate_in_child(path, static_cast<off_t>(std::filesystem::file_size(path) / 2));
  }
  static std::string value(database& db, const std::string& sql, const cancellation_token& stop = {}) {
    return (*db.execute(sql, {}, stop).rows->column(0)->GetScalar(0))->ToString();
  }
  /// Expects the error that names table and file.
  static void expect_damage(database& db, const std::string& sql, const std::filesystem::path& file,
                            const cancellation_token& stop = {}) {
    try {
      (void)db.execute(sql, {}, stop);
      ADD_FAILURE() << sql << " has a result";
    } catch (const sql_error& e) {
      const std::string what = e.what();
      EXPECT_EQ(e.code().sqlstate, "XX001") << sql << ": " << what;
      EXPECT_NE(what.find(file.string()), std::string::npos) << what;
      EXPECT_NE(what.find("Table 't'"), std::string::npos) << what;
    }
  }
  static std::string catalog_of(const std::filesystem::path& folder) {
    std::ifstream in(folder / "catalog.json", std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::vector<std::string> open_indexes(const database& db) {
    std::vector<std::string> out;
    for (const auto& index : db.tables().find("t")->indexes) {
      if (index->is_open()) out.push_back(index->spec().name);
    }
    return out;
  }

  const test::scratch_folder scratch_;
  const std::filesystem::path folder_ = scratch_.path() / "db";
  std::vector<std::filesystem::path> before_;
};

TEST_F(TruncatedFile, BetweenStatements) {
  auto db = opened();
  EXPECT_EQ(value(db, "SELECT sum(id) FROM t"), "45000150000");
  const auto file = rows_of_t();
  cut_half(file);
  expect_damage(db, "SELECT sum(id) FROM t", file);
  expect_damage(db, "SELECT count(*) FROM small, t", file);
  expect_damage(db, "DELETE FROM t WHERE id = 5", file);
  expect_damage(db, "CREATE INDEX by_a ON t (a)", file);
  EXPECT_EQ(value(db, "SELECT x FROM small"), "7");
  db.execute("INSERT INTO small VALUES (8)");
  EXPECT_EQ(value(db, "SELECT count(*) FROM small"), "2");
  db.execute("DROP TABLE t");
  db.execute("CREATE TABLE t AS SELECT 1 AS id");
  EXPECT_EQ(value(db, "SELECT id FROM t"), "1");
}

TEST_F(TruncatedFile, BeforeTheFirstStatement) {
  auto db = opened();
  const auto file = rows_of_t();
  cut_half(file);
  expect_damage(db, "SELECT sum(id) FROM t", file);
  EXPECT_EQ(value(db, "SELECT x FROM small"), "7");
}

// The file is truncated by the first check for cancellation after the statement has begun to read blocks of rows.
TEST_F(TruncatedFile, WhileAStatementReads) {
  for (const std::string sql :
       {"SELECT sum(id) FROM t", "SELECT sum(10 / id) FROM t", "SELECT a, max(length(s)) FROM t GROUP BY a",
        "CREATE TABLE copy AS SELECT id + 1 AS id FROM t", "UPDATE t SET a = a + 1 WHERE id > 5"}) {
    auto db = opened();
    EXPECT_EQ(value(db, "SELECT count(*) FROM t WHERE id > 0"), std::to_string(row_count));
    const auto file = rows_of_t();
    const auto bytes = std::filesystem::file_size(file);
    const auto catalog = catalog_of(folder_);
    std::ifstream in(file, std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(in), {}};
    std::atomic<int> checks = 0;
    expect_damage(db, sql, file, [&] {
      // All but the beginning of the first column is lost; the other columns follow it.
      if (checks.fetch_add(1) == 1) test::truncate_in_child(file, 4096);
      return false;
    });
    EXPECT_GT(checks.load(), 1) << sql << " was not interrupted";
    EXPECT_EQ(catalog_of(folder_), catalog) << sql << " has committed";
    EXPECT_EQ(value(db, "SELECT x FROM small"), "7");
    std::ofstream(file, std::ios::binary) << content;  // for the next statement
    ASSERT_EQ(std::filesystem::file_size(file), bytes);
  }
}

TEST_F(TruncatedFile, InATransaction) {
  auto db = opened();
  db.execute("BEGIN");
  db.execute("CREATE TABLE copy AS SELECT * FROM t");
  const auto file = rows_of_t();
  const auto catalog = catalog_of(folder_);
  cut_half(file);
  expect_damage(db, "COMMIT", file);
  EXPECT_EQ(db.transaction(), transaction_status::none);
  EXPECT_EQ(catalog_of(folder_), catalog);
  EXPECT_EQ(value(db, "SELECT x FROM small"), "7");
  EXPECT_THROW(db.execute("SELECT count(*) FROM copy"), error) << "COMMIT was rolled back";
}

TEST_F(TruncatedFile, PreparedStatements) {
  auto db = opened();
  auto statement = db.prepare("SELECT s FROM t WHERE id = 17");
  const auto no_parameters = arrow::Table::Make(arrow::schema({}), std::vector<std::shared_ptr<arrow::Array>>{}, 1);
  EXPECT_EQ(statement.execute(*no_parameters).rows->num_rows(), 1);
  const auto file = rows_of_t();
  cut_half(file);
  try {
    (void)statement.execute(*no_parameters);
    ADD_FAILURE() << "has a result";
  } catch (const sql_error& e) {
    EXPECT_EQ(e.code().sqlstate, "XX001") << e.what();
  }
}

class IndexFilesInUse : public TruncatedFile {
 protected:
  IndexFilesInUse() {
    auto db = opened();
    db.execute("CREATE INDEX by_id ON t (id)");
    by_id_ = files("index-").at(0);
    db.execute("CREATE INDEX by_a ON t (a)");
    by_a_ = files("index-").at(1);
    db.execute("CREATE INDEX by_s ON t (s)");
  }
  /// Changes a byte in the middle of a file, which only a checksum of its content detects.
  static void damage(const std::filesystem::path& path) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    const auto middle = static_cast<std::streamoff>(std::filesystem::file_size(path) / 2);
    file.seekg(middle);
    const char byte = static_cast<char>(file.get() ^ 1);
    file.seekp(middle);
    file.put(byte);
  }
  std::filesystem::path by_id_, by_a_;
};

TEST_F(IndexFilesInUse, OnlyFilesThatTheStatementNeedsAreRead) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> statements = {
      {"SELECT max(length(s)) FROM t", {}},
      {"SELECT sum(id + a) FROM t", {}},
      {"SELECT s FROM t WHERE id = 17", {"by_id"}},
      {"SELECT id FROM t WHERE s = 'text 17'", {"by_s"}},
      {"SELECT s FROM t WHERE id = 17 AND a = 17", {"by_id", "by_a"}},  // the planner compares both
      {"SELECT s FROM t ORDER BY a LIMIT 1", {"by_a"}},
      {"INSERT INTO t VALUES (0, 0, '')", {"by_id", "by_a", "by_s"}},
  };
  for (const auto& [sql, expected] : statements) {
    auto db = opened();
    db.execute(sql);
    EXPECT_EQ(open_indexes(db), expected) << sql;
  }
}

TEST_F(IndexFilesInUse, ADamagedFileThatIsNotUsedIsNotNoticed) {
  damage(by_a_);
  auto db = opened();
  EXPECT_EQ(value(db, "SELECT s FROM t WHERE id = 17"), "text 17");
  EXPECT_EQ(value(db, "SELECT id FROM t WHERE s = 'text 17'"), "17");
  EXPECT_TRUE(db.warnings().empty()) << db.warnings()[0];
  EXPECT_EQ(value(db, "SELECT count(*) FROM t WHERE a = 17"), "300");
  ASSERT_EQ(db.warnings().size(), 1U);
  EXPECT_NE(db.warnings()[0].find(by_a_.string()), std::string::npos) << db.warnings()[0];
  EXPECT_NE(db.warnings()[0].find("'by_a'"), std::string::npos) << db.warnings()[0];
}

TEST_F(IndexFilesInUse, ADamagedFileStaysUntilItIsUsedAndIsReplacedThen) {
  damage(by_a_);
  { EXPECT_EQ(value(*std::make_unique<database>(opened()), "SELECT s FROM t WHERE id = 17"), "text 17"); }
  EXPECT_TRUE(std::filesystem::exists(by_a_));
  EXPECT_EQ(verify(folder_).problems.size(), 1U);
  { EXPECT_EQ(value(*std::make_unique<database>(opened()), "SELECT count(*) FROM t WHERE a = 17"), "300"); }
  EXPECT_TRUE(verify(folder_).problems.empty());
}

TEST_F(IndexFilesInUse, ADamagedFileIsReplacedAfterARollback) {
  damage(by_a_);
  {
    auto db = opened();
    db.execute("BEGIN");
    db.execute("INSERT INTO t VALUES (0, 17, '')");
    EXPECT_EQ(value(db, "SELECT count(*) FROM t WHERE a = 17"), "301");
    db.execute("ROLLBACK");
    EXPECT_EQ(value(db, "SELECT count(*) FROM t WHERE a = 17"), "300");
    EXPECT_EQ(db.warnings().size(), 1U);
  }
  EXPECT_TRUE(verify(folder_).problems.empty());
  auto db = opened();
  EXPECT_EQ(value(db, "SELECT count(*) FROM t WHERE a = 17"), "300");
  EXPECT_TRUE(db.warnings().empty());
}

TEST_F(IndexFilesInUse, AFileThatIsTruncatedBeforeItsFirstUseIsReplaced) {
  auto db = opened();
  EXPECT_EQ(value(db, "SELECT s FROM t WHERE id = 17"), "text 17");
  cut_half(by_a_);
  EXPECT_EQ(value(db, "SELECT s FROM t WHERE id = 18"), "text 18");
  EXPECT_TRUE(db.warnings().empty());
  EXPECT_EQ(value(db, "SELECT count(*) FROM t WHERE a = 17"), "300");
  EXPECT_EQ(db.warnings().size(), 1U);
}

TEST_F(IndexFilesInUse, AFileThatIsTruncatedWhileItIsUsedIsAnError) {
  auto db = opened();
  EXPECT_EQ(value(db, "SELECT s FROM t WHERE id = 17"), "text 17");
  cut_half(by_id_);
  expect_damage(db, "SELECT s FROM t WHERE id = 18", by_id_);
  EXPECT_EQ(value(db, "SELECT x FROM small"), "7");
}

}  // namespace
}  // namespace espalier::engine
