// Joins over joins: the rows of the inner join come in blocks, and all equalities of the outer one are its key.
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <gtest/gtest.h>

#include <string>

#include "espalier/engine/database.hpp"

namespace espalier::engine {
namespace {

// x and y meet in 500 rows each: 10 million pairs, of which each x.b and y.w of q is one.
database tables_that_meet_often(const char* memory) {
  database_options options;
  options.device = device::cpu();
  database db(options);
  db.run_script(
      "CREATE TABLE x AS SELECT i AS id, i % 40 AS k, i % 1000 AS b FROM generate_series(0, 19999) s(i);"
      "CREATE TABLE y AS SELECT i AS id, i % 40 AS k, i % 7 AS w FROM generate_series(0, 19999) s(i);"
      "CREATE TABLE q AS SELECT i % 1000 AS id, i % 7 AS w, i % 3 AS f FROM generate_series(0, 1999) s(i)");
  db.execute("SET memory_limit = '" + std::string(memory) + "'");
  return db;
}

std::string value_of_query(database& db, const std::string& sql) {
  try {
    return (*db.execute(sql).rows->column(0)->GetScalar(0))->ToString();
  } catch (const sql_error& e) {
    return std::string(e.sqlstate());
  }
}

const std::string from_both = "FROM x JOIN y ON x.k = y.k ";
const std::string chosen = "(SELECT q.w FROM q WHERE q.f < 2 AND q.id = x.b)";

// How many rows of y a row of x meets, with each w, and which w belong to each b: without a join of x and y.
std::string expected_pairs(database& db) {
  return value_of_query(db,
                        "SELECT sum(a.n * c.n) FROM (SELECT k, b, count(*) AS n FROM x GROUP BY k, b) a "
                        "JOIN (SELECT DISTINCT id, w FROM q WHERE f < 2) d ON d.id = a.b "
                        "JOIN (SELECT k, w, count(*) AS n FROM y GROUP BY k, w) c ON c.k = a.k AND c.w = d.w");
}

TEST(EngineJoinBlocks, CorrelatedInWithTwoEqualities) {
  auto db = tables_that_meet_often("400MB");
  const auto plan = value_of_query(db, "EXPLAIN (FORMAT json) SELECT count(*) " + from_both + "WHERE y.w IN " + chosen);
  EXPECT_NE(plan.find("Semi"), std::string::npos) << plan;
  EXPECT_EQ(value_of_query(db, "SELECT count(*) " + from_both + "WHERE y.w IN " + chosen), expected_pairs(db));
  EXPECT_EQ(value_of_query(db, "SELECT sum(x.id - x.id + 1) " + from_both + "WHERE y.w IN " + chosen),
            expected_pairs(db));
}

TEST(EngineJoinBlocks, EveryTypeOfJoinOverAJoin) {
  auto db = tables_that_meet_often("600MB");
  const auto met = std::stoll(expected_pairs(db));
  const std::int64_t all = 10'000'000;
  const std::string on = "x.b = d.id AND y.w = d.w";
  const std::string distinct = "(SELECT DISTINCT id, w FROM q WHERE f < 2) d ";
  EXPECT_EQ(value_of_query(db, "SELECT count(*) " + from_both), std::to_string(all));
  EXPECT_EQ(value_of_query(db, "SELECT count(*) " + from_both +
                                   "WHERE EXISTS (SELECT 1 FROM q WHERE q.f < 2 AND q.id = x.b "
                                   "AND q.w = y.w)"),
            std::to_string(met));
  EXPECT_EQ(value_of_query(db, "SELECT count(*) " + from_both +
                                   "WHERE NOT EXISTS (SELECT 1 FROM q WHERE q.f < 2 AND "
                                   "q.id = x.b AND q.w = y.w)"),
            std::to_string(all - met));
  EXPECT_EQ(value_of_query(db, "SELECT count(d.id) " + from_both + "LEFT JOIN " + distinct + "ON " + on),
            std::to_string(met));
  EXPECT_EQ(value_of_query(db, "SELECT count(x.id) " + from_both + "LEFT JOIN " + distinct + "ON " + on),
            std::to_string(all));
  EXPECT_EQ(value_of_query(db, "SELECT count(*) FROM (SELECT x.id " + from_both + "LEFT JOIN " + distinct + "ON " + on +
                                   " LIMIT 7) r"),
            "7");
  EXPECT_EQ(value_of_query(db, "SELECT count(*) FROM (SELECT x.id " + from_both + "WHERE y.w IN " + chosen +
                                   " LIMIT 4500000 OFFSET 10) r"),
            std::to_string(std::min<long long>(met - 10, 4500000)));
  EXPECT_EQ(value_of_query(db, "SELECT count(*) FROM x JOIN y ON x.k = y.k AND x.k > 100 WHERE y.w IN " + chosen), "0");
  EXPECT_EQ(value_of_query(db, "SELECT count(*) " + from_both +
                                   "WHERE y.w IN (SELECT q.w FROM q WHERE q.f > 5 AND "
                                   "q.id = x.b)"),
            "0");
}

// NOT IN, and IN that is a part of a condition: the values of each key are joined by key and value. By the key alone
// there are 60 million from_both.
TEST(EngineJoinBlocks, NotInWithTwoEqualities) {
  database_options options;
  options.device = device::cpu();
  database db(options);
  db.run_script(
      "CREATE TABLE x AS SELECT i AS id, i % 10 AS b, i % 7001 AS w FROM generate_series(0, 19999) s(i);"
      "CREATE TABLE q AS SELECT i % 10 AS id, i % 6000 AS w FROM generate_series(0, 29999) s(i);"
      "SET memory_limit = '100MB'");
  const auto in = std::stoll(
      value_of_query(db, "SELECT count(*) FROM x JOIN (SELECT DISTINCT id, w FROM q) d ON d.id = x.b AND d.w = x.w"));
  const std::string subquery = "(SELECT q.w FROM q WHERE q.id = x.b)";
  EXPECT_GT(in, 0);
  EXPECT_LT(in, 20000);
  EXPECT_EQ(value_of_query(db, "SELECT count(*) FROM x WHERE w NOT IN " + subquery), std::to_string(20000 - in));
  EXPECT_EQ(value_of_query(db, "SELECT count(*) FROM x WHERE w IN " + subquery + " OR id < 0"), std::to_string(in));
  EXPECT_EQ(value_of_query(db, "SELECT count(*) FROM x WHERE (w IN " + subquery + ") IS NULL"), "0");
}

// NULLs on both sides, keys without rows, values of other types.
TEST(EngineJoinBlocks, CorrelatedMembershipWithNulls) {
  database_options options;
  options.device = device::cpu();
  database db(options);
  db.run_script(
      "CREATE TABLE x (id integer, b integer, w integer);"
      "INSERT INTO x VALUES (1, 1, 5), (2, 1, 6), (3, 1, NULL), (4, 2, 5), (5, 2, 6), (6, 2, NULL), (7, 3, 5),"
      " (8, 3, NULL), (9, NULL, 5);"
      "CREATE TABLE q (id integer, w numeric(6, 2));"
      "INSERT INTO q VALUES (1, 5), (1, 5), (1, 7), (2, 5), (2, NULL), (4, 5)");
  const auto ids = [&](const std::string& condition) {
    return value_of_query(db, "SELECT string_agg(id::varchar, ' ' ORDER BY id) FROM x WHERE " + condition);
  };
  const std::string in = "(w IN (SELECT q.w FROM q WHERE q.id = x.b))";
  EXPECT_EQ(ids(in + " IS TRUE"), "1 4");
  EXPECT_EQ(ids(in + " IS FALSE"), "2 7 8 9");
  EXPECT_EQ(ids(in + " IS NULL"), "3 5 6");
  EXPECT_EQ(ids("NOT " + in), "2 7 8 9");
  EXPECT_EQ(ids("5 NOT IN (SELECT q.w FROM q WHERE q.id = x.b)"), "7 8 9");
}

}  // namespace
}  // namespace espalier::engine
