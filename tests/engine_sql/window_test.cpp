// window_test.cpp - window functions against a straightforward oracle, and their errors, limits and plans. Statements
// against DuckDB are in cases/window_functions.sql.
#include <arrow/api.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "engine/exec/fixed_point.hpp"
#include "engine/float_sum.hpp"
#include "engine/table/text_limit.hpp"
#include "espalier/engine/database.hpp"

namespace espalier::engine {
namespace {

database memory_database() { return database({.path = {}, .device = device::cpu()}); }

// The column as text, one value per row.
std::vector<std::string> column(database& db, const std::string& sql, int place = 0) {
  const auto rows = db.execute(sql).rows;
  std::vector<std::string> out;
  for (std::int64_t i = 0; i < rows->num_rows(); ++i) {
    const auto value = *rows->column(place)->GetScalar(i);
    out.push_back(value->is_valid ? value->ToString() : "NULL");
  }
  return out;
}

std::string state_of(database& db, const std::string& sql) {
  try {
    db.execute(sql);
  } catch (const sql_error& e) {
    return std::string(e.sqlstate());
  }
  return "";
}

using texts = std::vector<std::string>;

class EngineWindow : public testing::Test {
 protected:
  EngineWindow() : db_(memory_database()) {
    db_.run_script(
        "CREATE TABLE t (id integer, g integer, x integer, d double precision, s varchar);"
        "INSERT INTO t VALUES (1, 1, 10, 1.5, 'a'), (2, 1, 10, NULL, 'b'), (3, 1, 20, 2.5, NULL), (4, 1, NULL, 0.5, "
        "'d'), "
        "(5, 2, 7, 4, 'e');"
        "CREATE TABLE none (id integer, x integer)");
  }
  texts over(const std::string& call) { return column(db_, "SELECT " + call + " FROM t ORDER BY id"); }

