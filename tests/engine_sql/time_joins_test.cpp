// time_joins_test.cpp - as-of and window joins in SQL: answers are compared with those of statements that make pairs or
// use an index, and plans are checked. Statements against DuckDB are in cases/as_of.sql and cases/window_joins.sql.
#include <arrow/api.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "espalier/engine/database.hpp"

namespace espalier::engine {
namespace {

class EngineTimeJoins : public testing::Test {
 protected:
  EngineTimeJoins() : db_({.path = {}, .device = device::cpu()}) {}

  std::shared_ptr<arrow::Table> rows(const std::string& sql) {
    return db_.execute(sql).rows->CombineChunks().ValueOrDie();
  }

  std::string plan(const std::string& sql) {
    const auto answer = rows("EXPLAIN " + sql);
    std::string out;
    for (std::int64_t i = 0; i < answer->num_rows(); ++i) {
      out += (*answer->column(0)->GetScalar(i))->ToString() + "\n";
    }
    return out;
  }

  std::string state_of(const std::string& sql) {
    try {
      db_.execute(sql);
    } catch (const sql_error& e) {
      return std::string(e.sqlstate());
    }
    return "";
  }

  void expect_same(const std::string& sql, const std::string& other) {
    const auto mine = rows(sql), theirs = rows(other);
    ASSERT_EQ(mine->num_rows(), theirs->num_rows());
    const auto options = arrow::EqualOptions::Defaults().nans_equal(true).signed_zeros_equal(false);
    EXPECT_TRUE(mine->Equals(*theirs, options)) << sql;
  }

  // The last condition is always true and keeps the second statement from being a window join.
  void expect_windows(const std::string& calls, const std::string& condition) {
    const auto statement = [&](const std::string& more) {
      return fmt::format("SELECT a.id, w.* FROM a CROSS JOIN LATERAL (SELECT {} FROM b WHERE {}{}) w ORDER BY a.id",
                         calls, condition, more);
    };
    const std::string by_pairs = statement(" AND (b.id >= 0 OR a.id < 0)");
    EXPECT_NE(plan(statement("")).find("Window Join"), std::string::npos) << plan(statement(""));
    EXPECT_EQ(plan(by_pairs).find("Window Join"), std::string::npos) << plan(by_pairs);
    expect_same(statement(""), by_pairs);
  }

  // Two tables in random order, inserted in several statements, with NULLs and equal values.
  void make_tables(int left, int right) {
    constexpr const char* columns =
        "(id integer, k integer, s varchar, t bigint, ts timestamp, n numeric(20, 3), x double precision, f real, "
        "w bigint)";
    for (const auto& [name, count, salt] : {std::tuple("a", left, 7919), std::tuple("b", right, 104729)}) {
      db_.execute(fmt::format("CREATE TABLE {} {}", name, columns));
      for (int part = 0; part < 3; ++part) {
        db_.execute(fmt::format(
            "INSERT INTO {0} SELECT i, nullif(i * {1} % 61, 60), 'key' || (i * {1} % 13), nullif(i * {1} % {2}, 5), "
            "TIMESTAMP '2026-01-01' + (i * {1} % {2}) * INTERVAL '1 second', (i * {1} % 100003) / 8.0::numeric(20, 3), "
            "CASE i % 97 WHEN 3 THEN NULL WHEN 4 THEN 'nan' WHEN 5 THEN '-0' ELSE (i * {1} % 100003) / 7.0::float8 "
            "END, "
            "(i * {1} % 1009) / 4.0::real, i * 1000000007 FROM generate_series({3}::bigint, {4}::bigint) g(i)",
            name, salt, right, part * count / 3, (part + 1) * count / 3 - 1));
      }
    }
  }

