// time_joins_test.cpp - as-of and window joins in SQL: answers are compared with those of statements that make pairs or
// use an index, and plans are checked. Statements against DuckDB are in cases/as_of.sql and cases/window_joins.sql.
#include <arrow/api.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <tuple>
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

TEST_F(EngineTimeJoins, WindowsOfAnIndexHaveTheResultsOfASort) {
  make_tables(300, 12000);
  const auto statement = [](std::string_view condition) {
    return fmt::format(
        "SELECT a.id, w.* FROM a CROSS JOIN LATERAL (SELECT count(*), count(b.x), sum(b.x), avg(b.x), min(b.x), "
        "max(b.x), sum(b.f), avg(b.f), sum(b.w), avg(b.w), sum(b.k), avg(b.k), sum(b.n), avg(b.n), min(b.n), "
        "max(b.ts), min(DISTINCT b.t) FROM b WHERE {}) w ORDER BY a.id",
        condition);
  };
  struct indexed_windows {
    const char *index, *condition;
  };
  constexpr indexed_windows cases[] = {
      {"static (t)", "b.t BETWEEN a.t - 20 AND a.t"},
      {"static (t)", "b.t > a.t - 20 AND b.t < a.t"},
      {"static (t)", "b.t BETWEEN a.t AND a.t - a.k"},
      {"static (x)", "b.x BETWEEN a.x AND a.x + 3"},
      {"static (ts)", "b.ts >= a.ts - INTERVAL '2000 seconds'"},
      {"radix (k, t)", "b.k = a.k AND b.t > a.t - 900 AND b.t < a.t + 300"},
      {"radix (k, t)", "b.k = a.k AND b.t >= a.t"},
      {"radix (s, k, ts)", "b.k = a.k AND b.ts >= a.ts - INTERVAL '2000 seconds' AND b.s = a.s AND b.ts < a.ts"},
      {"radix (k, x)", "b.k = a.k AND b.x < a.x"},
      {"radix (n)", "b.n >= a.n"},
  };
  for (const auto& [index, condition] : cases) {
    const std::string sql = statement(condition);
    const std::string create = fmt::format("CREATE INDEX by_window ON b USING {}", index);
    ASSERT_EQ(plan(sql).find("index"), std::string::npos) << plan(sql);
    const auto sorted = rows(sql);
    db_.execute(create);
    EXPECT_NE(plan(sql).find("Window Join (batched index)"), std::string::npos) << plan(sql);
    EXPECT_NE(plan(sql).find("by_window"), std::string::npos) << plan(sql);
    // Which of 0.0 and -0.0 is the least value depends on the plan.
    const auto options = arrow::EqualOptions::Defaults().nans_equal(true).signed_zeros_equal(true);
    EXPECT_TRUE(sorted->Equals(*rows(sql), options)) << index << ": " << sql;
    // Changes that are not in the tree yet.
    db_.execute("DELETE FROM b WHERE id % 11 = 3");
    db_.execute("UPDATE b SET t = t + 5, x = x / 2, n = n + 1, ts = ts + INTERVAL '7 seconds' WHERE id % 13 = 4");
    db_.execute("INSERT INTO b SELECT id + 100000, k, s, t + 3, ts, n, x + 1, f, w FROM b WHERE id % 17 = 5");
    EXPECT_NE(plan(sql).find("Window Join (batched index)"), std::string::npos) << plan(sql);
    const auto changed = rows(sql);
    db_.execute("DROP INDEX by_window");
    EXPECT_TRUE(changed->Equals(*rows(sql), options)) << index << ", changed: " << sql;
  }
}

