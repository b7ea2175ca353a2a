// join_pairs_test.cpp - joins without an equality, with more pairs than are looked at together.
#include <arrow/memory_pool.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "espalier/engine/database.hpp"

namespace espalier::engine {
namespace {

std::string first_value_of(database& db, const std::string& sql) {
  return (*db.execute(sql).rows->column(0)->GetScalar(0))->ToString();
}

// Pairs come in blocks; the answers of joins with more pairs than one block has are those of arithmetic.
TEST(JoinPairs, OnlyAnswersAreKept) {
  constexpr std::int64_t count = 2500;
  std::string numbers = "(0)";
  for (std::int64_t i = 1; i < count; ++i) numbers += fmt::format(", ({})", i);
  database db({.path = {}, .device = device::cpu()});
  db.run_script("CREATE TABLE t (x integer); INSERT INTO t VALUES " + numbers);
  const auto allocated_by = [&](const std::string& sql, const std::string& expected) {
    auto* pool = arrow::default_memory_pool();
    const auto before = pool->total_bytes_allocated();
    EXPECT_EQ(first_value_of(db, sql), expected) << sql;
    return pool->total_bytes_allocated() - before;
  };
  const std::string below = std::to_string(count * (count - 1) / 2);
  EXPECT_EQ(first_value_of(db, "SELECT count(*) FROM t a CROSS JOIN t b"), std::to_string(count * count));
  EXPECT_LT(allocated_by("SELECT count(*) FROM t a JOIN t b ON a.x < b.x", below), std::int64_t{1} << 20);
  EXPECT_EQ(first_value_of(db, "SELECT sum(b.x - a.x) FROM t a JOIN t b ON a.x + b.x = 7 OR a.x * b.x = 6"),
            std::to_string(0));
  EXPECT_EQ(first_value_of(db, "SELECT count(*) FROM t a JOIN t b ON a.x <> b.x"), std::to_string(count * (count - 1)));
  EXPECT_EQ(first_value_of(db, "SELECT count(*) FROM t a JOIN t b ON a.x < b.x AND (a.x + b.x) % 2 = 1"),
            std::to_string(count * count / 4));
  EXPECT_EQ(
      first_value_of(db, "SELECT count(b.x) FROM t a LEFT JOIN t b ON a.x * 2 + b.x * 0 = b.x + 1 OR a.x + b.x < 0"),
      "1250");
  EXPECT_EQ(first_value_of(db, "SELECT count(*) FROM t a LEFT JOIN t b ON a.x + b.x < 1"), std::to_string(count));
  EXPECT_EQ(first_value_of(db, "SELECT count(*) FROM t a FULL JOIN t b ON a.x + b.x < 1"),
            std::to_string(2 * count - 1));
  EXPECT_EQ(first_value_of(db, "SELECT count(*) FROM t a WHERE EXISTS (SELECT 1 FROM t b WHERE a.x + b.x > 4990)"),
            "8");
  EXPECT_EQ(first_value_of(db, "SELECT count(*) FROM t a WHERE NOT EXISTS (SELECT 1 FROM t b WHERE a.x + b.x > 4990)"),
            "2492");
}

// Every row meets every other by an equality: several blocks of pairs, of which the operators above see one at a time.
TEST(JoinPairs, BlocksOfAHashJoinAreAggregatedOneByOne) {
  constexpr std::int64_t count = 2100;  // 4.4 million pairs
  database db({.path = {}, .device = device::cpu()});
  std::string rows;
  for (std::int64_t i = 0; i < count; ++i) {
    rows += fmt::format("{}(1, {}, {}, 't{}')", i ? ", " : "", i, i % 7 == 0 ? "NULL" : fmt::format("{}.5", i), i % 11);
  }
  db.execute("CREATE TABLE t (k integer, x integer, n numeric(10, 1), s varchar)");
  db.execute("INSERT INTO t VALUES " + rows);
  db.execute("INSERT INTO t VALUES (2, -1, NULL, 'alone')");
  const std::string both = " FROM t a JOIN t b ON a.k = b.k ";
  const std::string pairs = std::to_string(count * count + 1);
  EXPECT_EQ(first_value_of(db, "SELECT count(*)" + both), pairs);
  EXPECT_EQ(first_value_of(db, "SELECT sum(a.x + b.x)" + both), std::to_string(count * count * (count - 1) - 2));
  EXPECT_EQ(first_value_of(db, "SELECT max(a.x * 10000 + b.x)" + both), std::to_string((count - 1) * 10001));
  EXPECT_EQ(first_value_of(db, "SELECT min(a.s || b.s)" + both), "alonealone");
  EXPECT_EQ(first_value_of(db, "SELECT count(a.n)" + both), std::to_string((count - (count + 6) / 7) * count));
  EXPECT_EQ(first_value_of(db, "SELECT count(*) FROM (SELECT a.s, count(*), avg(b.x)" + both + "GROUP BY a.s) q"),
            "12");
  // Averages of groups out of several blocks are those of one block.
  EXPECT_EQ(first_value_of(db, "SELECT avg(a.n)" + both + "WHERE a.k = 1"),
            first_value_of(db, "SELECT avg(n) FROM t WHERE k = 1"));
  EXPECT_EQ(first_value_of(db, "SELECT count(*) FROM (SELECT b.s, avg(a.n) AS v" + both +
                                   "GROUP BY b.s) q JOIN (SELECT avg(n) AS w FROM t WHERE k = 1) r ON q.v = r.w"),
            "11");
  EXPECT_EQ(first_value_of(db, "SELECT count(DISTINCT b.x)" + both), std::to_string(count + 1));
  EXPECT_EQ(first_value_of(db, "SELECT count(*)" + both + "AND a.x < b.x"), std::to_string(count * (count - 1) / 2));
  EXPECT_EQ(first_value_of(db, "SELECT sum(coalesce(b.x, 5)) FROM t a LEFT JOIN t b ON a.k = b.k AND a.x > b.x"),
            std::to_string(count * (count - 1) * (count - 2) / 6 + 10));
  EXPECT_EQ(first_value_of(db, "SELECT count(*) FROM t a FULL JOIN t b ON a.k = b.k AND a.x < b.x"),
            std::to_string(count * (count - 1) / 2 + 4));
  EXPECT_EQ(
      first_value_of(db, "SELECT count(*) FROM t a WHERE EXISTS (SELECT 1 FROM t b WHERE a.k = b.k AND a.x > b.x)"),
      std::to_string(count - 1));
  EXPECT_EQ(db.execute("SELECT a.x, b.x" + both + "LIMIT 5 OFFSET 3").rows->num_rows(), 5);
}

TEST(JoinPairs, MemoryIsThatOfABlock) {
  database db({.path = {}, .device = device::cpu()});
  std::string rows = "(1, 0)";
  for (int i = 1; i < 6000; ++i) rows += fmt::format(", (1, {})", i);
  db.run_script("CREATE TABLE t (k integer, x integer); INSERT INTO t VALUES " + rows);
  auto* pool = arrow::default_memory_pool();
  const auto before = pool->bytes_allocated();
  std::int64_t most = 0;
  const auto watch = [&] {
    most = std::max(most, pool->bytes_allocated() - before);
    return false;
  };
  // 36 million pairs would take 288 MB for the two columns alone.
  const auto sum = db.execute("SELECT sum(a.x - b.x) FROM t a JOIN t b ON a.k = b.k", {}, watch).rows;
  EXPECT_EQ((*sum->column(0)->GetScalar(0))->ToString(), "0");
  EXPECT_GT(most, 0);
  EXPECT_LT(most, std::int64_t{150} << 20);
}

TEST(JoinPairs, CountsOfCrossJoinsMakeNoPairs) {
  database db({.path = {}, .device = device::cpu()});
  std::string rows = "(0)";
  for (int i = 1; i < 20000; ++i) rows += fmt::format(", ({})", i);
  db.run_script("CREATE TABLE t (x integer); INSERT INTO t VALUES " + rows);
  EXPECT_EQ(first_value_of(db, "SELECT count(*) FROM t a, t b"), "400000000");
  EXPECT_EQ(first_value_of(db, "SELECT count(*) FROM t a, t b, t c"), "8000000000000");
}

}  // namespace
}  // namespace espalier::engine