  database db_;
};

TEST_F(EngineWindow, RanksOfTiesAndNulls) {
  EXPECT_EQ(over("row_number() OVER (PARTITION BY g ORDER BY x, id)"), (texts{"1", "2", "3", "4", "1"}));
  EXPECT_EQ(over("rank() OVER (PARTITION BY g ORDER BY x)"), (texts{"1", "1", "3", "4", "1"}));
  EXPECT_EQ(over("dense_rank() OVER (PARTITION BY g ORDER BY x)"), (texts{"1", "1", "2", "3", "1"}));
  EXPECT_EQ(over("rank() OVER (PARTITION BY g ORDER BY x DESC)"), (texts{"3", "3", "2", "1", "1"}));  // NULL first
  EXPECT_EQ(over("rank() OVER (PARTITION BY g ORDER BY x NULLS FIRST)"), (texts{"2", "2", "4", "1", "1"}));
  EXPECT_EQ(over("percent_rank() OVER (PARTITION BY g ORDER BY x) * 3"), (texts{"0", "0", "2", "3", "0"}));
  EXPECT_EQ(over("cume_dist() OVER (PARTITION BY g ORDER BY x)"), (texts{"0.5", "0.5", "0.75", "1", "1"}));
  EXPECT_EQ(over("ntile(3) OVER (ORDER BY id)"), (texts{"1", "1", "2", "2", "3"}));
  EXPECT_EQ(over("ntile(NULL) OVER (ORDER BY id)"), (texts(5, "NULL")));
}

TEST_F(EngineWindow, ValuesOfOtherRows) {
  EXPECT_EQ(over("lag(s) OVER (ORDER BY id)"), (texts{"NULL", "a", "b", "NULL", "d"}));
  EXPECT_EQ(over("lead(s, 1, 'end') OVER (PARTITION BY g ORDER BY id)"), (texts{"b", "NULL", "d", "end", "end"}));
  EXPECT_EQ(over("lag(x, x / 10) OVER (ORDER BY id)"), (texts{"NULL", "10", "10", "NULL", "7"}));
  EXPECT_EQ(over("lag(x, 9223372036854775807, 0) OVER (ORDER BY id)"), texts(5, "0"));
  EXPECT_EQ(over("lead(x, -9223372036854775808, 0) OVER (ORDER BY id)"), texts(5, "0"));
  EXPECT_EQ(over("lag(x, NULL, 0) OVER (ORDER BY id)"), texts(5, "NULL"));
  EXPECT_EQ(over("first_value(d) OVER (PARTITION BY g ORDER BY id)"), (texts{"1.5", "1.5", "1.5", "1.5", "4"}));
  EXPECT_EQ(over("last_value(id) OVER (PARTITION BY g ORDER BY x)"), (texts{"2", "2", "3", "4", "5"}));
  EXPECT_EQ(over("nth_value(id, 2) OVER (PARTITION BY g ORDER BY id)"), (texts{"NULL", "2", "2", "2", "NULL"}));
  EXPECT_EQ(over("nth_value(id, NULL) OVER (ORDER BY id)"), texts(5, "NULL"));
}

TEST_F(EngineWindow, TheDefaultFrameEndsWithThePeers) {
  EXPECT_EQ(over("sum(x) OVER (PARTITION BY g ORDER BY x)"), (texts{"20", "20", "40", "40", "7"}));
  EXPECT_EQ(over("sum(x) OVER (PARTITION BY g)"), (texts{"40", "40", "40", "40", "7"}));
  EXPECT_EQ(over("count(x) OVER (ORDER BY id ROWS 1 PRECEDING)"), (texts{"1", "2", "2", "1", "1"}));
  EXPECT_EQ(over("sum(x) OVER (ORDER BY id ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING)"),
            (texts{"10", "20", "NULL", "7", "NULL"}));
}

TEST_F(EngineWindow, RangesEndAtTheLimitsOfATypeAndNullsAreAFrame) {
  EXPECT_EQ(over("count(*) OVER (ORDER BY x RANGE BETWEEN 3 PRECEDING AND 3 FOLLOWING)"),
            (texts{"3", "3", "1", "1", "3"}));
  EXPECT_EQ(over("count(*) OVER (ORDER BY x RANGE BETWEEN 9223372036854775807 PRECEDING AND 9223372036854775807 "
                 "FOLLOWING)"),
            (texts{"4", "4", "4", "1", "4"}));
  EXPECT_EQ(over("count(*) OVER (ORDER BY d RANGE BETWEEN 'inf'::float8 PRECEDING AND 0 FOLLOWING)"),
            (texts{"2", "1", "3", "1", "4"}));
  EXPECT_EQ(over("count(*) OVER (ORDER BY id ROWS BETWEEN 9223372036854775807 PRECEDING AND 9223372036854775807 "
                 "FOLLOWING)"),
            texts(5, "5"));
  EXPECT_EQ(over("count(*) OVER (ORDER BY x GROUPS BETWEEN 9223372036854775807 PRECEDING AND 1 PRECEDING)"),
            (texts{"1", "1", "3", "4", "0"}));
}

// The bound of March 31, 01:00 is before that of March 30, 23:00. As in PostgreSQL, frames do not go back.
TEST_F(EngineWindow, FramesOfMonthsDoNotGoBack) {
  const std::string days =
      " FROM (VALUES (timestamp '2023-02-28 12:00'), (timestamp '2023-03-30 23:00'), (timestamp '2023-03-31 01:00')) "
      "v(ts)";
  EXPECT_EQ(column(db_, "SELECT count(*) OVER (ORDER BY ts RANGE '1 month' PRECEDING)" + days), (texts{"1", "1", "2"}));
}

TEST_F(EngineWindow, EmptyInputAndOneRow) {
  EXPECT_TRUE(column(db_, "SELECT sum(x) OVER (ORDER BY id), lag(x) OVER (ORDER BY id) FROM none").empty());
  EXPECT_EQ(column(db_, "SELECT percent_rank() OVER ()"), texts{"0"});
  EXPECT_EQ(state_of(db_, "SELECT sum(x) OVER (ORDER BY id ROWS -1 PRECEDING) FROM none"), "22013");
  const auto rows =
      db_.execute("SELECT avg(x) OVER () AS a, ntile(2) OVER () AS b, row_number() OVER () AS c FROM none").rows;
  EXPECT_EQ(rows->schema()->ToString(), "a: double\nb: int32\nc: int64");
}

// A sum of floats is the exact sum of its frame, rounded once, whatever other rows hold.
TEST_F(EngineWindow, SumsOfFloatsDoNotDependOnOtherRows) {
  const std::string rows =
      " FROM (VALUES (1, 1e300::float8), (2, 0.1), (3, 0.2), (4, 'nan'), (5, 0.3), (6, 1e-300)) v(i, x)";
  EXPECT_EQ(column(db_, "SELECT sum(x) OVER (ORDER BY i ROWS 1 PRECEDING)" + rows + " WHERE i IN (2, 3, 5)"),
            (texts{"0.1", "0.30000000000000004", "0.5"}));
  const auto wide = column(db_, "SELECT sum(x) OVER (ORDER BY i ROWS 1 PRECEDING)" + rows);
  EXPECT_EQ(wide[2], "0.30000000000000004");
  EXPECT_EQ(wide[3], "nan");
  EXPECT_EQ(wide[5], "0.3");
}

TEST_F(EngineWindow, SumsOf38DigitsAreExactOrRefused) {
  const std::string rows =
      " FROM (VALUES (1, 99999999999999999999999999999999999999), (2, -99999999999999999999999999999999999999), "
      "(3, 99999999999999999999999999999999999999), (4, 5)) v(i, x)";
  EXPECT_EQ(column(db_, "SELECT sum(x) OVER (ORDER BY i)" + rows + " WHERE i < 4"),
            (texts{"99999999999999999999999999999999999999", "0", "99999999999999999999999999999999999999"}));
  EXPECT_EQ(state_of(db_, "SELECT sum(x) OVER (ORDER BY i)" + rows), "22003");
}

TEST_F(EngineWindow, ErrorsHavePostgresqlsSqlstate) {
  const std::pair<const char*, const char*> all[] = {
      {"42P20", "SELECT 1 FROM t WHERE rank() OVER () = 1"},
      {"42P20", "SELECT 1 FROM t JOIN t u ON rank() OVER () = 1"},
      {"42P20", "SELECT g FROM t GROUP BY g HAVING rank() OVER () = 1"},
      {"42P20", "SELECT 1 FROM t GROUP BY rank() OVER ()"},
      {"42P20", "SELECT rank() OVER () AS r FROM t GROUP BY r"},
      {"42P20", "SELECT sum(rank() OVER ()) OVER () FROM t"},
      {"42P20", "SELECT sum(x) OVER (ORDER BY rank() OVER ()) FROM t"},
      {"42P20", "SELECT count(*) FILTER (WHERE rank() OVER () = 1) OVER () FROM t"},
      {"42P20", "SELECT 1 LIMIT rank() OVER ()"},
      {"42P20", "VALUES (rank() OVER ())"},
      {"42P20", "SELECT (VALUES (rank() OVER ())) FROM t"},
      {"42P20", "UPDATE t SET x = rank() OVER ()"},
      {"42P20", "DELETE FROM t WHERE rank() OVER () = 1"},
      {"42803", "SELECT sum(rank() OVER ()) FROM t"},
      {"42803", "SELECT g, sum(x) OVER () FROM t GROUP BY g"},
      {"42809", "SELECT rank() FROM t"},
      {"42809", "SELECT abs(x) OVER () FROM t"},
      {"42883", "SELECT nosuch(x) OVER () FROM t"},
      {"42883", "SELECT lag() OVER () FROM t"},
      {"42883", "SELECT lag(x, 'a'::varchar) OVER () FROM t"},
      {"42704", "SELECT rank() OVER w FROM t"},
      {"42704", "SELECT rank() OVER v FROM t WINDOW v AS (w), w AS ()"},
      {"42P20", "SELECT 1 FROM t WINDOW w AS (), w AS ()"},
      {"42P20", "SELECT rank() OVER (w PARTITION BY g) FROM t WINDOW w AS ()"},
      {"42P20", "SELECT rank() OVER (w ORDER BY g) FROM t WINDOW w AS (ORDER BY x)"},
      {"42P20", "SELECT rank() OVER (w) FROM t WINDOW w AS (ORDER BY x ROWS 1 PRECEDING)"},
      {"42703", "SELECT 1 FROM t WINDOW w AS (ORDER BY nosuch)"},
      {"42P20", "SELECT sum(x) OVER (RANGE 1 PRECEDING) FROM t"},
      {"42P20", "SELECT sum(x) OVER (ORDER BY x, id RANGE 1 PRECEDING) FROM t"},
      {"42P20", "SELECT sum(x) OVER (GROUPS 1 PRECEDING) FROM t"},
      {"42P20", "SELECT sum(x) OVER (ROWS UNBOUNDED FOLLOWING) FROM t"},
      {"42P10", "SELECT sum(x) OVER (ORDER BY id ROWS x PRECEDING) FROM t"},
      {"0A000", "SELECT sum(x) OVER (ORDER BY s RANGE 1 PRECEDING) FROM t"},
      {"0A000", "SELECT sum(x) OVER (ORDER BY x RANGE 1.5 PRECEDING) FROM t"},
      {"0A000", "SELECT sum(x) OVER (ORDER BY x ROWS 1 PRECEDING EXCLUDE TIES) FROM t"},
      {"0A000", "SELECT sum(DISTINCT x) OVER () FROM t"},
      {"0A000", "SELECT rank() FILTER (WHERE true) OVER () FROM t"},
      {"0A000", "SELECT string_agg(s, ',') OVER () FROM t"},
      {"22013", "SELECT sum(x) OVER (ORDER BY id ROWS -1 PRECEDING) FROM t"},
      {"22013", "SELECT sum(x) OVER (ORDER BY d RANGE -1 PRECEDING) FROM t"},
      {"22013", "SELECT count(*) OVER (ORDER BY now() RANGE '-1 day' PRECEDING) FROM t"},
      {"22004", "SELECT sum(x) OVER (ORDER BY id ROWS NULL PRECEDING) FROM t"},
      {"22014", "SELECT ntile(0) OVER () FROM t"},
      {"22016", "SELECT nth_value(x, 0) OVER () FROM t"},
  };
  for (const auto& [sqlstate, sql] : all) EXPECT_EQ(state_of(db_, sql), sqlstate) << sql;
}

TEST_F(EngineWindow, CallsWithKeysThatArePrefixesShareASort) {
  const auto sorts = [&](const std::string& sql) {
    const auto plan = db_.execute("EXPLAIN " + sql).plan;
    std::size_t count = 0;
    for (auto at = plan.find("WindowAgg"); at != std::string::npos; at = plan.find("WindowAgg", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(
      sorts("SELECT sum(x) OVER (PARTITION BY g), rank() OVER (PARTITION BY g ORDER BY x DESC), "
            "count(*) OVER (PARTITION BY g, x), lag(s) OVER (PARTITION BY g ORDER BY x DESC, id), count(*) OVER () "
            "FROM t"),
      1U);
  EXPECT_EQ(sorts("SELECT rank() OVER (ORDER BY x), rank() OVER (ORDER BY x DESC), rank() OVER (ORDER BY g) FROM t"),
            3U);
  EXPECT_EQ(sorts("SELECT id FROM (SELECT id, rank() OVER (ORDER BY x) AS r FROM t) q WHERE id > 1"), 1U);
  const auto plan = db_.execute("EXPLAIN SELECT sum(x) OVER (PARTITION BY g ORDER BY id ROWS 2 PRECEDING) FROM t").plan;
  EXPECT_NE(plan.find("sum(t.x) OVER (PARTITION BY t.g ORDER BY t.id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)"),
            std::string::npos)
      << plan;
}

// A condition removes rows before the window only if it removes whole partitions of every call.
TEST_F(EngineWindow, ConditionsOnPartitionsAreCheckedFirst) {
  const std::string numbered =
      "FROM (SELECT id, g, row_number() OVER (PARTITION BY g ORDER BY id) AS n FROM t) q WHERE ";
  EXPECT_NE(db_.execute("EXPLAIN SELECT id " + numbered + "g = 1").plan.find("Filter: (t.g = 1)"), std::string::npos);
  EXPECT_EQ(column(db_, "SELECT n " + numbered + "id = 4"), texts{"4"});
  EXPECT_EQ(column(db_, "SELECT n " + numbered + "g = 1 AND id = 4"), texts{"4"});
}

TEST_F(EngineWindow, OffsetsMayBeParameters) {
  auto statement = db_.prepare("SELECT sum(x) OVER (ORDER BY id ROWS $1 PRECEDING) FROM t ORDER BY id");
  arrow::Int64Builder builder;
  ASSERT_TRUE(builder.AppendValues({0, 1}).ok());
  const auto parameters = arrow::Table::Make(arrow::schema({arrow::field("p", arrow::int64())}), {*builder.Finish()});
  const auto rows = statement.execute(*parameters).rows;
  texts sums;
  for (std::int64_t i = 0; i < rows->num_rows(); ++i) sums.push_back((*rows->column(1)->GetScalar(i))->ToString());
  EXPECT_EQ(sums, (texts{"10", "10", "20", "null", "7", "10", "20", "30", "20", "7"}));
}

// Many rows, several threads and blocks: every frame against a loop over its rows.
TEST(EngineWindowOracle, FramesOfManyRows) {
  auto db = memory_database();
  const std::int64_t rows = 60'000;
  db.execute(fmt::format(
      "CREATE TABLE t AS SELECT i AS id, i * 7919 % 5003 AS k, i % 3 AS g, (i * 104729 % 10007 - 5000) AS v, "
      "(i * 31 % 977) / 7.0::float8 AS d FROM generate_series(0::bigint, {}::bigint) s(i)",
      rows - 1));
  const auto data = db.execute("SELECT k, g, v, d FROM t ORDER BY g, k, id").rows;
  const auto number = [&](int place, std::int64_t i) {
    return static_cast<const arrow::Int64Scalar&>(**data->column(place)->GetScalar(i)).value;
  };
  std::vector<std::int64_t> k, g, v;
  std::vector<double> d;
  for (std::int64_t i = 0; i < rows; ++i) {
    k.push_back(number(0, i));
    g.push_back(number(1, i));
    v.push_back(number(2, i));
    d.push_back(static_cast<const arrow::DoubleScalar&>(**data->column(3)->GetScalar(i)).value);
  }
  for (const bool whole : {false, true}) {  // one partition, or three
    const std::string partition = whole ? "" : "PARTITION BY g ";
    const auto answer =
        db
            .execute(fmt::format(
                "SELECT sum(v) OVER w, min(v) OVER w, max(v) OVER w, sum(d) OVER w, count(*) OVER w, first_value(v) "
                "OVER w "
                "FROM t WINDOW w AS ({}ORDER BY {}k, id ROWS BETWEEN 50 PRECEDING AND 20 FOLLOWING) ORDER BY g, k, id",
                partition, whole ? "g, " : ""))
            .rows;
    for (std::int64_t i = 0; i < rows; i += 37) {
      std::int64_t sum = 0, least = 1 << 20, most = -(1 << 20), count = 0, first = 0;
      exact_float_sum floats;
      for (std::int64_t j = std::max<std::int64_t>(0, i - 50); j <= std::min(rows - 1, i + 20); ++j) {
        if (!whole && g[j] != g[i]) continue;
        if (count++ == 0) first = v[j];
        sum += v[j];
        least = std::min(least, v[j]);
        most = std::max(most, v[j]);
        floats.add(d[j]);
      }
      const auto at = [&](int place) { return (*answer->column(place)->GetScalar(i))->ToString(); };
      ASSERT_EQ(at(0), std::to_string(sum)) << i;
      ASSERT_EQ(at(1), std::to_string(least)) << i;
      ASSERT_EQ(at(2), std::to_string(most)) << i;
      ASSERT_EQ(static_cast<const arrow::DoubleScalar&>(**answer->column(3)->GetScalar(i)).value, floats.total()) << i;
      ASSERT_EQ(at(4), std::to_string(count)) << i;
      ASSERT_EQ(at(5), std::to_string(first)) << i;
    }
  }
  // Frames of values and of peers count the same rows as joins do.
  const auto count_of = [&](const std::string& sql) { return column(db, sql)[0]; };
  EXPECT_EQ(
      count_of("SELECT sum(n) FROM (SELECT count(*) OVER (PARTITION BY g ORDER BY k RANGE BETWEEN 5 PRECEDING AND 3 "
               "FOLLOWING) AS n FROM t) q"),
      count_of("SELECT count(*) FROM t a JOIN t b ON a.g = b.g AND b.k BETWEEN a.k - 5 AND a.k + 3"));
}

TEST(EngineWindowOracle, FixedPointSumsAreThoseOfTheExactSum) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    float_extent extent;
    exact_float_sum exact;
    std::vector<double> values;
    for (int i = 0; i < 50; ++i) {
      const auto digits = static_cast<double>(static_cast<std::int64_t>(random() >> 11) - (std::int64_t{1} << 52));
      values.push_back(std::ldexp(digits, static_cast<int>(random() % 40) - (round % 2 == 0 ? 60 : 1074)));
      extent.add(values.back());
      exact.add(values.back());
    }
    ASSERT_TRUE(extent.fits(values.size()));
    int128 sum = 0;
    for (const double value : values) sum += fixed_point(value, extent.low);
    EXPECT_EQ(rounded_double(sum, extent.low), exact.total());
    for (int i = 0; i < 25; ++i) exact.remove(values[static_cast<std::size_t>(i)]);
    for (int i = 0; i < 25; ++i) sum -= fixed_point(values[static_cast<std::size_t>(i)], extent.low);
    EXPECT_EQ(rounded_double(sum, extent.low), exact.total());
  }
  float_extent wide;
  wide.add(1e300);
  wide.add(1e-300);
  EXPECT_FALSE(wide.fits(2));
  float_extent odd;
  odd.add(std::numeric_limits<double>::infinity());
  EXPECT_FALSE(odd.fits(1));
}

TEST(EngineWindowLimits, TextOfSeveralArrays) {
  auto db = memory_database();
  db.execute(
      "CREATE TABLE t AS SELECT i AS id, i % 5 AS g, 'text number ' || i AS s FROM generate_series(0::bigint, "
      "1999::bigint) n(i)");
  const std::string sql =
      "SELECT lag(s, 1, 'first') OVER (PARTITION BY g ORDER BY id), max(s) OVER (ORDER BY id ROWS 2 PRECEDING), "
      "first_value(s) OVER (PARTITION BY g ORDER BY id), count(s) OVER (PARTITION BY s) FROM t ORDER BY id";
  const auto expected = db.execute(sql).rows;
  const lowered_text_limit limit(5'000);
  EXPECT_TRUE(db.execute(sql).rows->Equals(*expected));
}

TEST(EngineWindowLimits, MemoryCountsAndStatementsStop) {
  database_options options;
  options.device = device::cpu();
  options.memory_limit = std::int64_t{24} << 20;
  database db(options);
  const std::string numbers =
      "FROM generate_series(0::bigint, 1999::bigint) a(i), generate_series(0::bigint, {}::bigint) b(k)";
  const std::string sql =
      "SELECT count(*) FROM (SELECT sum(i) OVER (PARTITION BY k ORDER BY i) AS s, rank() OVER (ORDER BY i, k) AS r " +
      numbers + ") q WHERE s > 0 AND r > 0";
  EXPECT_EQ(state_of(db, fmt::format(fmt::runtime(sql), 9)), "");
  EXPECT_EQ(state_of(db, fmt::format(fmt::runtime(sql), 499)), "53200");
  int asked = 0;
  EXPECT_THROW(db.execute(fmt::format(fmt::runtime(sql), 9), {}, [&] { return ++asked > 20; }), query_cancelled);
}

}  // namespace
}  // namespace espalier::engine