TEST_F(EngineTimeJoins, WindowsOfAnIndexFailForTheSameRows) {
  db_.run_script(
      "CREATE TABLE b (k integer, t integer, m numeric(38, 0)); INSERT INTO b VALUES (1, 1, "
      "99999999999999999999999999999999999999), (1, 2, 1), (1, 9, 99999999999999999999999999999999999999), (2, 4, 0), "
      "(2, 5, 3), (2, NULL, 1), (NULL, 3, 1);"
      "INSERT INTO b SELECT 99, 1000000 + i, 0 FROM generate_series(1, 3000) g(i);"
      "CREATE TABLE a (k integer, t integer, d integer); INSERT INTO a VALUES (1, 3, 1), (2, 9, 1), (3, 3, 0);"
      "CREATE INDEX b_t ON b USING static (t); CREATE INDEX b_kt ON b USING radix (k, t);"
      "CREATE TABLE none (k integer, t integer, d integer)");
  const std::string bound = "SELECT (SELECT count(*) FROM b WHERE {}b.t >= a.t / a.d) FROM {} a";
  const std::string of_groups = fmt::format(fmt::runtime(bound), "b.k = a.k AND ", "a");
  EXPECT_NE(plan(of_groups).find("Window Join (batched index)"), std::string::npos) << plan(of_groups);
  // The bound of the row whose group has no rows is not evaluated.
  const auto counts = rows(of_groups);
  EXPECT_EQ(counts->column(0)->ToString(),
            rows("SELECT n::bigint FROM (VALUES (1), (0), (0)) v (n)")->column(0)->ToString());
  EXPECT_EQ(state_of(fmt::format(fmt::runtime(bound), "", "a")), "22012");
  EXPECT_EQ(rows(fmt::format(fmt::runtime(bound), "", "none"))->num_rows(), 0);
  const std::string sums = "SELECT (SELECT sum(m) FROM b WHERE b.t BETWEEN {} AND a.t) FROM a WHERE a.t = 9";
  EXPECT_NE(plan(fmt::format(fmt::runtime(sums), "a.t - 5")).find("Window Join (batched index)"), std::string::npos);
  EXPECT_EQ(state_of(fmt::format(fmt::runtime(sums), "a.t - 5")), "22003");
  EXPECT_EQ(state_of(fmt::format(fmt::runtime(sums), "a.t - 0")), "");
}

TEST_F(EngineTimeJoins, WindowsThatAnIndexDoesNotAnswerAreSorted) {
  make_tables(300, 3000);
  db_.execute("CREATE INDEX i ON b USING static (t)");
  db_.execute("CREATE INDEX j ON b USING blink (k)");
  const auto of = [&](std::string_view call, std::string_view condition, std::string_view left = "a") {
    return plan(fmt::format("SELECT (SELECT {} FROM b WHERE {}) FROM {} a", call, condition, left));
  };
  constexpr const char* near = "b.t BETWEEN a.t - 2 AND a.t";
  EXPECT_NE(of("sum(b.x)", near).find("Window Join (batched index)"), std::string::npos);
  for (const auto& text :
       {of("min(b.s)", near), of("sum(b.x + 1)", near), of("sum(b.x)", "b.k = a.k AND " + std::string(near)),
        of("sum(b.x)", std::string(near) + " AND b.id % 3 = 1"),
        // It has no ranks, so it would read the rows of each window.
        of("sum(b.x)", "b.k BETWEEN a.k - 2 AND a.k"),
        // A sort of the right side costs less than lookups of many more left rows.
        of("sum(b.x)", near, "(SELECT t FROM b UNION ALL SELECT t FROM b)")}) {
    EXPECT_NE(text.find("Window Join"), std::string::npos) << text;
    EXPECT_EQ(text.find("batched index"), std::string::npos) << text;
  }
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
        EXPECT_NE(plan(sql).find("(batched index)"), std::string::npos) << sql;
        EXPECT_TRUE(plain[i]->Equals(*rows(sql), options)) << sql;
      }
      db_.execute("DROP INDEX i");
    }
  }
}

