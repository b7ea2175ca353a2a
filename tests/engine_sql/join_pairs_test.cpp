// join_pairs_test.cpp - joins without an equality, with more pairs than are looked at together.
#include <arrow/memory_pool.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

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
  database db({.dir = {}, .where = device::cpu()});
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

}  // namespace
}  // namespace espalier::engine
