// A statement that would take more memory than its limit is refused, and has changed nothing.
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/memory_budget.hpp"
#include "espalier/engine/database.hpp"

namespace espalier::engine {
namespace {

constexpr std::int64_t small_limit = std::int64_t{24} << 20;

// 2,000 rows of one key: joined with themselves 4 million.
database limited_database(std::optional<std::int64_t> limit) {
  database_options options;
  options.device = device::cpu();
  options.memory_limit = limit;
  database db(options);
  std::string rows = "(1, 0, 'text 0')";
  for (int i = 1; i < 2000; ++i) {
    rows += ", (1, " + std::to_string(i) + ", 'text " + std::to_string(i % 13) + "')";
  }
  db.run_script("CREATE TABLE t (k integer, x integer, s varchar); INSERT INTO t VALUES " + rows);
  return db;
}

std::string state_of(database& db, const std::string& sql) {
  try {
    db.execute(sql);
  } catch (const sql_error& e) {
    return std::string(e.sqlstate());
  }
  return "";
}

std::string value_in(database& db, const std::string& sql) {
  return (*db.execute(sql).rows->column(0)->GetScalar(0))->ToString();
}

TEST(EngineMemoryLimit, StatementsThatNeedMoreAreRefused) {
  auto db = limited_database(small_limit);
  const std::string pairs = "SELECT a.x, b.x AS y, a.s FROM t a JOIN t b ON a.k = b.k";
  EXPECT_EQ(state_of(db, pairs), "53200");
  EXPECT_EQ(state_of(db, pairs + " ORDER BY y"), "53200");
  EXPECT_EQ(state_of(db, "SELECT count(*) FROM (SELECT DISTINCT x, y FROM (" + pairs + ") q) r"), "53200");
  EXPECT_EQ(state_of(db, "CREATE TABLE u AS " + pairs), "53200");
  EXPECT_EQ(state_of(db, "SELECT * FROM u"), "42P01");  // was not made
  EXPECT_EQ(state_of(db, "INSERT INTO t " + pairs), "53200");
  EXPECT_EQ(state_of(db, "UPDATE t SET s = (SELECT max(s) FROM (" + pairs + " ORDER BY y) q)"), "53200");
  EXPECT_EQ(value_in(db, "SELECT count(*) FROM t"), "2000");
  // What needs no pairs fits.
  EXPECT_EQ(value_in(db, "SELECT count(*) FROM t a JOIN t b ON a.k = b.k"), "4000000");
  EXPECT_EQ(value_in(db, "SELECT sum(x) FROM t"), "1999000");
}

// Texts that functions make are not in Arrow's pool while they are made.
TEST(EngineMemoryLimit, LargeTextsAreRefused) {
  auto db = limited_database(small_limit);
  for (const std::string text :
       {"repeat('x', 2000000000)", "length(repeat('ab', 1000000000))", "repeat(s, 20000000)", "lpad('x', 60000000)",
        "rpad(s, 60000000, 'ab')", "lpad(s, 100000)", "repeat(s, 10000)",
        "concat(repeat('x', 10000000), repeat('y', 9000000))", "concat_ws(repeat('x', 100000), s, s)",
        "string_agg(s, repeat('x', 20000))", "string_agg(repeat(s, 2000), ',' ORDER BY x)"}) {
    EXPECT_EQ(state_of(db, "SELECT " + text + " FROM t"), "53200") << text;
  }
  EXPECT_EQ(value_in(db, "SELECT length(repeat('x', 5000000)) FROM t"), "5000000");
  EXPECT_EQ(value_in(db, "SELECT length(lpad(s, 200)) FROM t"), "200");
  EXPECT_EQ(value_in(db, "SELECT length(string_agg(s, repeat('x', 100))) FROM t"), std::to_string(199900 + 12460));
}

// 4 million pairs. Groups hardly repeat within a block of rows, since a block has 2^14 of them; kept as a whole, the
// pairs and their codes take more than 80 MB.
TEST(EngineMemoryLimit, GroupsOfAJoinTakeMemoryByGroups) {
  database_options options;
  options.device = device::cpu();
  database db(options);
  db.run_script(
      "CREATE TABLE x AS SELECT i AS id, i % 40000 AS k FROM generate_series(0, 79999) s(i);"
      "CREATE TABLE y AS SELECT i % 40000 AS k, i / 40000 AS w FROM generate_series(0, 1999999) s(i);"
      "SET memory_limit = '80MB'");
  const std::string join = " FROM x JOIN y ON x.k = y.k";
  const auto count = [&](const std::string& groups) { return value_in(db, "SELECT count(*) FROM (" + groups + ") q"); };
  EXPECT_EQ(count("SELECT x.k" + join + " GROUP BY x.k"), "40000");
  EXPECT_EQ(count("SELECT DISTINCT x.k % 30000" + join), "30000");
  EXPECT_EQ(value_in(db, "SELECT sum(n) FROM (SELECT x.id, sum(w) AS s, avg(w) AS a, count(*) AS n" + join +
                             " GROUP BY x.id) q WHERE s = 1225 AND a = 24.5"),
            "4000000");
  EXPECT_EQ(state_of(db, "SELECT x.id, w, count(*)" + join + " GROUP BY x.id, w"), "53200");  // as many groups as rows
}

// Where an expression fails, a join searches the rows that reach it past the conditions before it. The search claims its
// keys and row numbers, which are not in Arrow's pool: without failing rows the same statements take half as much.
TEST(EngineMemoryLimit, TheSearchBehindGuardsCounts) {
  database_options options;
  options.device = device::cpu();
  database db(options);
  db.run_script(
      "CREATE TABLE l AS SELECT i % 50000 AS k, i AS t, 10 AS z FROM generate_series(1, 100000) s(i);"
      "CREATE TABLE guarded AS SELECT i % 50000 AS k, i AS t, CASE WHEN i % 4 = 0 THEN 0 ELSE 1 END AS x "
      "FROM generate_series(1, 300000) s(i);"
      "CREATE TABLE plain AS SELECT k, t, 1 AS x FROM guarded");
  const auto join = [](const std::string& table) {
    return "SELECT count(*) FROM l JOIN " + table + " r ON r.k = l.k AND r.x <> l.z * 0 AND 10 / r.x = l.z";
  };
  const auto nearest = [](const std::string& table) {
    return "SELECT count(q.t) FROM l LEFT JOIN LATERAL (SELECT r.t FROM " + table +
           " r WHERE r.k = l.k AND r.x <> l.z * 0 AND 10 / r.x = l.z AND r.t <= l.t ORDER BY r.t DESC LIMIT 1) q "
           "ON true";
  };
  db.execute("SET memory_limit = '16MB'");
  EXPECT_EQ(value_in(db, join("plain")), "600000");
  EXPECT_EQ(state_of(db, join("guarded")), "53200");
  EXPECT_EQ(state_of(db, nearest("guarded")), "53200");
  db.execute("SET memory_limit = '200MB'");
  EXPECT_EQ(value_in(db, join("guarded")), "450000");
  EXPECT_EQ(value_in(db, nearest("plain")), "100000");
  EXPECT_EQ(value_in(db, nearest("guarded")), "75000");
}

TEST(EngineMemoryLimit, CanBeSet) {
  auto db = limited_database(std::nullopt);
  const std::string pairs = "SELECT a.x, b.x FROM t a JOIN t b ON a.k = b.k";
  EXPECT_EQ(state_of(db, pairs), "");
  EXPECT_EQ(db.execute("SET memory_limit = '20MB'").tag, "SET");
  EXPECT_EQ(state_of(db, pairs), "53200");
  EXPECT_EQ(state_of(db, "SET memory_limit = 'much'"), "22023");
  EXPECT_EQ(state_of(db, "SET work_mem = '4MB'"), "0A000");
  EXPECT_EQ(state_of(db, pairs), "53200");
  EXPECT_EQ(db.execute("RESET memory_limit").tag, "RESET");
  EXPECT_EQ(state_of(db, pairs), "");
}

TEST(EngineMemoryLimit, AmountsOfMemory) {
  EXPECT_EQ(memory_size("1048576"), 1048576);
  EXPECT_EQ(memory_size("512MB"), std::int64_t{512} << 20);
  EXPECT_EQ(memory_size("1.5 GiB"), std::int64_t{3} << 29);
  EXPECT_EQ(memory_size("0"), 0);
  EXPECT_NEAR(static_cast<double>(*memory_size("80%")), static_cast<double>(default_memory_limit()), 1e3);
  for (const char* text : {"", "MB", "-1GB", "4 XB", "nan", "1e30TB", "4GB4"}) EXPECT_FALSE(memory_size(text)) << text;
}

}  // namespace
}  // namespace espalier::engine