TEST_F(EngineTimeJoins, ManyLeftRowsAreMergedAlthoughThereIsAnIndex) {
  db_.run_script(
      "CREATE TABLE b AS SELECT i AS t, i % 10 AS k, i * 3 AS v FROM generate_series(0, 99999) g(i);"
      "CREATE TABLE a AS SELECT i * 2 + 1 AS t, i % 10 AS k, i AS id FROM generate_series(0, 49999) g(i);"
      "CREATE TABLE few AS SELECT i * 2 + 1 AS t, i AS id FROM generate_series(0, 99) g(i);"
      "CREATE TABLE mixed AS SELECT i * 7919 % 100000 AS t, i AS id FROM generate_series(0, 49999) g(i);"
      "CREATE TABLE third AS SELECT * FROM mixed WHERE id % 3 = 0;"
      "CREATE TABLE unordered AS SELECT * FROM b ORDER BY t * 7919 % 100003;"
      "CREATE TABLE small AS SELECT * FROM b WHERE t % 100 = 0;"
      "CREATE INDEX b_t ON b (t); CREATE INDEX unordered_t ON unordered (t); CREATE INDEX small_t ON small (t)");
  const auto statement = [](const char* from, const char* right) {
    return fmt::format(
        "SELECT x.id, q.v FROM {} x LEFT JOIN LATERAL (SELECT v FROM {} b WHERE b.t <= x.t ORDER BY b.t DESC LIMIT 1) "
        "q ON true ORDER BY x.id",
        from, right);
  };
  constexpr const char *by_index = "As-Of Left Join (batched index)", *merged = "As-Of Left Join (sorted)";
  for (const auto& [from, right, method] :
       {std::tuple("few", "b", by_index), std::tuple("few", "unordered", by_index), std::tuple("third", "b", merged),
        std::tuple("third", "unordered", by_index), std::tuple("a", "b", merged), std::tuple("mixed", "b", merged),
        std::tuple("mixed", "unordered", merged), std::tuple("few", "small", merged),
        std::tuple("mixed", "small", merged)}) {
    const auto sql = statement(from, right);
    EXPECT_NE(plan(sql).find(method), std::string::npos) << sql;
    const auto exact = right == std::string_view("small") ? "t / 100 * 300" : "t * 3";
    expect_same(sql, fmt::format("SELECT id, {} AS v FROM {} ORDER BY id", exact, from));
  }
}

// The conditions that are never true keep the second statement from being an overlap join.
TEST_F(EngineTimeJoins, OverlapsHaveTheResultsOfPairs) {
  make_tables(500, 1800);
  struct span_join {
    const char *start, *finish, *more;
  };
  constexpr span_join joins[] = {
      {"b.t < a.t + a.k", "a.t < b.t + b.k", ""},
      {"b.t <= a.t + a.k", "b.t + b.k >= a.t", ""},
      {"a.t + a.k > b.t", "a.t <= b.t + b.k", " AND (a.id + b.id) % 3 <> 1"},
      {"b.t <= a.t", "a.t + a.k <= b.t + b.k", ""},
      {"b.t <= a.t + 30 - a.k", "a.t <= b.t + 20 - b.k", ""},
      {"b.t < a.t + a.k * 20", "a.t < b.t + b.k * 30", " AND b.s = a.s"},
      {"b.t < a.t + a.k * 20", "a.t < b.t + b.k * 30", " AND b.k = a.k AND b.id % 7 < a.id % 9"},
      {"b.x < a.x + 90", "a.x < b.x + 20", ""},
      {"b.f <= a.f + 2", "a.f <= b.f", ""},
      {"b.ts < a.ts + INTERVAL '20 seconds'", "a.ts <= b.ts + INTERVAL '9 seconds'", ""},
      {"b.n < a.n + 10", "a.n <= b.n + 5", ""},
      {"b.n < a.n + 10", "a.t <= b.t + 900", ""},
      {"b.n * 100000000000000000 < a.n * 100000000000000000", "a.t <= b.t + 9", ""},
  };
  for (const auto& [start, finish, more] : joins) {
    const auto direct = fmt::format("{} AND {}{}", start, finish, more);
    const auto by_pairs = fmt::format("({} OR a.id < 0) AND ({} OR a.id < 0){}", start, finish, more);
    for (const char* const statement :
         {"SELECT a.id, b.id FROM a JOIN b ON {} ORDER BY 1, 2",
          "SELECT a.id, b.id FROM a LEFT JOIN b ON {} ORDER BY 1, 2",
          "SELECT a.id, b.id FROM a FULL JOIN b ON {} ORDER BY 1, 2", "SELECT count(*) FROM a JOIN b ON {}",
          "SELECT a.id FROM a WHERE EXISTS (SELECT 1 FROM b WHERE {}) ORDER BY 1",
          "SELECT a.id FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE {}) ORDER BY 1"}) {
      const auto sql = fmt::format(fmt::runtime(statement), direct);
      const auto pairs = fmt::format(fmt::runtime(statement), by_pairs);
      EXPECT_NE(plan(sql).find("Overlap (sorted)"), std::string::npos) << plan(sql);
      EXPECT_EQ(plan(pairs).find("Overlap"), std::string::npos) << plan(pairs);
      expect_same(sql, pairs);
    }
  }
}

