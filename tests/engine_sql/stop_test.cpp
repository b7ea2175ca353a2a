// stop_test.cpp - statements that are stopped: every operator asks once in a while whether it is to stop, and whatever
// was stopped has changed nothing.
#include <arrow/api.h>
#include <arrow/scalar.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "engine/catalog.hpp"
#include "espalier/engine/database.hpp"
#include "support/scratch_folder.hpp"

namespace espalier::engine {
namespace {

// Rows 0 to base^3 - 1 in the table t, with keys in no order.
void fill_by_cubes(database& db, int base) {
  std::string numbers = "(0)";
  for (int i = 1; i < base; ++i) numbers += fmt::format(", ({})", i);
  const int rows = base * base * base;
  db.run_script("CREATE TABLE d (x bigint); INSERT INTO d VALUES " + numbers);
  db.execute(
      fmt::format("CREATE TABLE t AS SELECT id, id * 7919 % {0} AS k, 'name ' || id * 104729 % {0} AS s, "
                  "timestamp '2026-01-01' + id * interval '1 second' AS at "
                  "FROM (SELECT (a.x * {1} + b.x) * {1} + c.x AS id FROM d a CROSS JOIN d b CROSS JOIN d c) AS n",
                  rows, base));
}

// How often a statement asks; it is told to stop at question `stop_at`.
class counted_stop {
 public:
  explicit counted_stop(std::uint64_t stop_at = 0) : stop_at_(stop_at) {}
  [[nodiscard]] cancellation_token question() {
    return [this] { return ++asked_ >= stop_at_ && stop_at_ != 0; };
  }
  [[nodiscard]] std::uint64_t asked() const { return asked_; }