  database db_;
};

TEST_F(EngineTimeJoins, WindowsHaveTheResultsOfPairs) {
  make_tables(6000, 40000);
  constexpr const char* calls =
      "count(*), count(b.x), sum(b.x), avg(b.x), min(b.x), max(b.x), sum(b.f), avg(b.f), sum(b.w), avg(b.w), sum(b.k), "
      "avg(b.k), min(b.s), max(b.s), sum(b.n), avg(b.n), min(b.n), max(b.ts), max(b.n * b.k), sum(b.t % 7)";
  expect_windows(calls, "b.t BETWEEN a.t - 20 AND a.t");
  expect_windows(calls, "b.k = a.k AND b.t > a.t - 900 AND b.t < a.t + 300 AND b.id % 3 <> 1");
  expect_windows(calls, "b.s = a.s AND b.k = a.k AND b.ts >= a.ts - INTERVAL '2000 seconds' AND b.ts < a.ts");
  expect_windows(calls, "b.x BETWEEN a.x AND a.x + 3");
  expect_windows(calls, "b.n > a.n - a.k AND b.n <= a.n + a.k AND b.f > 20");
  expect_windows(calls, "b.s = a.s AND b.k = a.k AND b.t < a.t - 39000");
}

// Prefix sums of 128 bits do not hold these values, so they are added and removed one by one.
TEST_F(EngineTimeJoins, SumsOfValuesFarApartAreExact) {
  make_tables(500, 3000);
  db_.execute("UPDATE b SET x = 1e300 WHERE id % 50 = 0");
  db_.execute("UPDATE b SET x = -1e300 WHERE id % 50 = 1");
  db_.execute("UPDATE b SET x = 1e-300 WHERE id % 50 = 2");
  expect_windows("sum(b.x), avg(b.x), count(b.x)", "b.t BETWEEN a.t - 100 AND a.t");
  expect_windows("sum(b.x), avg(b.x)", "b.k = a.k AND b.t BETWEEN a.t - a.k * 10 AND 3000 - a.t");
}

// Windows whose ends move back and forth while their beginnings ascend: sums come from checkpoints.
TEST_F(EngineTimeJoins, SumsOfValuesFarApartAreExactWhereEndsOfWindowsWander) {
  make_tables(500, 3000);
  db_.execute("UPDATE b SET x = CASE id % 3 WHEN 0 THEN 1e300 WHEN 1 THEN -1e300 ELSE 1e-300 END WHERE id % 50 < 3");
  db_.execute("UPDATE b SET x = 'inf' WHERE id = 77");
  db_.execute("UPDATE b SET x = '-inf' WHERE id = 1234");
  constexpr const char* wandering = "b.t BETWEEN a.t AND a.t + a.w % 3000";
  expect_windows("sum(b.x), avg(b.x), count(b.x)", wandering);
  // Together beyond 127 bits.
  expect_windows(
      "sum(b.w * 10000000000000000000000::numeric(38, 0)), avg(b.w * 10000000000000000000000::numeric(38, 0))",
      wandering);
  expect_windows("sum(b.x), avg(b.x)", "b.k = a.k AND b.t BETWEEN a.t AND a.t + a.w % 3000");
}

TEST_F(EngineTimeJoins, SumsBeyond38DigitsAreRefusedWhereAWindowHasThem) {
  db_.run_script(
      "CREATE TABLE b (id integer, t integer, m numeric(38, 0));"
      "INSERT INTO b VALUES (1, 1, 99999999999999999999999999999999999999), (2, 2, 1), (3, 3, "
      "99999999999999999999999999999999999999), (4, 4, -99999999999999999999999999999999999999);"
      "CREATE TABLE a (t integer); INSERT INTO a VALUES (1), (2), (4)");
  const std::string sums =
      "SELECT a.t, (SELECT sum(m) FROM b WHERE b.t BETWEEN a.t - {} AND a.t) AS s FROM a ORDER BY t";
  const auto found = rows(fmt::format(fmt::runtime(sums), 0));
  EXPECT_EQ((*found->column(1)->GetScalar(1))->ToString(), "1");
  EXPECT_EQ(state_of(fmt::format(fmt::runtime(sums), 1)), "22003");
}

TEST_F(EngineTimeJoins, ExpressionsFailOnlyForRowsOfWindows) {
  db_.run_script(
      "CREATE TABLE b (k integer, t integer, x integer); INSERT INTO b VALUES (1, 1, 0), (1, 2, 5), (1, 9, 2), (2, 4, "
      "0);"
      "CREATE TABLE a (k integer, t integer, d integer); INSERT INTO a VALUES (1, 3, 1), (1, 9, 1), (3, 3, 0)");
  const auto found =
      rows("SELECT (SELECT sum(10 / b.x) FROM b WHERE b.k = a.k AND b.t BETWEEN a.t - 1 AND a.t) FROM a");
  EXPECT_EQ((*found->column(0)->GetScalar(0))->ToString(), "2");
  EXPECT_EQ((*found->column(0)->GetScalar(1))->ToString(), "5");
  EXPECT_FALSE((*found->column(0)->GetScalar(2))->is_valid);
  EXPECT_EQ(state_of("SELECT (SELECT sum(10 / b.x) FROM b WHERE b.k = a.k AND b.t BETWEEN a.t - 2 AND a.t) FROM a"),
            "22012");
  // The bound of the row whose group has no rows is not evaluated.
  const std::string bound = "SELECT (SELECT count(*) FROM b WHERE {}b.t >= a.t / a.d) FROM a";
  EXPECT_EQ(rows(fmt::format(fmt::runtime(bound), "b.k = a.k AND "))->num_rows(), 3);
  EXPECT_EQ(state_of(fmt::format(fmt::runtime(bound), "")), "22012");
}

TEST_F(EngineTimeJoins, NearestRowsAreThoseOfAnIndex) {
  make_tables(5000, 30000);
  const auto statement = [](const char* by, const char* at, const char* compared, const char* order) {
    return fmt::format(
        "SELECT a.id, q.* FROM a LEFT JOIN LATERAL (SELECT {1} AS at, id AS i, s, x, n, k FROM b WHERE {0}b.{1} {2} "
        "a.{1} ORDER BY b.{1} {3} LIMIT 1) q ON true ORDER BY a.id",
        by, at, compared, order);
  };
  for (const auto& [by, keys] :
       {std::pair("", ""), std::pair("b.k = a.k AND ", "k, "), std::pair("b.s = a.s AND b.k = a.k AND ", "s, k, ")}) {
    for (const char* const at : {"t", "ts", "x", "f", "n", "s", "k"}) {
      if (std::string_view(keys).find(at + std::string(",")) != std::string_view::npos) continue;
      std::vector<std::shared_ptr<arrow::Table>> plain;
      constexpr std::pair<const char*, const char*> ways[] = {{"<=", "DESC"}, {"<", "DESC"}, {">=", ""}, {">", ""}};
      for (const auto& [compared, order] : ways) plain.push_back(rows(statement(by, at, compared, order)));
      db_.execute(fmt::format("CREATE INDEX i ON b ({}{})", keys, at));
      for (std::size_t i = 0; i < plain.size(); ++i) {
        const auto sql = statement(by, at, ways[i].first, ways[i].second);
        const auto options = arrow::EqualOptions::Defaults().nans_equal(true);
        EXPECT_TRUE(plain[i]->Equals(*rows(sql), options)) << sql;
      }
      db_.execute("DROP INDEX i");
    }
  }
}

TEST_F(EngineTimeJoins, SidesInOrderAreMergedAlthoughThereIsAnIndex) {
  db_.run_script(
      "CREATE TABLE b AS SELECT i AS t, i % 10 AS k, i * 3 AS v FROM generate_series(0, 99999) g(i);"
      "CREATE TABLE a AS SELECT i * 2 + 1 AS t, i % 10 AS k, i AS id FROM generate_series(0, 49999) g(i);"
      "CREATE TABLE few AS SELECT i * 2 + 1 AS t, i AS id FROM generate_series(0, 99) g(i);"
      "CREATE TABLE mixed AS SELECT i * 7919 % 100000 AS t, i AS id FROM generate_series(0, 49999) g(i);"
      "CREATE INDEX b_t ON b (t)");
  const auto statement = [](const char* from) {
    return fmt::format(
        "SELECT x.id, q.v FROM {} x LEFT JOIN LATERAL (SELECT v FROM b WHERE b.t <= x.t ORDER BY b.t DESC LIMIT 1) q "
        "ON "
        "true ORDER BY x.id",
        from);
  };
  EXPECT_NE(plan(statement("a")).find("As-Of Left Join (sorted)"), std::string::npos);
  EXPECT_NE(plan(statement("few")).find("As-Of Left Join (batched index)"), std::string::npos);
  EXPECT_NE(plan(statement("mixed")).find("As-Of Left Join (batched index)"), std::string::npos);
  for (const char* const from : {"a", "few", "mixed"}) {
    expect_same(statement(from), fmt::format("SELECT id, t * 3 AS v FROM {} ORDER BY id", from));
  }
}

TEST_F(EngineTimeJoins, EmptySidesAndNulls) {
  db_.run_script("CREATE TABLE b (t integer, v integer); CREATE TABLE a (t integer); INSERT INTO a VALUES (1), (NULL)");
  constexpr const char* windows =
      "SELECT w.n, w.s FROM a LEFT JOIN LATERAL (SELECT count(*) AS n, sum(v) AS s FROM b WHERE b.t <= a.t) w ON true";
  constexpr const char* nearest =
      "SELECT q.v FROM a LEFT JOIN LATERAL (SELECT v FROM b WHERE b.t <= a.t ORDER BY b.t DESC LIMIT 1) q ON true";
  for (int step = 0; step < 2; ++step) {
    const auto counted = rows(windows);
    for (std::int64_t i = 0; i < 2; ++i) {
      EXPECT_EQ((*counted->column(0)->GetScalar(i))->ToString(), "0");
      EXPECT_FALSE((*counted->column(1)->GetScalar(i))->is_valid);
    }
    EXPECT_EQ(rows(nearest)->column(0)->null_count(), 2);
    db_.execute("INSERT INTO b VALUES (NULL, 7), (2, 8)");
  }
  db_.execute("DELETE FROM a");
  EXPECT_EQ(rows(windows)->num_rows(), 0);
  EXPECT_EQ(rows(nearest)->num_rows(), 0);
}

}  // namespace
}  // namespace espalier::engine