TEST_F(EngineTimeJoins, OverlapsFailForTheSamePairs) {
  db_.run_script(
      "CREATE TABLE a (lo integer, hi integer, d integer);"
      "INSERT INTO a VALUES (1, 5, 1), (10, 20, 0), (2147483000, 2147483647, 3), (NULL, 3, 0);"
      "CREATE TABLE b (lo integer, hi integer, d integer);"
      "INSERT INTO b VALUES (2, 3, 1), (12, 13, 1), (12, 13, 2), (2147483001, 2147483002, 4), (30, 25, 0)");
  const auto state = [&](const std::string& conditions) {
    return state_of("SELECT a.lo, b.lo FROM a JOIN b ON " + conditions);
  };
  constexpr const char *overlap = "a.lo < b.hi AND b.lo < a.hi",
                       *pairs = "(a.lo < b.hi OR a.d > 9) AND (b.lo < a.hi OR a.d > 9)";
  for (const auto& [residual, expected] :
       {std::pair("100 / (a.d - b.d) <> 1", "22012"), std::pair("100 / (a.d + b.d) > 1", ""),
        std::pair("100 / a.d > 1", "22012"), std::pair("a.hi + b.lo > 0", "22003"),
        std::pair("10 / (b.lo - 30) < 0", "22012"), std::pair("a.d <> b.d AND 100 / (a.d - b.d) <> 1", "")}) {
    const auto mine = fmt::format("{} AND {}", overlap, residual);
    EXPECT_EQ(state(mine), expected) << mine;
    EXPECT_EQ(state(fmt::format("{} AND {}", pairs, residual)), expected) << residual;
  }
  // Ends that fail, in either order, and behind a condition that fails for other pairs.
  for (const auto& [conditions, expected, is_overlap] :
       {std::tuple("a.lo < b.hi AND b.lo < a.hi + 1", "22003", true),
        std::tuple("b.lo < a.hi + 1 AND a.lo < b.hi", "22003", true),
        std::tuple("a.lo < b.hi AND a.lo < 100 AND b.lo < a.hi + 1", "", true),
        std::tuple("a.hi < b.hi AND b.lo < a.lo / a.d AND a.d > 0", "", true),
        std::tuple("100 / a.d > 1 AND a.lo < b.hi AND b.lo < a.hi", "22012", true),
        std::tuple("100 / (a.d - b.d) < 1000 AND a.lo < b.hi + 0 AND b.lo < a.hi", "22012", false)}) {
    EXPECT_EQ(state(conditions), expected) << conditions;
    const auto text = plan(fmt::format("SELECT a.lo, b.lo FROM a JOIN b ON {}", conditions));
    EXPECT_EQ(text.find("Overlap") != std::string::npos, is_overlap) << text;
  }
}

// EXPLAIN ANALYZE says how many bytes of pairs a join makes.
TEST_F(EngineTimeJoins, OverlapsMakeThePairsOfTheAnswerOnly) {
  db_.run_script(
      "CREATE TABLE a AS SELECT i AS id, i * 10 AS lo, i * 10 + 14 AS hi FROM generate_series(0, 19999) g(i);"
      "CREATE TABLE b AS SELECT i AS id, i * 10 + 5 AS lo, i * 10 + 9 AS hi FROM generate_series(0, 19999) g(i)");
  const auto text = plan("ANALYZE SELECT a.id, b.id FROM a JOIN b ON a.lo < b.hi AND b.lo < a.hi + 0");
  EXPECT_NE(text.find("Overlap (sorted) Join"), std::string::npos) << text;
  EXPECT_NE(text.find("rows=20000 bytes=320000"), std::string::npos) << text;
}

