// Joins whose keys are not written as plain equalities: they are joined by hash all the same, with the same answers.
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <gtest/gtest.h>

#include <string>

#include "espalier/engine/database.hpp"

namespace espalier::engine {
namespace {

std::string one_value(database& db, const std::string& sql) {
  return (*db.execute(sql).rows->column(0)->GetScalar(0))->ToString();
}

bool is_hashed(database& db, const std::string& sql) {
  return db.execute("EXPLAIN " + sql).plan.find("Hash Join") != std::string::npos;
}

database keyed_tables() {
  database db({.path = {}, .device = device::cpu()});
  db.run_script(
      "CREATE TABLE part (p integer, brand varchar, size integer);"
      "CREATE TABLE line (p integer, n integer, mode varchar);"
      "INSERT INTO part VALUES (1, 'a', 5), (2, 'b', 10), (3, 'a', 50), (NULL, 'a', 5), (4, 'c', 0);"
      "INSERT INTO line VALUES (1, 1, 'AIR'), (1, 20, 'AIR'), (2, 12, 'AIR'), (2, 12, 'SHIP'), (3, 1, 'AIR'), "
      "(NULL, 1, 'AIR'), (4, 0, 'AIR')");
  return db;
}

TEST(JoinKeys, EqualityInEveryBranchOfAnOr) {
  auto db = keyed_tables();
  // The manner of TPC-H Q19; one branch has the equality the other way round.
  const std::string q19 =
      "SELECT count(*) FROM part, line WHERE "
      "(part.p = line.p AND brand = 'a' AND n BETWEEN 1 AND 11 AND size <= 5 AND mode = 'AIR') OR "
      "(line.p = part.p AND brand = 'b' AND n BETWEEN 10 AND 20 AND size <= 10 AND mode = 'AIR')";
  EXPECT_TRUE(is_hashed(db, q19)) << db.execute("EXPLAIN " + q19).plan;
  EXPECT_EQ(one_value(db, q19), "2");
  // One branch says no more than the equality.
  const std::string short_branch =
      "SELECT count(*) FROM part JOIN line ON (part.p = line.p AND n > 10) OR part.p = line.p";
  EXPECT_TRUE(is_hashed(db, short_branch));
  EXPECT_EQ(one_value(db, short_branch), "6");
  // Not in every branch.
  const std::string other = "SELECT count(*) FROM part JOIN line ON (part.p = line.p AND n > 10) OR size = n";
  EXPECT_FALSE(is_hashed(db, other));
  EXPECT_EQ(one_value(db, other), "4");
  // What a branch guards is still guarded, and rows of the outer side stay.
  EXPECT_EQ(one_value(db,
                      "SELECT count(*) FROM part, line WHERE (part.p = line.p AND size <> 0 AND n / size >= 1) OR "
                      "(part.p = line.p AND size <> 0 AND n / size >= 2)"),
            "3");
  EXPECT_EQ(one_value(db,
                      "SELECT count(*) FROM part LEFT JOIN line ON (part.p = line.p AND n > 10) OR "
                      "(part.p = line.p AND n > 15)"),
            "6");
}

TEST(JoinKeys, IsNotDistinctFrom) {
  auto db = keyed_tables();
  const std::string sql = "SELECT count(*) FROM part JOIN line ON part.p IS NOT DISTINCT FROM line.p";
  EXPECT_TRUE(is_hashed(db, sql)) << db.execute("EXPLAIN " + sql).plan;
  EXPECT_EQ(one_value(db, sql), "7");
  EXPECT_EQ(one_value(db, "SELECT count(*) FROM part LEFT JOIN line ON part.p IS NOT DISTINCT FROM line.p AND n > 100"),
            "5");
  // A value that is like the one NULL is replaced by does not meet NULL.
  for (const auto& [type, zero] :
       {std::pair("integer", "0"), std::pair("bigint", "0"), std::pair("smallint", "0"), std::pair("varchar", "''"),
        std::pair("double precision", "-0.0"), std::pair("real", "0"), std::pair("numeric(10,2)", "0"),
        std::pair("date", "'1970-01-01'"), std::pair("timestamp", "'1970-01-01'"), std::pair("boolean", "false")}) {
    const std::string values = std::string("(SELECT ") + zero + "::" + type + " AS v UNION ALL SELECT NULL) ";
    const std::string join =
        "SELECT count(*) FROM " + values + "a JOIN " + values + "b ON a.v IS NOT DISTINCT FROM b.v";
    EXPECT_EQ(one_value(db, join), "2") << type;
  }
}

TEST(JoinKeys, ListsOfIntegersOfOtherTypes) {
  database db({.path = {}, .device = device::cpu()});
  db.run_script(
      "CREATE TABLE t (s smallint, b bigint); INSERT INTO t VALUES (1, 1), (-32768, 5000000000), (NULL, NULL)");
  EXPECT_EQ(one_value(db, "SELECT count(*) FROM t WHERE s IN (1, 70000, -32768)"), "2");
  EXPECT_EQ(one_value(db, "SELECT count(*) FROM t WHERE b IN (1, 5000000000, -1)"), "2");
  EXPECT_EQ(one_value(db, "SELECT count(*) FROM t WHERE s = 70000"), "0");
  EXPECT_EQ(one_value(db, "SELECT count(*) FROM t WHERE s < 70000"), "2");
}

TEST(JoinKeys, ExtremesOfTexts) {
  database db({.path = {}, .device = device::cpu()});
  db.execute("CREATE TABLE t (g integer, s varchar)");
  EXPECT_EQ(one_value(db, "SELECT max(s) FROM t"), "null");
  std::string rows;
  for (int i = 0; i < 40000; ++i) {
    const auto text = i % 5 == 0 ? std::string("NULL")
                                 : "'" + std::string(i % 3, 'z') + "\xC3\xA4" + std::to_string(i * 7919 % 40000) + "'";
    rows += (i ? ", (" : "(") + std::to_string(i % 10) + ", " + text + ")";
  }
  db.execute("INSERT INTO t VALUES " + rows);
  db.execute("INSERT INTO t VALUES (10, ''), (11, NULL)");
  for (const std::string which : {"WHERE g < 10", "WHERE g >= 10", "WHERE g = 11", ""}) {
    EXPECT_EQ(one_value(db, "SELECT coalesce(max(s), 'none') FROM t " + which),
              one_value(db, "SELECT coalesce(min(s), 'none') FROM (SELECT s FROM t " + which +
                                " ORDER BY s DESC NULLS LAST LIMIT 1) q"));
    EXPECT_EQ(one_value(db, "SELECT coalesce(min(s), 'none') FROM t " + which),
              one_value(db, "SELECT coalesce(max(s), 'none') FROM (SELECT s FROM t " + which +
                                " ORDER BY s NULLS LAST LIMIT 1) q"));
  }
  EXPECT_EQ(one_value(db,
                      "SELECT count(*) FROM (SELECT g, max(s) AS m FROM t GROUP BY g) q "
                      "WHERE EXISTS (SELECT 1 FROM t WHERE t.g = q.g AND t.s = q.m)"),
            "9");
  EXPECT_EQ(one_value(db,
                      "SELECT count(*) FROM (SELECT g, max(s) AS m FROM t GROUP BY g) q "
                      "JOIN t ON t.g = q.g AND t.s > q.m"),
            "0");
}

}  // namespace
}  // namespace espalier::engine
