// transaction_test.cpp - BEGIN, COMMIT and ROLLBACK: several statements as one change.
#include <arrow/array/util.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "engine/catalog.hpp"
#include "espalier/engine/database.hpp"
#include "support/scratch_folder.hpp"

namespace espalier::engine {
namespace {

class Transactions : public testing::Test {
 protected:
  [[nodiscard]] database opened(bool read_only = false) const {
    database_options options;
    options.path = folder_;
    options.device = device::cpu();
    options.read_only = read_only;
    return database(options);
  }
  static database in_memory() {
    database_options options;
    options.device = device::cpu();
    options.prefer_indexes = true;
    return database(options);
  }
  static std::string answer(database& db, const std::string& sql) {
    const auto rows = db.execute(sql).rows;
    return (*rows->column(0)->GetScalar(0))->ToString();
  }
  static std::string sqlstate(database& db, const std::string& sql) {
    try {
      (void)db.execute(sql);
      return "";
    } catch (const sql_error& e) {
      return std::string(e.sqlstate());
    }
  }
  static void run(database& db, const std::vector<std::string>& statements) {
    for (const auto& sql : statements) db.execute(sql);
  }
  /// Every row in order, by a scan and by each index, which has to be right as well.
  static std::string state_of(database& db) {
    std::string text;
    for (const auto& entry : db.tables().all()) {
      text += entry->name + " " + db.execute("SELECT * FROM " + entry->name + " ORDER BY 1").rows->ToString();
      for (const auto& index : entry->indexes) text += index->spec().name + " " + index->validate() + "\n";
    }
    return text;
  }
  [[nodiscard]] std::string catalog_text() const {
    std::ifstream file(folder_ / "catalog.json", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] int generation() const {
    const auto text = catalog_text();
    const std::string field = "\"generation\":";
    return std::stoi(text.substr(text.find(field) + field.size()));
  }

  const test::scratch_folder scratch_;
  const std::filesystem::path folder_ = scratch_.path() / "db";
};

TEST_F(Transactions, NowIsTheStartOfTheTransaction) {
  auto db = in_memory();
  run(db, {"CREATE TABLE seen (at timestamp)", "BEGIN"});
  const auto start = answer(db, "SELECT now()");
  const auto later = [&] { return answer(db, "SELECT now()") != start; };
  auto prepared = db.prepare("SELECT now(), $1 + 0");
  const auto one = arrow::Table::Make(arrow::schema({arrow::field("a", arrow::int64())}),
                                      {arrow::MakeArrayFromScalar(arrow::Int64Scalar(1), 1).ValueOrDie()});
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(answer(db, "SELECT current_timestamp"), start);
  EXPECT_EQ((*prepared.execute(*one).rows->column(1)->GetScalar(0))->ToString(), start);
  run(db,
      {"INSERT INTO seen VALUES (now())", "UPDATE seen SET at = localtimestamp", "DELETE FROM seen WHERE at <> now()"});
  EXPECT_EQ(answer(db, "SELECT at FROM seen"), start);
  EXPECT_EQ(answer(db, "SELECT count(*) FROM seen WHERE at = now()"), "1");
  db.execute("COMMIT AND CHAIN");
  EXPECT_TRUE(later());
  db.execute("ROLLBACK");
  const auto between = answer(db, "SELECT now()");
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_NE(answer(db, "SELECT now()"), between);
}

TEST_F(Transactions, StatementsBecomeDurableTogetherInOneCommit) {
  {
    auto db = opened();
    run(db, {"CREATE TABLE a (x integer PRIMARY KEY)", "CREATE TABLE b (y varchar)"});
    const auto before = catalog_text();
    const int commits = generation();
    EXPECT_EQ(db.execute("BEGIN").tag, "BEGIN");
    EXPECT_EQ(db.transaction(), transaction_status::active);
    for (int i = 0; i < 50; ++i) db.execute("INSERT INTO a VALUES (" + std::to_string(i) + ")");
    run(db, {"INSERT INTO b VALUES ('one')", "DELETE FROM a WHERE x >= 40", "UPDATE a SET x = x + 1000 WHERE x < 10"});
    EXPECT_EQ(answer(db, "SELECT count(*) FROM a"), "40") << "own changes are visible";
    EXPECT_EQ(answer(db, "SELECT x FROM a WHERE x = 1009"), "1009");
    EXPECT_EQ(catalog_text(), before) << "nothing is written before COMMIT";
    auto reader = opened(true);
    EXPECT_EQ(answer(reader, "SELECT count(*) FROM a"), "0");
    EXPECT_EQ(db.execute("COMMIT").tag, "COMMIT");
    EXPECT_EQ(generation(), commits + 1) << "one commit for all statements";
    EXPECT_EQ(db.transaction(), transaction_status::none);
    auto next = opened(true);
    EXPECT_EQ(answer(next, "SELECT count(*) FROM a WHERE x >= 0"), "40");
    EXPECT_EQ(answer(next, "SELECT y FROM b"), "one");
  }
  auto db = opened();
  EXPECT_TRUE(db.warnings().empty());
  EXPECT_EQ(answer(db, "SELECT sum(x) FROM a"), std::to_string(40 * 39 / 2 + 10000));
}

TEST_F(Transactions, RollbackLeavesEverythingAsAtBegin) {
  for (const bool stored : {false, true}) {
    auto db = stored ? opened() : in_memory();
    run(db, {"CREATE TABLE a (x integer PRIMARY KEY, s varchar)", "CREATE TABLE b (y integer)",
             "INSERT INTO a VALUES (1, 'one'), (2, 'two')", "INSERT INTO b VALUES (7)",
             "CREATE INDEX b_y ON b USING static (y)"});
    const auto before = state_of(db);
    run(db, {"START TRANSACTION", "INSERT INTO a VALUES (3, 'three')", "DELETE FROM a WHERE x = 1",
             "UPDATE b SET y = y + 1", "DROP TABLE a", "CREATE TABLE a (other bigint PRIMARY KEY)",
             "INSERT INTO a VALUES (5)", "CREATE TABLE c AS SELECT * FROM b", "CREATE INDEX b_y2 ON b (y)",
             "DROP INDEX b_y"});
    EXPECT_EQ(answer(db, "SELECT y FROM c"), "8");
    EXPECT_EQ(answer(db, "SELECT other FROM a WHERE other = 5"), "5");
    EXPECT_EQ(db.execute("ROLLBACK").tag, "ROLLBACK");
    EXPECT_EQ(state_of(db), before);
    EXPECT_EQ(sqlstate(db, "SELECT * FROM c"), "42P01");
    EXPECT_EQ(sqlstate(db, "INSERT INTO a VALUES (1, 'again')"), "23505");
    db.execute("INSERT INTO a VALUES (3, 'three')");
    EXPECT_EQ(answer(db, "SELECT count(*) FROM a WHERE x >= 1"), "3");
  }
  auto db = opened();
  EXPECT_TRUE(db.warnings().empty());
  EXPECT_EQ(answer(db, "SELECT count(*) FROM a WHERE x >= 1"), "3");
}

TEST_F(Transactions, AfterAnErrorEverythingIsRefusedUntilRollback) {
  auto db = opened();
  run(db, {"CREATE TABLE t (x integer PRIMARY KEY)", "INSERT INTO t VALUES (1)"});
  const auto before = state_of(db);
  for (const std::string wrong : {"INSERT INTO t VALUES (1)", "SELECT * FROM none", "SELEC 1", "SELECT 1 / 0",
                                  "CREATE TABLE t (y integer)", "SAVEPOINT s"}) {
    run(db, {"BEGIN", "INSERT INTO t VALUES (2)"});
    EXPECT_NE(sqlstate(db, wrong), "") << wrong;
    EXPECT_EQ(db.transaction(), transaction_status::failed) << wrong;
    for (const std::string next : {"SELECT 1", "INSERT INTO t VALUES (3)", "BEGIN", "DROP TABLE t"}) {
      EXPECT_EQ(sqlstate(db, next), "25P02") << wrong << ", " << next;
    }
    EXPECT_EQ(db.execute("ROLLBACK").tag, "ROLLBACK");
    EXPECT_EQ(state_of(db), before) << wrong;
  }
  run(db, {"BEGIN", "INSERT INTO t VALUES (2)"});
  EXPECT_EQ(sqlstate(db, "INSERT INTO t VALUES (2)"), "23505");
  const auto ended = db.execute("COMMIT");
  EXPECT_EQ(ended.tag, "ROLLBACK");
  ASSERT_EQ(ended.notices.size(), 1U);
  EXPECT_NE(ended.notices[0].find("rolled back"), std::string::npos);
  EXPECT_EQ(state_of(db), before);
  EXPECT_EQ(sqlstate(db, "INSERT INTO t VALUES (2)"), "") << "statements are on their own again";
}

TEST_F(Transactions, AFailedPreparedStatementFailsTheTransaction) {
  auto db = in_memory();
  db.execute("CREATE TABLE t (x integer)");
  db.execute("BEGIN");
  EXPECT_THROW((void)db.prepare("SELECT nothing FROM t"), sql_error);
  EXPECT_EQ(sqlstate(db, "SELECT 1"), "25P02");
  db.execute("ROLLBACK");
  auto statement = db.prepare("SELECT x FROM t WHERE x = $1");
  db.execute("BEGIN");
  EXPECT_NE(sqlstate(db, "SELECT 1 / 0"), "");
  const auto parameters = arrow::Table::MakeEmpty(arrow::schema({arrow::field("p", arrow::int64())}));
  EXPECT_THROW((void)statement.execute(**parameters), sql_error);
}

TEST_F(Transactions, WordsOfPostgresql) {
  auto db = opened();
  db.execute("CREATE TABLE t (x integer)");
  EXPECT_TRUE(db.execute("BEGIN WORK").notices.empty());
  db.execute("INSERT INTO t VALUES (1)");
  const auto nested = db.execute("BEGIN TRANSACTION");
  EXPECT_EQ(nested.tag, "BEGIN");
  ASSERT_EQ(nested.notices.size(), 1U);
  EXPECT_NE(nested.notices[0].find("already a transaction"), std::string::npos);
  EXPECT_EQ(db.execute("END").tag, "COMMIT");
  EXPECT_EQ(answer(db, "SELECT count(*) FROM t"), "1");
  for (const std::string end : {"COMMIT", "END", "ROLLBACK", "ABORT"}) {
    EXPECT_EQ(db.execute(end).notices.size(), 1U) << end << " without BEGIN";
  }
  EXPECT_EQ(db.execute("START TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ WRITE").tag, "START TRANSACTION");
  db.execute("INSERT INTO t VALUES (2)");
  EXPECT_EQ(db.execute("ABORT").tag, "ROLLBACK");
  EXPECT_EQ(answer(db, "SELECT count(*) FROM t"), "1");
  db.execute("BEGIN READ ONLY");
  EXPECT_EQ(answer(db, "SELECT count(*) FROM t"), "1");
  EXPECT_EQ(sqlstate(db, "INSERT INTO t VALUES (2)"), "25006");
  db.execute("ROLLBACK");
  run(db, {"BEGIN", "INSERT INTO t VALUES (2)", "COMMIT AND CHAIN", "INSERT INTO t VALUES (3)", "ROLLBACK AND CHAIN",
           "INSERT INTO t VALUES (4)", "COMMIT"});
  EXPECT_EQ(answer(db, "SELECT sum(x) FROM t"), "7");
  EXPECT_EQ(sqlstate(db, "COMMIT AND CHAIN"), "25P01");
  for (const std::string refused : {"SAVEPOINT s", "RELEASE s", "ROLLBACK TO s", "PREPARE TRANSACTION 'x'"}) {
    EXPECT_NE(sqlstate(db, refused), "") << refused;
  }
}

TEST_F(Transactions, WhatEndsInsideATransactionIsRolledBack) {
  {
    auto db = opened();
    db.execute("CREATE TABLE t (x integer PRIMARY KEY)");
    const auto results = db.run_script("INSERT INTO t VALUES (1); BEGIN; INSERT INTO t VALUES (2);");
    ASSERT_EQ(results.back().notices.size(), 1U);
    EXPECT_EQ(db.transaction(), transaction_status::none);
    EXPECT_EQ(answer(db, "SELECT count(*) FROM t"), "1");
    EXPECT_THROW(db.run_script("BEGIN; INSERT INTO t VALUES (2); INSERT INTO t VALUES (1); COMMIT;"), sql_error);
    EXPECT_EQ(db.transaction(), transaction_status::none);
    EXPECT_EQ(answer(db, "SELECT count(*) FROM t"), "1");
    db.execute("BEGIN");
    EXPECT_TRUE(db.run_script("INSERT INTO t VALUES (5)").back().notices.empty());
    EXPECT_EQ(db.transaction(), transaction_status::active) << "the script did not begin it";
    EXPECT_THROW(db.run_script("INSERT INTO t VALUES (1)"), sql_error);
    EXPECT_EQ(db.transaction(), transaction_status::failed);
    db.execute("ROLLBACK");
    run(db, {"BEGIN", "INSERT INTO t VALUES (3)"});
    db.save_indexes();
  }
  auto db = opened();
  EXPECT_TRUE(db.warnings().empty());
  EXPECT_EQ(answer(db, "SELECT sum(x) FROM t WHERE x >= 0"), "1");
}

TEST_F(Transactions, AReadOnlyDatabaseRefusesChangesInsideToo) {
  { opened().execute("CREATE TABLE t AS SELECT 1 AS x"); }
  auto db = opened(true);
  db.execute("BEGIN");
  EXPECT_EQ(answer(db, "SELECT x FROM t"), "1");
  EXPECT_EQ(sqlstate(db, "DELETE FROM t"), "25006");
  EXPECT_EQ(db.execute("COMMIT").tag, "ROLLBACK");
  EXPECT_EQ(answer(db, "SELECT x FROM t"), "1");
}

TEST_F(Transactions, ACommitThatCannotBeWrittenIsRolledBack) {
  auto db = opened();
  run(db, {"CREATE TABLE t (x integer PRIMARY KEY)", "INSERT INTO t VALUES (1)", "CREATE TABLE u (y integer)"});
  const auto before = state_of(db);
  run(db, {"BEGIN", "INSERT INTO u VALUES (1)", "INSERT INTO t VALUES (2)"});
  std::vector<std::filesystem::path> in_the_way;  // of every temporary file that could come next
  for (int i = 1; i < 40; ++i) {
    const std::string number = std::string(i < 10 ? "00000" : "0000") + std::to_string(i);
    in_the_way.push_back(folder_ / ("rows-" + number + ".arrow.part"));
    std::filesystem::create_directory(in_the_way.back());
  }
  EXPECT_EQ(sqlstate(db, "COMMIT"), "58030");
  EXPECT_EQ(db.transaction(), transaction_status::none);
  EXPECT_EQ(state_of(db), before);
  for (const auto& path : in_the_way) std::filesystem::remove(path);
  run(db, {"BEGIN", "INSERT INTO t VALUES (2)", "COMMIT"});
  EXPECT_EQ(answer(db, "SELECT count(*) FROM t WHERE x > 0"), "2");
}

// Deleted rows that an aggregate of an index has left out come back; so do rows of lists, and indexes that were built
// again inside because there were too many changes.
TEST_F(Transactions, IndexesOfEveryKindAreAsBefore) {
  for (const std::string kind : {"static", "blink", "radix", "hybrid", "auto"}) {
    auto db = in_memory();
    run(db, {"CREATE TABLE t (k integer, v bigint, s varchar)", "INSERT INTO t VALUES (0, 0, 'a'), (1, 10, 'b')"});
    for (int i = 2; i < 1024; i *= 2) {
      db.execute("INSERT INTO t SELECT k + " + std::to_string(i) + ", v + 10 * " + std::to_string(i) + ", s FROM t");
    }
    run(db, {"INSERT INTO t VALUES (NULL, 5, 'n')", "CREATE UNIQUE INDEX t_k ON t USING " + kind + " (k)",
             "CREATE INDEX t_v ON t USING " + kind + " (v)"});
    if (kind == "radix" || kind == "auto") db.execute("CREATE INDEX t_s ON t USING " + kind + " (s)");
    const std::string sums = "SELECT sum(v) FROM t WHERE k BETWEEN 100 AND 900";
    const std::string least = "SELECT min(v) FROM t WHERE k >= 5";
    const auto sum_before = answer(db, sums);
    const auto least_before = answer(db, least);
    const auto before = state_of(db);
    std::mt19937 random(42);
    for (int round = 0; round < 4; ++round) {
      db.execute("BEGIN");
      for (int i = 0; i < 15; ++i) {
        const auto k = std::to_string(random() % 1200);
        switch (random() % 5) {
          case 0:
            db.execute("DELETE FROM t WHERE k BETWEEN " + k + " AND " + k + " + 20");
            break;
          case 1:
            db.execute("UPDATE t SET k = k + 100000, v = 7 WHERE k = " + k);
            break;
          case 2:
            db.execute("INSERT INTO t SELECT 200000 + count(*) + " + k + " * 1000, 7, 'a' FROM t");
            break;
          case 3:
            db.execute("INSERT INTO t VALUES (NULL, 7, NULL), (NULL, NULL, 'z')");
            break;
          default:
            db.execute(round == 3 ? "INSERT INTO t SELECT NULL, k, s FROM t" : "SELECT count(*) FROM t WHERE k > " + k);
        }
        answer(db, sums);
      }
      db.execute("DELETE FROM t WHERE k = 5");
      EXPECT_NE(state_of(db), before);
      for (const auto& index : db.tables().find("t")->indexes) ASSERT_EQ(index->validate(), "") << kind;
      db.execute("ROLLBACK");
      ASSERT_EQ(answer(db, sums), sum_before) << kind << round;
      ASSERT_EQ(answer(db, least), least_before) << kind << round;
      ASSERT_EQ(state_of(db), before) << kind << round;
    }
  }
}

// More deleted rows than others: the rows are rewritten inside the transaction, with other ids.
TEST_F(Transactions, ACompactedTableIsAsBefore) {
  auto db = opened();
  run(db, {"CREATE TABLE t (k integer)", "INSERT INTO t VALUES (0)"});
  for (int i = 1; i < 1 << 18; i *= 2) db.execute("INSERT INTO t SELECT k + " + std::to_string(i) + " FROM t");
  db.execute("CREATE UNIQUE INDEX t_k ON t (k)");
  run(db, {"BEGIN", "DELETE FROM t WHERE k < 10", "DELETE FROM t WHERE k % 4 <> 0", "INSERT INTO t VALUES (1)"});
  EXPECT_EQ(db.tables().find("t")->version->live_rows(), 65534U);
  EXPECT_LT(db.tables().find("t")->version->rows(), 70000U) << "it was compacted";
  db.execute("ROLLBACK");
  EXPECT_EQ(answer(db, "SELECT count(*) FROM t WHERE k >= 0"), std::to_string(1 << 18));
  EXPECT_EQ(db.tables().find("t")->indexes[0]->validate(), "");
  EXPECT_EQ(sqlstate(db, "INSERT INTO t VALUES (9)"), "23505");
}

// A transaction of many statements holds neither a version of the table nor one of the index for each of them.
TEST_F(Transactions, ManySmallStatements) {
  auto db = opened();
  run(db, {"CREATE TABLE t (k integer PRIMARY KEY)", "BEGIN"});
  for (int i = 0; i < 1500; ++i) db.execute("INSERT INTO t VALUES (" + std::to_string(i) + ")");
  db.execute("ROLLBACK");
  EXPECT_EQ(answer(db, "SELECT count(*) FROM t"), "0");
  EXPECT_EQ(db.tables().find("t")->indexes[0]->validate(), "");
}

}  // namespace
}  // namespace espalier::engine