TEST_F(EngineTimeJoins, HashJoinsOfFewRowsPerKeyCheckSpansAfterwards) {
  make_tables(2000, 2000);
  const std::string text = plan("SELECT count(*) FROM a JOIN b ON a.id = b.id AND a.t < b.t + 9 AND b.t < a.t + 9");
  EXPECT_NE(text.find("Hash Join"), std::string::npos) << text;
}

// The last condition is always true and keeps the second statement from being an as-of join.
TEST_F(EngineTimeJoins, FurtherKeysDecideBetweenRowsOfOneTime) {
  make_tables(500, 4000);
  db_.execute("UPDATE b SET t = t / 70, ts = date_trunc('minute', ts), n = (id % 40)::numeric(20, 3)");
  const auto statement = [](const char* at, const char* compared, const char* keys, const char* equal, bool by_pairs) {
    return fmt::format(
        "SELECT a.id, q.* FROM a LEFT JOIN LATERAL (SELECT id AS i, s, x FROM b WHERE {4}b.{0} {1} a.{0}{3} ORDER BY "
        "b.{0} {2}, b.id LIMIT 1) q ON true ORDER BY a.id",
        at, compared, keys, by_pairs ? " AND (b.id >= 0 OR a.id < 0)" : "", equal);
  };
  for (const char* const equal : {"", "b.k = a.k AND ", "b.s = a.s AND "}) {
    for (const char* const at : {"t", "ts", "n"}) {
      for (const auto& [compared, keys] :
           {std::pair("<=", "DESC, b.x"), std::pair("<", "DESC, b.x DESC"), std::pair("<=", "DESC, b.x NULLS FIRST"),
            std::pair(">=", ", b.s DESC, b.x"), std::pair(">", ", b.x DESC NULLS LAST"), std::pair("<=", "DESC")}) {
        const auto sql = statement(at, compared, keys, equal, false),
                   pairs = statement(at, compared, keys, equal, true);
        EXPECT_NE(plan(sql).find("As-Of Left Join (sorted)"), std::string::npos) << plan(sql);
        EXPECT_EQ(plan(pairs).find("As-Of"), std::string::npos) << plan(pairs);
        expect_same(sql, pairs);
      }
    }
  }
  // An index on the time alone does not know the order of its equal rows. Keys that may fail are those of pairs.
  db_.execute("CREATE INDEX i ON b (t)");
  EXPECT_NE(plan(statement("t", "<=", "DESC", "", false)).find("(sorted)"), std::string::npos);
  EXPECT_EQ(plan(statement("t", "<=", "DESC, 10 / b.k", "", false)).find("As-Of"), std::string::npos);
}

// The added zero keeps the second statement from being an as-of join.
TEST_F(EngineTimeJoins, NearestRowsOnEitherSideAreThoseOfPairs) {
  make_tables(400, 3000);
  db_.execute("UPDATE b SET t = t / 30 * 30, ts = date_trunc('minute', ts)");
  const auto statement = [](const std::string& distance, const char* at, const char* equal, const char* more) {
    return fmt::format(
        "SELECT a.id, q.* FROM a LEFT JOIN LATERAL (SELECT {1} AS at, {0} AS far FROM b WHERE {2} ORDER BY {0}{3}, "
        "b.{1} "
        "LIMIT 1) q ON true WHERE a.{1} IS NOT NULL ORDER BY a.id",
        distance, at, equal, more);
  };
  for (const char* const equal : {"b.t IS NOT NULL", "b.k = a.k", "b.s = a.s AND b.id % 3 = 1",
                                  "(b.k > 30) = (a.k > 30)", "b.id < 0", "b.k = a.id"}) {
    for (const auto& [distance, at] :
         {std::pair("abs(a.t - b.t)", "t"), std::pair("abs(b.k - a.k)", "k"),
          std::pair("abs(extract(epoch from (b.ts - a.ts)))", "ts"), std::pair("abs(a.ts::date - b.ts::date)", "ts")}) {
      const auto sql = statement(distance, at, equal, ""), pairs = statement(distance, at, equal, " + 0");
      const bool casts = std::string_view(distance).find("::") != std::string_view::npos;
      EXPECT_EQ(plan(sql).find("As-Of Left Join (sorted)") != std::string::npos, !casts) << plan(sql);
      EXPECT_EQ(plan(pairs).find("As-Of"), std::string::npos) << plan(pairs);
      expect_same(sql, pairs);
    }
  }
}

