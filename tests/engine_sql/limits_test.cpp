// Statements that are too long or too deep for a naive engine: each is answered or refused with a sentence, whatever
// stack the thread has that asks.
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <functional>
#include <string>

#include "engine/error.hpp"
#include "engine/sql/parse.hpp"
#include "espalier/engine/database.hpp"
#include "espalier/engine/sql_error.hpp"
#include "support/less_work.hpp"

namespace espalier::engine {
namespace {

database limits_database() {
  database_options options;
  options.device = device::cpu();
  return database(options);
}

// On a thread with a stack of 256 kB, the least that programs give to threads which call libraries.
void on_a_small_stack(const std::function<void()>& body) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, std::size_t{256} << 10), 0);
  pthread_t thread;
  const auto run = [](void* it) -> void* {
    (*static_cast<const std::function<void()>*>(it))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&body)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// The first value of the answer, or the SQLSTATE of the refusal.
std::string outcome(const std::string& sql) {
  std::string out;
  on_a_small_stack([&] {
    auto db = limits_database();
    try {
      const auto rows = db.execute(sql).rows;
      out = rows->num_rows() == 0 ? "no rows" : (*rows->column(0)->GetScalar(0))->ToString();
    } catch (const sql_error& e) {
      out = std::string(e.sqlstate());
    }
  });
  return out;
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

std::string chained_queries(int count) {
  std::string sql = "WITH c0 AS (SELECT 1 AS x)";
  for (int i = 1; i < count; ++i) {
    sql += ", c" + std::to_string(i) + " AS (SELECT x + 1 AS x FROM c" + std::to_string(i - 1) + ")";
  }
  return sql + " SELECT x FROM c" + std::to_string(count - 1);
}

TEST(EngineLimits, ChainedCommonTables) {
  EXPECT_EQ(outcome(chained_queries(300)), "300");
  EXPECT_EQ(outcome(chained_queries(5000)), "54001");
}

TEST(EngineLimits, DoublingCommonTablesAreEvaluatedOnce) {
  std::string sql = "WITH c0 AS (SELECT 1::bigint AS x)";
  for (int i = 1; i <= 60; ++i) {
    const auto below = "c" + std::to_string(i - 1);
    sql += ", c" + std::to_string(i) + " AS (SELECT a.x + b.x AS x FROM " + below + " a, " + below + " b)";
  }
  EXPECT_EQ(outcome(sql + " SELECT x FROM c60"), std::to_string(std::int64_t{1} << 60));
  EXPECT_NE(outcome("EXPLAIN " + sql + " SELECT x FROM c60"), "54001");
}

TEST(EngineLimits, JoinsOfManyTables) {
  const auto joined = [](int tables, const std::string& between) {
    std::string sql = "SELECT count(*) FROM (VALUES (1)) t0(x)";
    for (int i = 1; i < tables; ++i) sql += between + "(VALUES (1)) t" + std::to_string(i) + "(x)";
    return sql;
  };
  EXPECT_EQ(outcome(joined(300, " CROSS JOIN ")), "1");
  EXPECT_EQ(outcome(joined(300, ", ")), "1");
  EXPECT_EQ(outcome(joined(20000, " CROSS JOIN ")), "54001");
  EXPECT_EQ(outcome(joined(20000, ", ")), "54001");
}

TEST(EngineLimits, LongChainsOfUnion) {
  EXPECT_EQ(outcome("SELECT count(*) FROM (SELECT 1" + repeated(" UNION ALL SELECT 1", 999) + ") t"), "1000");
  EXPECT_EQ(outcome("SELECT count(*) FROM (SELECT 1" + repeated(" UNION SELECT 1", 999) + ") t"), "1");
  EXPECT_EQ(outcome("SELECT 1" + repeated(" UNION ALL SELECT 1", 20000)), "54001");
  // A side with another type, and one that drops equal rows inside one that does not.
  EXPECT_EQ(outcome("SELECT sum(x) FROM (SELECT 1 AS x UNION ALL SELECT 2 UNION ALL SELECT 0.5) t"), "3.5");
  EXPECT_EQ(outcome("SELECT count(*) FROM (SELECT 1 UNION SELECT 1 UNION ALL SELECT 1) t"), "2");
  EXPECT_EQ(outcome("SELECT count(*) FROM (SELECT 1 UNION ALL SELECT 1 UNION SELECT 1) t"), "1");
}

TEST(EngineLimits, NestedText) {
  EXPECT_EQ(outcome(repeated("/*", 900) + repeated("*/", 900) + "SELECT 1"), "1");
  EXPECT_EQ(outcome(repeated("/*", 100000) + repeated("*/", 100000) + "SELECT 1"), "54001");
  EXPECT_EQ(outcome(repeated("/*", 100000)), "54001");
  EXPECT_EQ(outcome("SELECT 1 " + repeated("+", 200000) + " 1"), "54001");
  EXPECT_EQ(outcome("SELECT '" + repeated("=", 20000) + "' = ''"), "false");
  EXPECT_EQ(outcome("SELECT " + repeated("(", 50) + "1" + repeated(")", 50)), "1");
  EXPECT_EQ(outcome("SELECT " + repeated("(", 100000) + "1" + repeated(")", 100000)), "54001");
  EXPECT_EQ(outcome("SELECT " + repeated("- ", 5000) + "1::bigint"), "54001");
  EXPECT_EQ(outcome("SELECT 1" + repeated("+1", 300)), "301");
  EXPECT_EQ(outcome("SELECT 1" + repeated("+1", 100000)), "54001");
  EXPECT_EQ(outcome(repeated("SELECT (", 2000) + "SELECT 1" + repeated(")", 2000)), "54001");
  EXPECT_EQ(outcome(repeated("SELECT * FROM (", 2000) + "SELECT 1" + repeated(") t", 2000)), "54001");
  EXPECT_EQ(outcome("SELECT " + repeated("CASE WHEN true THEN ", 3000) + "1" + repeated(" END", 3000)), "54001");
  EXPECT_EQ(outcome("SELECT 1 WHERE " + repeated("NOT (", 3000) + "true" + repeated(")", 3000)), "54001");
  EXPECT_EQ(outcome("SELECT count(*) FROM (VALUES (1)) t(x) WHERE x = 1" + repeated(" AND x = 1", 20000)), "1");
}

// The scanner takes minutes for these: it must not see them, whether in a statement or in a script.
TEST(EngineLimits, CommentsThatTheScannerReadsManyTimes) {
  const auto nested = repeated("/*", 100000) + repeated("*/", 100000);
  EXPECT_EQ(outcome("SELECT 1" + repeated("/**/", 4000)), "1");
  EXPECT_EQ(outcome("SELECT 1" + repeated("/**/ ", 400000)), "1");
  EXPECT_EQ(outcome("SELECT 1" + repeated("/**/", 400000)), "54001");
  EXPECT_EQ(outcome("SELECT 1" + repeated("/*/**/*/", 200000)), "54001");
  for (const auto& comments :
       {nested, repeated("/*", 100000), repeated("/**/", 400000), repeated("/*/**/*/", 200000)}) {
    const auto first = split_script("SELECT 1; SELECT 2;" + comments + "SELECT 3; SELECT 4");
    ASSERT_EQ(first.size(), 3U);
    EXPECT_EQ(first[1].text, "SELECT 2");
    EXPECT_EQ(first[2].offset, 19U);
    auto db = limits_database();
    try {
      (void)db.run_script("CREATE TABLE t AS SELECT 1 AS a; " + comments + "SELECT 3; SELECT 4");
      ADD_FAILURE();
    } catch (const sql_error& e) {
      EXPECT_EQ(e.sqlstate(), "54001");
    }
    EXPECT_EQ((*db.execute("SELECT a FROM t").rows->column(0)->GetScalar(0))->ToString(), "1");
  }
}

TEST(EngineLimits, ManyColumns) {
  EXPECT_EQ(outcome("SELECT 1" + repeated(", 2", 9999)), "1");
  EXPECT_EQ(outcome("SELECT 1" + repeated(", 2", 10000)), "54001");
  EXPECT_EQ(outcome("SELECT x" + repeated(", x + 1", 99999) + " FROM (VALUES (1)) t(x)"), "54001");
  EXPECT_EQ(outcome("VALUES (1" + repeated(", 2", 10000) + ")"), "54001");
  const auto wide = "(SELECT 1 AS x" + repeated(", 2", 5000) + ") ";
  EXPECT_EQ(outcome("SELECT * FROM " + wide + "t"), "1");
  EXPECT_EQ(outcome("SELECT * FROM " + wide + "t, " + wide + "u"), "54001");
  EXPECT_EQ(outcome("SELECT t.x + u.x FROM " + wide + "t, " + wide + "u"), "2");
}

TEST(EngineLimits, ManyKeys) {
  const std::string from = " FROM (VALUES (1)) t(x) ";
  EXPECT_EQ(outcome("SELECT x" + from + "ORDER BY x" + repeated(", x", 99999)), "54001");
  EXPECT_EQ(outcome("SELECT x" + from + "GROUP BY x" + repeated(", x", 99999)), "54001");
  EXPECT_EQ(outcome("SELECT x" + from + "ORDER BY x" + repeated(", x", 1000)), "1");
}

bool is_refused_before_parsing(const std::string& sql) {
  try {
    check_statement_length(sql);
  } catch (const coded_refusal& e) {
    EXPECT_EQ(e.code().sqlstate, "54001");
    return true;
  }
  return false;
}

// The parser takes a second or more for these; all that it is counted by here is a lower bound.
TEST(EngineLimits, ManyTermsAreRefusedBeforeParsing) {
  EXPECT_TRUE(is_refused_before_parsing("SELECT 1" + repeated("+1", 100000)));
  EXPECT_TRUE(is_refused_before_parsing("SELECT a" + repeated(" - t.b * 2 /* c */", 500)));
  EXPECT_TRUE(is_refused_before_parsing("SELECT (('x'" + repeated(" + f(1, 2)", 500) + "))"));
  EXPECT_TRUE(is_refused_before_parsing("SELECT x FROM t ORDER BY x" + repeated(", x", 1664)));
  EXPECT_TRUE(
      is_refused_before_parsing("SELECT x FROM t group /**/ by x" + repeated(", f(x, 1)", 1664) + " HAVING true"));
  EXPECT_TRUE(is_refused_before_parsing("SELECT 1" + repeated("*a", 500)));
  EXPECT_TRUE(is_refused_before_parsing("SELECT x" + repeated(", f(x, 1)", 10000) + " FROM t"));
  EXPECT_TRUE(is_refused_before_parsing("SELECT 1 UNION ALL SELECT 1" + repeated(", 1", 10000)));
  EXPECT_TRUE(is_refused_before_parsing("SELECT 'a'" + repeated("||'a'", 500)));
  EXPECT_TRUE(is_refused_before_parsing("SELECT 'a'" + repeated("::text", 500)));
  EXPECT_TRUE(is_refused_before_parsing("SELECT 1" + repeated(" UNION ALL SELECT 1", 5001)));
  EXPECT_TRUE(is_refused_before_parsing("SELECT 1 FROM (VALUES (1)) t" + repeated(" CROSS JOIN (VALUES (1)) t", 301)));
  EXPECT_TRUE(is_refused_before_parsing("SELECT 1 FROM t" + repeated(", t", 601) + " WHERE true"));
  // Each of these is taken by the parser, or is no one expression.
  for (const auto& sql : {"SELECT 1" + repeated("+1", 399),
                          "SELECT 1" + repeated(", -1", 5000),
                          "SELECT 1" + repeated(", a + b", 9999),
                          "SELECT x FROM t WHERE x IN (1" + repeated(", 1", 30000) + ")",
                          "VALUES (1)" + repeated(", (-1 - 1)", 5000),
                          "SELECT 1 WHERE a + 1 = b" + repeated(" AND a - 1 = b", 5000),
                          "SELECT '1" + repeated("+1", 5000) + "'",
                          "SELECT 1 --" + repeated("+1", 5000),
                          "SELECT \"1" + repeated("+1", 5000) + "\"",
                          "SELECT $$1" + repeated("+1", 5000) + "$$",
                          "SELECT a" + repeated(", a * b || c::text + 1", 5000),
                          "SELECT 1" + repeated("*a||a", 399),
                          "SELECT 1" + repeated("::int", 399) + repeated("+ a::int", 399),
                          "SELECT 1" + repeated(" UNION ALL SELECT 1 FROM a, b JOIN c ON true", 5000),
                          "SELECT 1 FROM t" + repeated(", t", 299),
                          "SELECT a IS DISTINCT FROM b" + repeated(", c", 2000),
                          "SELECT 1 FROM t" + repeated(" JOIN t ON t.a = t.b", 299),
                          "UPDATE t SET a = (SELECT 1 FROM b)" + repeated(", c = 1", 2000),
                          "SELECT CASE" + repeated(" WHEN a THEN -1", 5000) + " END",
                          "SELECT 1e-5" + repeated(", 1e-5", 5000),
                          "SELECT x" + repeated(", x", 5000) + " FROM t ORDER BY x" + repeated(", x", 1663),
                          repeated("SELECT x FROM t ORDER BY x, y; ", 5000),
                          repeated("SELECT 1 + 1; ", 5000),
                          repeated("SELECT a FROM (SELECT b GROUP BY c, d) e UNION ALL ", 3000) + "SELECT 1, 2",
                          "SELECT x FROM t GROUP BY x UNION SELECT x" + repeated(", x", 2000),
                          "INSERT INTO t (a" + repeated(", a", 3000) + ") SELECT 1 ORDER BY 1, 2"}) {
    EXPECT_FALSE(is_refused_before_parsing(sql)) << sql.substr(0, 60);
  }
}

// BETWEEN and CASE compare their operand several times; nested ones must not double the work with each level.
TEST(EngineLimits, NestedOperandsDoNotMultiply) {
  EXPECT_EQ(outcome("SELECT count(*) FROM (VALUES (1)) t(x) WHERE (" + repeated("(", 40) + "x" +
                    repeated(" BETWEEN 0 AND 1)::integer", 40) + ") = 1"),
            "54001");
  EXPECT_EQ(outcome("SELECT " + repeated("CASE ", 40) + "x" + repeated(" WHEN 1 THEN 1 WHEN 2 THEN 2 END", 40) +
                    " FROM (VALUES (1)) t(x)"),
            "54001");
  std::string nested = "SELECT 1::bigint AS x FROM (VALUES (1)) v(y)";
  for (int i = 0; i < 40; ++i) nested = "SELECT x + x AS x FROM (" + nested + ") t" + std::to_string(i);
  EXPECT_EQ(outcome("SELECT x FROM (" + nested + ") t WHERE x > 5"), std::to_string(std::int64_t{1} << 40));
}

TEST(EngineLimits, DeepExpressionsOnManyRowsAndAPreparedStatement) {
  on_a_small_stack([] {
    auto db = limits_database();
    std::string values = "(0)";
    for (int i = 1; i < 1000; ++i) values += ", (" + std::to_string(i) + ")";
    db.execute("CREATE TABLE t AS SELECT a.x * 1000 + b.x AS x FROM (VALUES " + values + ") a(x), (VALUES " + values +
               ") b(x)");
    const auto sum = db.execute("SELECT count(*) FROM t WHERE x" + repeated("+1", 350) + " > 1000").rows;
    EXPECT_EQ((*sum->column(0)->GetScalar(0))->ToString(), "999349");
    auto prepared = db.prepare("SELECT x" + repeated("+1", 350) + " FROM t WHERE x = $1");
    EXPECT_EQ(prepared.parameters(), 1U);
  });
}

TEST(EngineLimits, CommonTableReadTwice) {
  // Once by a join, once by a subquery, with names of their own.
  EXPECT_EQ(outcome("WITH c(k, n) AS (SELECT x % 2, count(*) FROM (VALUES (1), (2), (3)) t(x) GROUP BY x % 2) "
                    "SELECT a.n * 10 + b.m FROM c a, c AS b(j, m) WHERE a.k = 1 AND b.j = 0 "
                    "AND a.n = (SELECT max(n) FROM c)"),
            "21");
  EXPECT_EQ(outcome("WITH c AS (SELECT DISTINCT x, x AS y FROM (VALUES (1), (1)) t(x)) "
                    "SELECT count(*) FROM (SELECT * FROM c UNION ALL SELECT y, x FROM c) u"),
            "2");
}

// Text in quotes is not nested, so it needs no stack; 50 MB of it asked for 25 GB.
TEST(EngineLimits, LongTextsNeedNoStack) {
  constexpr std::size_t bytes = 50'000'000;
  const std::string text(bytes, 'x');
  EXPECT_LT(nesting_bytes("SELECT length('" + text + "')"), 100U);
  EXPECT_LT(nesting_bytes("SELECT 1 /* " + text + "*/ -- " + text), 100U);
  EXPECT_LT(nesting_bytes("SELECT $a$" + text + "$a$ AS \"" + text + "\""), 100U);
  EXPECT_EQ(nesting_bytes("SELECT 1+(2*-3)"), std::string("SELECT 1+(2*-3)").size());
  EXPECT_GE(nesting_bytes("SELECT 'a' || $x || '" + text), 9U) << "a text that is not closed";
  EXPECT_EQ(nesting_bytes(""), 0U);
  // What the parser does not read as a text counts.
  const auto deep = repeated("(", 1000);
  EXPECT_GT(nesting_bytes("SELECT type'\\' " + deep + "'"), 1000U);
  EXPECT_GT(nesting_bytes("SELECT a$b$" + deep + "$b$"), 1000U);
  EXPECT_GT(nesting_bytes("SELECT $1$" + deep + "$1$"), 1000U);
  EXPECT_LT(nesting_bytes("SELECT E'\\'" + deep + "'"), 100U);
  if (test::less_work == 1) {
    EXPECT_EQ(outcome("SELECT length('" + text + "')"), std::to_string(bytes));
  }
}

}  // namespace
}  // namespace espalier::engine
