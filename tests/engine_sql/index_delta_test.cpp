// index_delta_test.cpp - index files that stay in the folder while rows of their tables come and go.
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "engine/catalog.hpp"
#include "engine/sql/parse.hpp"
#include "engine/statements/session.hpp"
#include "engine/store/store.hpp"
#include "engine_store/fault_layer.hpp"
#include "espalier/engine/database.hpp"
#include "support/less_work.hpp"
#include "support/recording_layer.hpp"
#include "support/scratch_folder.hpp"

namespace espalier::engine {
namespace {

// Real files, and how many bytes were written to each.
class counting_layer final : public file_layer {
 public:
  [[nodiscard]] std::size_t bytes(std::string_view beginning = "") const {
    std::size_t total = 0;
    for (const auto& [name, written] : written_) total += name.starts_with(beginning) ? written : 0;
    return total;
  }
  [[nodiscard]] int commits() const {
    const auto found = renamed_.find("catalog.json");
    return found == renamed_.end() ? 0 : found->second;
  }

 protected:
  std::size_t before(file_operation operation, const std::filesystem::path& path, std::size_t bytes) override {
    if (operation == file_operation::write) written_[path.filename().string()] += bytes;
    if (operation == file_operation::rename) ++renamed_[path.filename().string()];
    return bytes;
  }

 private:
  std::map<std::string, std::size_t> written_;
  std::map<std::string, int> renamed_;
};

const std::vector<std::string> questions_of_deltas = {
    "SELECT count(*), sum(id), min(id), max(id) FROM t WHERE a BETWEEN 10 AND 500",
    "SELECT count(*), sum(a) FROM t WHERE a = 7",
    "SELECT id, a FROM t WHERE id >= 50 ORDER BY id LIMIT 30",
    "SELECT id, a, s FROM t WHERE id BETWEEN 100 AND 130 ORDER BY id",
    "SELECT a FROM t WHERE a >= 20 ORDER BY a LIMIT 40",
    "SELECT id, s FROM t WHERE s >= 's1' AND s < 's3' ORDER BY s, id LIMIT 50",
    "SELECT count(*) FROM t WHERE s = 's42'",
    "SELECT count(*), sum(id) FROM t WHERE a IS NULL",
    "SELECT count(*), sum(id) FROM t WHERE s IS NULL",
    "SELECT count(*), sum(id) FROM t WHERE b = 3 AND a > 100",
    "SELECT count(*), sum(id) FROM t",
    "SELECT id FROM t ORDER BY a DESC, id LIMIT 20"};

class IndexDeltas : public testing::Test {
 protected:
  [[nodiscard]] database_options options(bool read_only = false, bool by_scan = false) const {
    database_options out;
    out.path = folder_;
    out.device = device::cpu();
    out.read_only = read_only;
    out.use_indexes = !by_scan;
    out.prefer_indexes = !by_scan;
    return out;
  }
  void run(const std::string& script) const {
    database db(options());
    db.run_script(script);
  }
  static std::string answers(database& db) {
    std::string text;
    for (const auto& sql : questions_of_deltas) {
      text += sql + "\n";
      const auto rows = *db.execute(sql).rows->CombineChunks();
      for (const auto& column : rows->columns()) {
        for (std::int64_t i = 0; i < column->length(); ++i) text += (*column->GetScalar(i))->ToString() + " ";
        text += "\n";
      }
    }
    return text;
  }
  /// Answers through indexes are those of a scan, and every index is that of its table.
  std::string expect_agreement(const std::string& when, std::size_t warnings = 0) const {
    database by_index(options(true));
    database by_scan(options(true, true));
    auto found = answers(by_index);
    EXPECT_EQ(found, answers(by_scan)) << when;
    for (const auto& entry : by_index.tables().all()) {
      for (const auto& index : entry->indexes) EXPECT_EQ(index->validate(), "") << when << ": " << index->spec().name;
    }
    EXPECT_EQ(by_index.warnings().size(), warnings) << when;
    return found;
  }
  [[nodiscard]] std::vector<std::string> index_files() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with("index-")) found.push_back(entry.path().filename().string());
    }
    std::ranges::sort(found);
    return found;
  }
  [[nodiscard]] std::string catalog_header() const {
    std::ifstream file(folder_ / "catalog.json");
    std::string line;
    std::getline(file, line);
    return line;
  }
  /// Rows 0 to n - 1, n a power of two; some values of a and s are NULL.
  static std::string table_of(int n) {
    std::string script =
        "CREATE TABLE t (id integer PRIMARY KEY, a bigint, b integer, s varchar);"
        "INSERT INTO t VALUES (0, 0, 0, 's0');";
    for (int i = 1; i < n; i *= 2) {
      script += fmt::format(
          "INSERT INTO t SELECT id + {0}, CASE WHEN id % 7 = 3 THEN NULL ELSE (id + {0}) % 1000 END, (id + {0}) % 5, "
          "CASE WHEN id % 11 = 5 THEN NULL ELSE 's' || ((id + {0}) % 100)::varchar END FROM t;",
          i);
    }
    return script;
  }
  static std::string indexes_of_all_kinds() {
    return "CREATE INDEX by_a_static ON t USING static (a); CREATE INDEX by_a_blink ON t USING blink (a);"
           "CREATE INDEX by_a_hybrid ON t USING hybrid (a); CREATE INDEX by_s ON t USING radix (s);"
           "CREATE INDEX by_b_a ON t (b, a); CREATE INDEX by_s_a ON t (s, a);";
  }

  const test::scratch_folder scratch_;
  const std::filesystem::path folder_ = scratch_.path() / "db";
};