TEST_F(EngineTimeJoins, NearestRowsWithoutADistanceAreAnyOfTheirGroup) {
  db_.run_script(
      "CREATE TABLE b (k integer, t integer, v integer);"
      "INSERT INTO b VALUES (1, NULL, 10), (1, 5, 11), (2, NULL, 20), (2, NULL, 21), (NULL, 1, 30);"
      "CREATE TABLE a (k integer, t integer); INSERT INTO a VALUES (1, 7), (1, NULL), (2, 7), (3, 7), (NULL, 1)");
  const auto found = rows(
      "SELECT a.k, a.t, q.v FROM a LEFT JOIN LATERAL (SELECT v FROM b WHERE b.k = a.k ORDER BY abs(a.t - b.t) LIMIT 1) "
      "q ON true");
  ASSERT_EQ(found->num_rows(), 5);
  const auto value = [&](std::int64_t row) { return (*found->column(2)->GetScalar(row))->ToString(); };
  EXPECT_EQ(value(0), "11");
  EXPECT_TRUE(value(1) == "10" || value(1) == "11") << value(1);
  EXPECT_TRUE(value(2) == "20" || value(2) == "21") << value(2);
  EXPECT_EQ(value(3), "null");
  EXPECT_EQ(value(4), "null");
  const auto inner = rows("SELECT q.v FROM a CROSS JOIN LATERAL (SELECT v FROM b ORDER BY abs(b.t - a.t) LIMIT 1) q");
  EXPECT_EQ(inner->num_rows(), 5);
}

TEST_F(EngineTimeJoins, DistancesThatOverflowAreErrorsWhereRowsMeet) {
  db_.run_script(
      "CREATE TABLE b (k integer, t integer, l bigint);"
      "INSERT INTO b VALUES (1, 2147483647, 9223372036854775807), (1, 0, 0), (2, 5, 5), (3, -2147483648, 1), (3, NULL, "
      "1);"
      "CREATE TABLE a (k integer, t integer, l bigint);"
      "INSERT INTO a VALUES (1, 100, 100), (2, -2147483648, -9223372036854775808), (4, -2147483648, 1), (3, NULL, 1)");
  const auto state = [&](const std::string& distance, const std::string& where, const std::string& from = "a") {
    return state_of(fmt::format(
        "SELECT q.v FROM {} a LEFT JOIN LATERAL (SELECT k AS v FROM b WHERE {} ORDER BY {} LIMIT 1) q ON true", from,
        where, distance));
  };
  for (const char* const zero : {"", " + 0"}) {  // an as-of join, and pairs
    const auto of = [&](const char* distance) { return std::string(distance) + zero; };
    EXPECT_EQ(state(of("abs(a.t - b.t)"), "b.k = a.k"), "22003") << zero;  // 5 - -2147483648
    EXPECT_EQ(state(of("abs(a.t - b.t)"), "b.k = a.k", "(SELECT * FROM a WHERE k <> 2)"), "") << zero;
    EXPECT_EQ(state(of("abs(a.t - b.t)"), "b.k > 0", "(SELECT * FROM a WHERE k <> 2)"), "22003") << zero;
    EXPECT_EQ(state(of("abs(a.l - b.l)"), "b.k = a.k"), "22003") << zero;
    EXPECT_EQ(state(of("abs(b.l - a.t)"), "b.k = a.k"), "") << zero;
    // The difference fits, its magnitude does not.
    EXPECT_EQ(state(of("abs(b.t - a.t)"), "b.k = 3", "(SELECT 0 AS t)"), "22003") << zero;
    EXPECT_EQ(state(of("abs(b.t - a.t)"), "b.k = 3", "(SELECT 0 AS t WHERE 1 = 2)"), "") << zero;
  }
}