 private:
  std::uint64_t stop_at_;
  std::atomic<std::uint64_t> asked_ = 0;
};

std::uint64_t questions_of(database& db, const std::string& sql) {
  counted_stop never;
  db.execute(sql, {}, never.question());
  return never.asked();
}

struct operator_case {
  const char* name;
  std::string sql;      // with the operator
  std::string without;  // the same inputs without it
  std::uint64_t more;   // more questions that the operator asks
  // The library's loops ask, too: how often depends on the threads that take their pieces.
  bool library_asks = false;
};

class StoppedStatements : public ::testing::Test {
 protected:
  static constexpr int base = 64;
  StoppedStatements() : db_({.path = {}, .device = device::cpu()}) {
    fill_by_cubes(db_, base);
    db_.execute("CREATE TABLE small AS SELECT id, k FROM t WHERE id < 4096");
  }
  database db_;
};

TEST_F(StoppedStatements, EveryOperatorAsksAsItGoes) {
  const std::string two = "SELECT count(a.k + b.k) FROM t a CROSS JOIN (SELECT k FROM t WHERE id = 5) AS b";
  const std::vector<operator_case> cases = {
      {"filter", "SELECT id FROM t WHERE k % 3 = 1", "SELECT id FROM t", 2},
      {"sort", "SELECT id FROM t ORDER BY k", "SELECT id, k FROM t", 32},
      {"sort by two keys", "SELECT id FROM t ORDER BY k % 10, s", "SELECT id, k % 10, s FROM t", 32},
      {"sort by a text", "SELECT id FROM t ORDER BY s", "SELECT id, s FROM t", 32},
      {"a part of a sort", "SELECT id FROM t ORDER BY k LIMIT 30000", "SELECT id, k FROM t", 8},
      {"few groups", "SELECT k % 1000, sum(id) FROM t GROUP BY 1", "SELECT k % 1000, id FROM t", 8},
      {"many groups", "SELECT k, count(*) FROM t GROUP BY k", "SELECT k FROM t", 6},
      {"wide groups", "SELECT min(id) FROM t GROUP BY k * 100000000000, id * 100000000000", "SELECT k, id FROM t", 12},
      {"distinct", "SELECT DISTINCT s FROM t", "SELECT s FROM t", 8},
      {"hash join", "SELECT count(*) FROM t a JOIN t b ON a.k = b.id", two, 10},
      {"hash join of many pairs", "SELECT count(a.id + b.id) FROM t a JOIN t b ON a.k / 32 = b.k / 32", two, 8},
      {"loop join", "SELECT count(*) FROM small a, small b WHERE (a.k * b.k) % 7 = 3", two, 4},
      {"band join", "SELECT count(b.id + a.id) FROM t a JOIN t b ON b.k BETWEEN a.id - 8 AND a.id + 8", two, 8},
      {"as-of join",
       "SELECT count(b.k) FROM t a LEFT JOIN LATERAL (SELECT k FROM t WHERE t.k % 9 = a.k % 9 AND t.at <= a.at "
       "ORDER BY t.at DESC LIMIT 1) b ON true",
       two, 8, true},
  };
  for (const auto& [name, sql, without, more, library_asks] : cases) {
    const std::uint64_t all = questions_of(db_, sql), least = questions_of(db_, without) + more;
    EXPECT_GE(all, least) << name;
    for (const std::uint64_t k : {std::uint64_t{1}, least / 2, library_asks ? least : all}) {
      counted_stop stop(k);
      EXPECT_THROW(db_.execute(sql, {}, stop.question()), query_cancelled) << name << ", question " << k;
      // Every thread sees it once, and none goes on.
      EXPECT_LE(stop.asked(), k + 64) << name << ", question " << k;
    }
  }
  EXPECT_EQ((*db_.execute("SELECT count(*) FROM t").rows->column(0)->GetScalar(0))->ToString(),
            std::to_string(base * base * base));
}

// The library's loops ask in the thread of the statement, for the pieces that it takes: a part of them, which is small
// if the machine is busy, so there are several attempts. One thread alone does not ask (cpu_backend::for_each_chunk).
TEST_F(StoppedStatements, TheSearchOfAnAsOfJoinAsks) {
  tbb::task_arena(2).execute([&] {
    for (const char* const at : {"k", "at"}) {  // in no order, and in order
      const std::string sql = fmt::format(
          "SELECT count(b.id) FROM t a LEFT JOIN LATERAL (SELECT id FROM t WHERE t.{0} <= a.{0} ORDER BY t.{0} DESC "
          "LIMIT 1) b ON true",
          at);
      const std::uint64_t scanned = questions_of(db_, fmt::format("SELECT count(a.{0}), count(id) FROM t a", at));
      bool is_stopped = false;
      for (int attempt = 0; attempt < 200 && !is_stopped; ++attempt) {
        counted_stop stop(scanned + 25);  // 8 and 11 more without those of the library
        try {
          db_.execute(sql, {}, stop.question());
        } catch (const query_cancelled&) {
          is_stopped = true;
          EXPECT_LE(stop.asked(), scanned + 25 + 64) << at;
        }
      }
      EXPECT_TRUE(is_stopped) << at;
    }
  });
}

TEST_F(StoppedStatements, IndexesAskAsTheyAnswer) {
  for (const char* kind : {"static", "blink", "radix", "hybrid"}) {
    const std::string create = fmt::format("CREATE INDEX by_k ON t USING {} (k)", kind);
    const std::uint64_t all = questions_of(db_, create);
    EXPECT_GE(all, 8U) << kind;
    db_.execute("DROP INDEX by_k");
    for (std::uint64_t k = 1; k < all; k += 3) {
      counted_stop stop(k);
      EXPECT_THROW(db_.execute(create, {}, stop.question()), query_cancelled) << kind << ", question " << k;
      EXPECT_TRUE(db_.tables().find("t")->indexes.empty());
    }
    db_.execute(create);
    const std::uint64_t listed = questions_of(db_, "SELECT sum(id), min(s) FROM t WHERE k BETWEEN 100 AND 200000");
    EXPECT_GE(listed, questions_of(db_, "SELECT sum(id), min(s) FROM t WHERE k BETWEEN 100 AND 120") + 2) << kind;
    db_.execute("DROP INDEX by_k");
  }
}

std::string rows_by_id(database& db) {
  return db.execute("SELECT id, k, s FROM t ORDER BY id, k").rows->CombineChunks().ValueOrDie()->ToString();
}

// Stopped at every question in turn, in a folder.
void stop_everywhere(const std::string& kind, const std::string& statement) {
  const test::scratch_folder folder;
  const database_options options{.path = folder.path(), .device = device::cpu()};
  std::string before;
  {
    database db(options);
    fill_by_cubes(db, 12);
    db.execute("CREATE INDEX by_k ON t USING " + kind + " (k)");
    db.execute("CREATE INDEX by_s ON t (s)");
    before = rows_by_id(db);
    bool done = false;
    for (std::uint64_t k = 1; !done; ++k) {
      counted_stop stop(k);
      try {
        db.execute(statement, {}, stop.question());
        done = true;
      } catch (const query_cancelled&) {
        ASSERT_EQ(rows_by_id(db), before) << kind << ", question " << k << " of " << statement;
      }
      for (const auto& index : db.tables().find("t")->indexes) ASSERT_EQ(index->validate(), "") << kind << k;
      ASSERT_LT(k, 1000U) << statement;
    }
    EXPECT_NE(rows_by_id(db), before) << statement;
    before = rows_by_id(db);
  }
  database again(options);
  EXPECT_EQ(rows_by_id(again), before) << kind << ", " << statement;
}

TEST(StoppedChange, LeavesTablesIndexesAndFilesAsTheyWere) {
  for (const char* kind : {"static", "blink", "hybrid"}) {
    stop_everywhere(kind, "INSERT INTO t SELECT id + 100000, k, s FROM t");
    stop_everywhere(kind, "UPDATE t SET k = k + 1 WHERE id % 3 = 1");
    stop_everywhere(kind, "DELETE FROM t WHERE k BETWEEN 200 AND 900");
  }
}

TEST(StoppedChange, OfAPreparedStatement) {
  database db({.path = {}, .device = device::cpu()});
  fill_by_cubes(db, 12);
  auto asked = db.prepare("SELECT id FROM t WHERE k % 5 = $1 ORDER BY s");
  const auto schema = arrow::schema({arrow::field("a", arrow::int64())});
  const auto parameters =
      arrow::Table::Make(schema, {arrow::MakeArrayFromScalar(arrow::Int64Scalar(2), 3).ValueOrDie()});
  counted_stop never;
  EXPECT_GT(asked.execute(*parameters, never.question()).rows->num_rows(), 1000);
  counted_stop stop(never.asked() / 2);
  EXPECT_THROW((void)asked.execute(*parameters, stop.question()), query_cancelled);
}

}  // namespace
}  // namespace espalier::engine