TEST_F(IndexDeltas, OneChangedRowWritesNoIndex) {
  run(table_of(131'072) + indexes_of_all_kinds());
  const auto files = index_files();
  ASSERT_EQ(files.size(), 7U);
  constexpr std::size_t live_mask = 131'072 / 8;
  for (const auto& [sql, most] : {std::pair<std::string, std::size_t>{"INSERT INTO t VALUES (-1, 7, 3, 's42')", 20'000},
                                  {"UPDATE t SET a = 8 WHERE id = -1", 20'000 + live_mask},
                                  {"DELETE FROM t WHERE id = 77", 20'000 + live_mask},
                                  {"BEGIN; INSERT INTO t VALUES (-2, NULL, 3, NULL); COMMIT", 20'000}}) {
    counting_layer layer;
    {
      session open(options(), layer);
      for (const auto& statement : parse(sql)) open.run(statement, {}, {});
    }
    EXPECT_GT(layer.bytes(), 0U);
    EXPECT_LT(layer.bytes(), most) << sql;
    EXPECT_EQ(layer.bytes("index-"), 0U) << sql;
    expect_agreement(sql);
  }
  EXPECT_EQ(index_files(), files);
  EXPECT_TRUE(verify(folder_).problems.empty());
}

// The catalog has all tables, so a commit for each of 1,000 tables would write it 1,000 times.
TEST_F(IndexDeltas, IndexesOfManyTablesAreSavedByOneCommit) {
  std::string script = "BEGIN;";
  constexpr int tables = 40;
  for (int i = 0; i < tables; ++i) {
    script +=
        fmt::format("CREATE TABLE t{0} (id integer PRIMARY KEY, a integer); INSERT INTO t{0} VALUES ({0}, 7);", i);
  }
  counting_layer layer;
  session open(options(), layer);
  for (const auto& statement : parse(script + "COMMIT")) open.run(statement, {}, {});
  const int before = layer.commits();
  ASSERT_GT(before, 0);
  open.save_indexes();
  EXPECT_EQ(layer.commits(), before + 1);
  EXPECT_EQ(index_files().size(), std::size_t{tables});
  open.save_indexes();
  EXPECT_EQ(layer.commits(), before + 1) << "nothing has changed";
  EXPECT_TRUE(verify(folder_).problems.empty());
}

// If there is no room for all files at once, those that fit are written.
TEST_F(IndexDeltas, WhatCanBeSavedIsSavedAfterAFailure) {
  run("CREATE TABLE t1 (id integer PRIMARY KEY); CREATE TABLE t2 (id integer PRIMARY KEY); CREATE TABLE t3 (id "
      "integer)");
  class second_index_file_fails final : public file_layer {
   public:
    bool armed = false;
    int created = 0;

   protected:
    std::size_t before(file_operation operation, const std::filesystem::path& path, std::size_t bytes) override {
      if (!armed || operation != file_operation::create) return bytes;
      if (path.filename().string().starts_with("index-") && ++created == 2) throw error("The disk is full on purpose.");
      return bytes;
    }
  } layer;
  session open(options(), layer);
  for (const auto& statement : parse("INSERT INTO t1 SELECT * FROM generate_series(1, 2000);"
                                     "INSERT INTO t2 SELECT * FROM generate_series(1, 2000)")) {
    open.run(statement, {}, {});
  }
  layer.armed = true;
  open.save_indexes();
  EXPECT_GT(layer.created, 2) << "the files are tried one by one";
  EXPECT_EQ(index_files().size(), 2U);
  EXPECT_TRUE(verify(folder_).problems.empty());
}

TEST_F(IndexDeltas, FilesAreWrittenWhenMuchHasChanged) {
  run(table_of(32'768) + indexes_of_all_kinds());
  const auto files = index_files();
  run("INSERT INTO t SELECT -1 - id, a, b, s FROM t WHERE id < 1000");
  EXPECT_EQ(index_files(), files);
  run("DELETE FROM t WHERE id BETWEEN 2000 AND 2999");
  EXPECT_EQ(index_files(), files);
  expect_agreement("before");
  counting_layer layer;
  {
    session open(options(), layer);
    open.run(parse("UPDATE t SET a = a + 1 WHERE id BETWEEN 3000 AND 3999")[0], {}, {});
    EXPECT_EQ(layer.bytes("index-"), 0U) << "not by every statement, but at the end";
  }
  EXPECT_GT(layer.bytes("index-"), 32'768U * 6 * 8);
  for (const auto& file : index_files()) EXPECT_FALSE(std::ranges::binary_search(files, file)) << file;
  EXPECT_EQ(index_files().size(), files.size());
  expect_agreement("after");
}

// Statements of all kinds, few rows or many, over many lives of the database.
TEST_F(IndexDeltas, AnswersAreThoseOfAScanOverManyOpenings) {
  std::mt19937 random(5);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  run(table_of(4096) + indexes_of_all_kinds());
  int next = 4096;
  int kept = 0;
  int written = 0;
  for (int cycle = 0; cycle < 24 / static_cast<int>(test::less_work); ++cycle) {
    const auto before = index_files();
    std::string script;
    for (int statement = below(5); statement >= 0; --statement) {
      const int from = below(next);
      const int rows = below(6) == 0 ? 900 : 1 + below(20);
      switch (below(7)) {
        case 0:
          script += fmt::format("INSERT INTO t VALUES ({}, NULL, {}, NULL);", next++, below(9));
          break;
        case 1:
        case 2:
          script += fmt::format("INSERT INTO t SELECT id + {}, a, b, s || 'x' FROM t WHERE id < {} AND id >= 0;", next,
                                std::min(rows, next));
          next += std::min(rows, next);
          break;
        case 3:
          script += fmt::format("UPDATE t SET a = a + {}, s = 's{}' WHERE id BETWEEN {} AND {};", below(2000) - 1000,
                                below(100), from, from + rows);
          break;
        case 4:
          script += fmt::format("DELETE FROM t WHERE id BETWEEN {} AND {};", from, from + rows);
          break;
        case 5:
          script += fmt::format("BEGIN; DELETE FROM t WHERE id < {}; INSERT INTO t VALUES ({}, 1, 1, 'y'); ROLLBACK;",
                                from, next + 1000);
          break;
        default:
          script += fmt::format("BEGIN; DELETE FROM t WHERE id = {0}; INSERT INTO t VALUES ({0}, 7, 3, 's42'); COMMIT;",
                                from);
      }
    }
    run(script);
    (index_files() == before ? kept : written) += 1;
    expect_agreement(fmt::format("cycle {}: {}", cycle, script));
    EXPECT_EQ(index_files().size(), 7U);
  }
  EXPECT_GT(kept, 5 / static_cast<int>(test::less_work));
  EXPECT_GT(written, 0);
}

TEST_F(IndexDeltas, FromNothingToNothing) {
  run("CREATE TABLE t (id integer PRIMARY KEY, a bigint, b integer, s varchar);" + indexes_of_all_kinds());
  const auto empty = index_files();
  ASSERT_EQ(empty.size(), 7U);
  expect_agreement("empty");
  run("INSERT INTO t VALUES (60, 7, 3, 's42')");
  expect_agreement("one row");
  run("INSERT INTO t VALUES (61, 7, 3, 's42'), (62, NULL, NULL, NULL), (63, 7, 3, 's42')");
  expect_agreement("equal keys and NULLs");
  run("DELETE FROM t WHERE id = 60");
  std::vector<std::string> same;
  const auto files = index_files();
  std::ranges::set_intersection(empty, files, std::back_inserter(same));
  EXPECT_EQ(same.size(), 5U) << "composite keys had no code for NULL; the others are merged with the files of nothing";
  expect_agreement("the first is gone");
  run("DELETE FROM t");
  expect_agreement("all are gone");
  run("INSERT INTO t VALUES (60, 8, 3, 's42'), (62, NULL, NULL, NULL)");
  expect_agreement("keys that were there");
  {
    database db(options());
    EXPECT_THROW(db.execute("INSERT INTO t VALUES (60, 1, 1, 'twice')"), error);
  }
  run("INSERT INTO t SELECT 1000 + i.id * 100 + j.id, i.id, j.id, 's1' FROM t i, t j");
  expect_agreement("more rows");
  run("BEGIN; DELETE FROM t; COMMIT; DROP TABLE t");
  EXPECT_TRUE(index_files().empty());
}

TEST_F(IndexDeltas, DeletingAlmostAllRowsCompactsTheTable) {
  run(table_of(131'072) + indexes_of_all_kinds());
  run("DELETE FROM t WHERE id = 5");
  const auto before = index_files();
  run("DELETE FROM t WHERE id >= 300");  // row ids are others afterwards
  for (const auto& file : index_files()) EXPECT_FALSE(std::ranges::binary_search(before, file)) << file;
  expect_agreement("compacted");
  run("INSERT INTO t VALUES (5, 7, 3, 's42'); DELETE FROM t WHERE id = 6");
  expect_agreement("changed afterwards");
}

// The fields of a composite key have no code for the new values: the file of the index cannot be merged with them.
TEST_F(IndexDeltas, KeysThatDoNotFitTheFile) {
  run(table_of(4096) + indexes_of_all_kinds());
  const auto before = index_files();
  run("INSERT INTO t VALUES (-5, 9000000000000000000, 2000000000, 's42'), (-6, -9000000000000000000, -7, 's42')");
  std::vector<std::string> gone;
  const auto after = index_files();
  std::ranges::set_difference(before, after, std::back_inserter(gone));
  EXPECT_EQ(gone.size(), 1U) << "by_b_a was written again";
  expect_agreement("new range");
  run("DELETE FROM t WHERE id < 0");
  expect_agreement("and back");
}

TEST_F(IndexDeltas, RollbackGivesNoFileUp) {
  run(table_of(8192) + indexes_of_all_kinds() + "CREATE TABLE u AS SELECT 1 AS x;");
  run("INSERT INTO t VALUES (-1, 7, 3, 's42')");
  const auto before = index_files();
  const auto expected = expect_agreement("before");
  run("BEGIN; DELETE FROM t; ROLLBACK; BEGIN; INSERT INTO t SELECT id + 100000, a, b, s FROM t; ROLLBACK;"
      "BEGIN; DROP TABLE t; ROLLBACK; BEGIN; DROP INDEX by_s; CREATE INDEX by_s ON t (a); ROLLBACK;"
      "BEGIN; INSERT INTO t VALUES (-9, 1000000000000, 1000000000, 'z'); ROLLBACK");
  EXPECT_EQ(index_files(), before);
  EXPECT_EQ(expect_agreement("after"), expected);
  run("INSERT INTO u VALUES (2)");  // t is not read, and its files are still behind it
  EXPECT_EQ(index_files(), before);
  EXPECT_EQ(expect_agreement("another table was changed"), expected);
}

TEST_F(IndexDeltas, IndexesAreDroppedAndCreatedWhileOthersAreBehind) {
  run(table_of(4096) + indexes_of_all_kinds());
  const auto before = index_files();
  run("INSERT INTO t VALUES (-1, 7, 3, 's42'); DROP INDEX by_a_blink; CREATE INDEX more ON t (a)");
  std::vector<std::string> same;
  const auto after = index_files();
  std::ranges::set_intersection(before, after, std::back_inserter(same));
  EXPECT_EQ(same.size(), 6U);
  EXPECT_EQ(after.size(), 7U);
  expect_agreement("dropped and created");
  run("DROP INDEX by_s; CREATE INDEX by_s ON t USING blink (b)");
  expect_agreement("of the same name");
}

// Programs that do not know files behind their tables have to refuse them; others need not.
TEST_F(IndexDeltas, TheCatalogHasALaterVersionOnlyWhileAFileIsBehind) {
  run(table_of(2048) + indexes_of_all_kinds() + "CREATE TABLE u AS SELECT 1 AS x");
  EXPECT_NE(catalog_header().find("\"version\":1"), std::string::npos) << catalog_header();
  run("INSERT INTO t VALUES (-1, 7, 3, 's42')");
  EXPECT_NE(catalog_header().find("\"version\":2"), std::string::npos) << catalog_header();
  run("INSERT INTO u VALUES (2)");
  EXPECT_NE(catalog_header().find("\"version\":2"), std::string::npos) << catalog_header();
  run("UPDATE t SET a = 1");
  EXPECT_NE(catalog_header().find("\"version\":1"), std::string::npos) << catalog_header();
  expect_agreement("written");
}

TEST_F(IndexDeltas, ADamagedFileIsReplacedByABuildFromTheRows) {
  run(table_of(4096) + indexes_of_all_kinds());
  for (int way = 0; way < 8; ++way) {
    run(fmt::format("INSERT INTO t VALUES ({}, 7, 3, 's42'); DELETE FROM t WHERE id = {}", -1 - way, 100 + way));
    const auto files = index_files();
    ASSERT_EQ(files.size(), 7U);
    const auto file = folder_ / files[static_cast<std::size_t>(way) % 7];
    const auto size = std::filesystem::file_size(file);
    if (way == 0) {
      std::filesystem::remove(file);
    } else if (way == 1) {
      std::filesystem::resize_file(file, size / 2);
    } else {
      std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
      const auto at = static_cast<std::streamoff>(size * static_cast<std::uint64_t>(way - 1) / 8);
      bytes.seekg(at);
      const int before = bytes.get();
      bytes.seekp(at);
      bytes.put(static_cast<char>(before ^ 0x20));
    }
    EXPECT_EQ(verify(folder_).problems.size(), 1U) << way;
    expect_agreement(fmt::format("damage {}", way), 1);
    {
      database db(options());
      for (const auto& index : db.tables().find("t")->indexes) index->open();
      EXPECT_THROW(db.execute(fmt::format("INSERT INTO t VALUES ({}, 1, 1, 'twice')", -1 - way)), error);
      ASSERT_EQ(db.warnings().size(), 1U) << way;
      EXPECT_NE(db.warnings()[0].find(file.filename().string()), std::string::npos) << db.warnings()[0];
    }
    EXPECT_FALSE(std::filesystem::exists(file)) << "another one was written";
    expect_agreement(fmt::format("after damage {}", way));
  }
}

TEST_F(IndexDeltas, ReadersKeepTheirStateBesideAWriter) {
  run(table_of(4096) + indexes_of_all_kinds());
  run("INSERT INTO t VALUES (-1, 7, 3, 's42')");
  const auto expected = expect_agreement("before");
  database reader(options(true));  // t is not read yet
  {
    database writer(options());
    for (int i = 0; i < 5; ++i) {
      database beside(options(true));
      writer.execute(fmt::format("INSERT INTO t VALUES ({}, 7, 3, 's42')", -10 - i));
      writer.execute(fmt::format("DELETE FROM t WHERE id = {}", 60 + i));
      expect_agreement("beside the writer");
      EXPECT_EQ((*beside.execute("SELECT count(*) FROM t WHERE id < 0").rows->column(0)->GetScalar(0))->ToString(),
                std::to_string(1 + i));
    }
    writer.execute("UPDATE t SET a = 9");  // gives all files up
  }
  EXPECT_EQ(answers(reader), expected);
  for (const auto& index : reader.tables().find("t")->indexes) EXPECT_EQ(index->validate(), "");
  expect_agreement("the writer is gone");
}

const std::string statements_of_deltas[] = {"INSERT INTO t VALUES (-1, 7, 3, 's42'), (-2, NULL, 3, NULL)",
                                            "DELETE FROM t WHERE id BETWEEN 3 AND 5", "UPDATE t SET a = 8 WHERE id < 9",
                                            "CREATE INDEX one_more ON t (b)",
                                            "INSERT INTO t SELECT i.id * 1000 + j.id, i.a, j.b, i.s FROM t i, t j "
                                            "WHERE i.id BETWEEN 10 AND 35"};  // more than files are kept for

// States of the table: after each statement, as text of all rows and with indexes that are right.
std::string state_of_deltas(session& open) {
  auto text = open.run(parse("SELECT * FROM t ORDER BY id")[0], {}, {}).rows->ToString();
  for (const auto& index : open.tables().find("t")->indexes) text += index->spec().name + " " + index->validate() + " ";
  return text;
}

TEST_F(IndexDeltas, AKillOrAPowerFailureLeavesAStateWithItsIndexes) {
  run(table_of(64) +
      "CREATE INDEX by_a ON t (a); CREATE INDEX by_s ON t (s); CREATE INDEX by_b_a ON t USING blink (b, a)");
  std::vector<std::string> states;
  test::recording_layer layer(folder_, scratch_.path() / "crashes");
  {
    session open(options(), layer);
    states.push_back(state_of_deltas(open));
    for (const auto& sql : statements_of_deltas) {
      open.run(parse(sql)[0], {}, {});
      states.push_back(state_of_deltas(open));
      const auto survived = layer.power_failure();
      database_options after = options();
      after.path = survived;
      session found(after);
      EXPECT_EQ(state_of_deltas(found), states.back()) << "what was acknowledged survives: " << sql;
      EXPECT_TRUE(found.warnings().empty()) << sql;
    }
  }
  std::size_t last = 0;
  for (const auto& crash : layer.crashes()) {
    const auto report = verify(crash);
    EXPECT_TRUE(report.problems.empty()) << crash << ": " << report.problems.front();
    database_options after = options();
    after.path = crash;
    session found(after);
    const auto at = std::ranges::find(states, state_of_deltas(found));
    ASSERT_NE(at, states.end()) << crash;
    EXPECT_TRUE(found.warnings().empty()) << crash;
    last = std::max(last, static_cast<std::size_t>(at - states.begin()));
  }
  EXPECT_EQ(last, std::size(statements_of_deltas));
}

TEST_F(IndexDeltas, ADiskThatFailsLeavesIndexesAndAnswersRight) {
  run(table_of(64) + indexes_of_all_kinds());
  run("INSERT INTO t VALUES (-3, 7, 3, 's42')");
  const auto original = scratch_.path() / "template";
  std::filesystem::rename(folder_, original);
  bool succeeded = false;
  int failures = 0;
  for (int at = 1; !succeeded; ++at) {
    ASSERT_LT(at, 1000);
    std::filesystem::remove_all(folder_);
    std::filesystem::copy(original, folder_);
    {
      test::fault_layer layer(test::fault::throws, at);
      session open(options(), layer);
      for (const auto& sql : statements_of_deltas) {
        try {
          open.run(parse(sql)[0], {}, {});
        } catch (const error&) {
          ++failures;
        }
      }
      succeeded = layer.operations() < at;
    }
    expect_agreement(fmt::format("failed at operation {}", at));
    EXPECT_TRUE(verify(folder_).problems.empty()) << at;
  }
  EXPECT_GT(failures, 20);
}

// Files that a writer has removed since are there only as long as the reader has them mapped.
TEST_F(IndexDeltas, AReaderWhoseFirstStatementIsStoppedKeepsItsRows) {
  run(table_of(1 << 16) + "CREATE INDEX by_a ON t (a)");
  run("INSERT INTO t SELECT id + 100000, a, b, s FROM t WHERE id < 100");
  const std::string sql = "SELECT count(*), sum(id) FROM t WHERE a BETWEEN 10 AND 500";
  std::string before;
  {
    database db(options(true));
    before = db.execute(sql).rows->ToString();
  }
  for (const std::uint64_t stop_at : {1u, 2u, 3u, 5u, 8u, 13u}) {
    database reader(options(true));
    run("UPDATE t SET a = a + 1000000");
    std::uint64_t asked = 0;
    bool stopped = false;
    try {
      reader.execute(sql, {}, [&] { return ++asked >= stop_at; });
    } catch (const query_cancelled&) {
      stopped = true;
    }
    EXPECT_TRUE(stopped || asked < stop_at) << stop_at;
    EXPECT_EQ(reader.execute(sql).rows->ToString(), before) << "stopped at question " << stop_at;
    EXPECT_TRUE(reader.warnings().empty());
    run("UPDATE t SET a = a - 1000000");
  }
}

}  // namespace
}  // namespace espalier::engine