// The last condition is always true and keeps the second statement from being a window join.
TEST_F(EngineTimeJoins, AggregatesOfSpansHaveTheResultsOfPairs) {
  make_tables(900, 5000);
  db_.execute(
      "CREATE TABLE spans AS SELECT id, k, s, w, n, x, t AS lo, t + k - 10 AS hi, ts AS started, "
      "ts + (k - 10) * INTERVAL '1 second' AS ended FROM b");
  const auto statement = [](const char* calls, const std::string& condition) {
    return fmt::format("SELECT a.id, w.* FROM a CROSS JOIN LATERAL (SELECT {} FROM spans b WHERE {}) w ORDER BY a.id",
                       calls, condition);
  };
  constexpr const char* calls =
      "count(*), count(b.k), sum(b.k), avg(b.k), sum(b.w), avg(b.w), sum(b.n), avg(b.n), sum(b.lo), count(b.hi)";
  for (const char* const condition :
       {"b.lo <= a.t AND a.t <= b.hi", "b.lo < a.t AND a.t < b.hi AND b.k > 10", "b.lo < a.t + a.k AND a.t < b.hi",
        "b.lo <= a.t + a.k AND a.t <= b.hi AND b.k >= 10", "b.k = a.k AND b.lo <= a.t + 40 AND b.hi >= a.t + a.k",
        "b.k = a.k AND b.k > 9 AND b.lo <= a.t + 900 AND b.hi >= a.t + a.k * 10",
        "b.started < a.ts + INTERVAL '20 seconds' AND b.ended > a.ts AND b.s = a.s AND b.k > 10"}) {
    const auto sql = statement(calls, condition);
    const auto pairs = statement(calls, std::string(condition) + " AND (b.id >= 0 OR a.id < 0)");
    EXPECT_NE(plan(sql).find("Window Join (spans)"), std::string::npos) << plan(sql);
    EXPECT_EQ(plan(pairs).find("Window Join"), std::string::npos) << plan(pairs);
    expect_same(sql, pairs);
    // Sums of floats depend on all digits of all values, and minima are not differences: they are pairs.
    for (const char* const other : {"sum(b.x)", "min(b.k)", "sum(b.k + 1)", "sum(b.n * b.n)"}) {
      EXPECT_EQ(plan(statement(other, condition)).find("Window Join (spans)"), std::string::npos) << other;
    }
  }
}

TEST_F(EngineTimeJoins, AggregatesOfSpansFailForTheSameRows) {
  db_.run_script(
      "CREATE TABLE b (k integer, lo integer, hi integer, v bigint);"
      "INSERT INTO b VALUES (1, 1, 5, 9223372036854775807), (1, 2, 9, 9223372036854775807), (2, 3, 4, NULL), (NULL, 1, "
      "9, 1);"
      "CREATE TABLE a (k integer, t integer, d integer); INSERT INTO a VALUES (1, 2, 1), (2, 3, 1), (3, 3, 0)");
  const std::string sums = "SELECT (SELECT sum(v) FROM b WHERE {}b.lo <= a.t / a.d AND b.hi >= a.t) AS s FROM a";
  const auto found = rows(fmt::format(fmt::runtime(sums), "b.k = a.k AND "));
  EXPECT_NE(plan(fmt::format(fmt::runtime(sums), "b.k = a.k AND ")).find("Window Join (spans)"), std::string::npos);
  EXPECT_EQ((*found->column(0)->GetScalar(0))->ToString(), "18446744073709551614");
  EXPECT_FALSE((*found->column(0)->GetScalar(1))->is_valid);
  EXPECT_FALSE((*found->column(0)->GetScalar(2))->is_valid);
  EXPECT_EQ(state_of(fmt::format(fmt::runtime(sums), "")), "22012");
  db_.execute("DELETE FROM b");
  EXPECT_EQ(rows(fmt::format(fmt::runtime(sums), ""))->num_rows(), 3);
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
