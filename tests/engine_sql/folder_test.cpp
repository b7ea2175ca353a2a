// Databases in a folder: what one process leaves is what the next one finds.
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "engine/catalog.hpp"
#include "engine/store/store.hpp"
#include "espalier/engine/database.hpp"
#include "support/scratch_folder.hpp"

namespace espalier::engine {
namespace {

class EngineFolder : public testing::Test {
 protected:
  [[nodiscard]] database open() const {
    database_options options;
    options.path = folder_;
    options.device = device::cpu();
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

  const test::scratch_folder scratch_;
  const std::filesystem::path folder_ = scratch_.path() / "db";  // not there yet
};

// A statement that could use several indexes builds the tree of the one that it uses.
TEST_F(EngineFolder, OnlyTheIndexThatIsUsedIsBuilt) {
  {
    auto db = open();
    db.run_script(
        "CREATE TABLE t AS SELECT i AS id, i % 2 AS a, 'text ' || (i % 3) AS s FROM generate_series(1, 9000) r(i);"
        "CREATE INDEX by_id ON t (id); CREATE INDEX by_a ON t USING blink (a); CREATE INDEX by_s ON t (s)");
  }
  database_options options;
  options.path = folder_;
  options.device = device::cpu();
  for (const bool explains : {true, false}) {
    database db(options);
    const std::string sql = "SELECT s FROM t WHERE id = 17 AND a = 1 AND s = 'text 2'";
    if (explains) {
      const auto plan = db.execute("EXPLAIN " + sql).plan;
      EXPECT_NE(plan.find("by_id"), std::string::npos) << plan;
    } else {
      EXPECT_EQ(value(db, sql), "text 2");
    }
    std::string built;
    for (const auto& index : db.tables().all().at(0)->indexes) {
      if (index->is_built()) built += index->spec().name + " ";
    }
    EXPECT_EQ(built, explains ? "" : "by_id ");
    check_indexes(db, 3);
  }
}

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

std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Nothing of a file in which one byte is another, for bytes all over it; then the file without its end, and no file.
TEST_F(EngineFolder, ADamagedIndexIsNamedAndBuiltAnew) {
  {
    std::string rows = "(0, 'n0')";
    for (int i = 1; i < 1000; ++i) rows += fmt::format(", ({0}, 'n{0}')", i);
    auto db = open();
    db.run_script(
        "CREATE TABLE other (x integer); INSERT INTO other VALUES (7);"
        "CREATE TABLE t (id integer PRIMARY KEY, s varchar); INSERT INTO t VALUES " +
        rows + "; CREATE INDEX by_s ON t (s);");
  }
  const auto index_files = [&] {
    std::vector<std::filesystem::path> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with("index-")) found.push_back(entry.path());
    }
    return found;
  };
  constexpr int ways = 12;
  for (int way = 0; way < ways; ++way) {
    const auto files = index_files();
    ASSERT_EQ(files.size(), 2U);
    const auto& file = files[static_cast<std::size_t>(way) % 2];
    auto bytes = file_bytes(file);
    if (way == 0) {
      std::filesystem::remove(file);
    } else {
      if (way < 3) bytes.resize(bytes.size() / static_cast<std::size_t>(way) - 1);
      if (way >= 3) bytes[bytes.size() * static_cast<std::size_t>(way - 3) / ways] ^= 4;
      std::ofstream(file, std::ios::binary) << bytes;
    }
    EXPECT_EQ(verify(folder_).problems.size(), 1U) << way;
    database_options whole{.path = folder_, .device = device::cpu(), .rebuild_damaged_indexes = false};
    {
      const database verified(whole);
      EXPECT_THROW((void)verified.tables().all(), error) << way;
    }
    auto db = open();
    EXPECT_EQ(value(db, "SELECT x FROM other"), "7");
    EXPECT_TRUE(db.warnings().empty()) << "the table was not used yet";
    EXPECT_EQ(value(db, "SELECT id FROM t WHERE s = 'n500'"), "500");
    EXPECT_EQ(value(db, "SELECT s FROM t WHERE id = 999"), "n999");
    ASSERT_EQ(db.warnings().size(), 1U) << way << ": both indexes were used";
    EXPECT_NE(db.warnings()[0].find(file.filename().string()), std::string::npos) << db.warnings()[0];
    check_indexes(db, 2);
  }
  EXPECT_TRUE(verify(folder_).problems.empty());
  auto db = open();
  EXPECT_TRUE(db.warnings().empty());
  check_indexes(db, 2);
}

TEST_F(EngineFolder, DamagedRowsAreRefused) {
  { open().run_script("CREATE TABLE t (id integer PRIMARY KEY); INSERT INTO t VALUES (1), (2);"); }
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    if (!entry.path().filename().string().starts_with("rows-")) continue;
    const auto bytes = file_bytes(entry.path());
    std::ofstream(entry.path(), std::ios::binary) << bytes.substr(0, bytes.size() / 2);
    auto db = open();
    try {
      (void)db.execute("SELECT id FROM t");
      ADD_FAILURE() << "answered";
    } catch (const error& e) {
      EXPECT_NE(std::string(e.what()).find(entry.path().filename().string()), std::string::npos) << e.what();
    }
  }
}

TEST_F(EngineFolder, CopyWritesAndReadsFiles) {
  std::filesystem::create_directories(folder_);
  const auto file = [&](const char* name) { return (folder_ / name).string(); };
  database db({.path = {}, .device = device::cpu()});
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
