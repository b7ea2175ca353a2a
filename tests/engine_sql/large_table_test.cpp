// large_table_test.cpp - statements over more rows than a batch has, each asked in two ways that take different paths:
// the first rows of an order with LIMIT and without it, sums with a condition and by CASE, joins and IN.
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <gtest/gtest.h>

#include <string>

#include "espalier/engine/database.hpp"

namespace espalier::engine {
namespace {

// 200,000 rows: id, k with ties and NULLs, x that is mostly different, a text, a decimal.
class LargeTable : public ::testing::Test {
 protected:
  LargeTable() : db_({.path = {}, .device = device::cpu()}) {
    db_.execute("CREATE TABLE digits AS SELECT * FROM (VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9)) v(d)");
    db_.execute(
        "CREATE TABLE ids AS SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d + 10000 * f.d + 100000 * g.d AS id "
        "FROM digits a, digits b, digits c, digits e, digits f, digits g WHERE g.d < 2");
    db_.execute(
        "CREATE TABLE t AS SELECT id, CASE WHEN id % 11 = 3 THEN NULL ELSE id * 7919 % 1009 END AS k, "
        "(id * 48271::bigint) % 2147483647 AS x, 'item ' || (id % 5000)::varchar AS s, "
        "((id % 777)::numeric(20, 2) / 4)::numeric(20, 2) AS n FROM ids");
  }

  std::shared_ptr<arrow::Table> rows(const std::string& sql) { return db_.execute(sql).rows; }
  void expect_same(const std::string& one, const std::string& other) {
    const auto left = rows(one), right = rows(other);
    ASSERT_GT(left->num_rows(), 0) << one;
    ASSERT_EQ(left->num_columns(), right->num_columns());
    for (int i = 0; i < left->num_columns(); ++i) {
      EXPECT_TRUE(left->column(i)->Equals(*right->column(i))) << one << "\n" << other << "\ncolumn " << i;
    }
  }
  void expect_first_of(const std::string& select, int limit, int offset = 0) {
    const auto all = rows(select);
    const auto some = rows(select + " LIMIT " + std::to_string(limit) + " OFFSET " + std::to_string(offset));
    ASSERT_EQ(some->num_rows(), limit) << select;
    EXPECT_TRUE(some->CombineChunks().ValueOrDie()->Equals(*all->Slice(offset, limit)->CombineChunks().ValueOrDie()))
        << select << "\n"
        << some->ToString();
  }

  database db_;
};

// By index in the order of k, by scan in that of the table, on several threads; values of all magnitudes.
TEST_F(LargeTable, floatSumsHaveTheSameBitsByScanAndByIndex) {
  db_.execute(
      "CREATE TABLE f AS SELECT id, k, exp((x % 1300)::double precision - 650) * (1 - 2 * (x % 2)) AS wide, "
      "(x % 1000) / 7.0::double precision AS d, (x % 1000)::real / 3 AS r FROM t");
  for (const char* kind : {"static", "blink", "radix"}) {
    db_.execute("CREATE INDEX f_k ON f USING " + std::string(kind) + " (k)");
    for (const char* range : {" BETWEEN 17 AND 900", " BETWEEN 500 AND 503", " > 1000"}) {
      const std::string select = "SELECT sum(d), avg(d), sum(r), avg(r), sum(wide), avg(wide) FROM f WHERE k";
      if (std::string(kind) == "static") {
        const auto plan = rows("EXPLAIN " + select + range)->ToString();
        EXPECT_NE(plan.find("Aggregate from Index"), std::string::npos) << plan;
      }
      expect_same(select + range, select + " + 0" + range);
    }
    db_.execute("DROP INDEX f_k");
  }
}

// Of some rows together they are answered, of one row refused.
TEST_F(LargeTable, textsBeyondTwoGigabytes) {
  const std::string long_text(300, 'a'), longer_text(70'000, 'a');
  db_.execute("CREATE TABLE long_texts AS SELECT id, '" + long_text + "' AS s FROM ids");
  const auto refused = [&](const std::string& sql) {
    try {
      db_.execute(sql);
    } catch (const error& e) {
      return std::string(e.what()).find("more than 2147483647 bytes") != std::string::npos;
    }
    return false;
  };
  const auto lengths =
      rows("SELECT sum(length(replace(s, 'a', '" + long_text + "'))) FROM long_texts WHERE id < 25000");
  EXPECT_EQ((*lengths->column(0)->GetScalar(0))->ToString(), std::to_string(25000LL * 300 * 300));
  EXPECT_TRUE(refused("SELECT length(replace('" + longer_text + "', 'a', '" + longer_text + "'))"));
  EXPECT_FALSE(refused("SELECT max(length(replace(s, 'a', 'bb'))) FROM long_texts"));
  // One that could be too long, and is not.
  EXPECT_FALSE(refused("SELECT length(replace('" + longer_text + "', 'b', '" + longer_text + "'))"));
}

// Orders that are not complete too: rows that tie are in the order of the table.
TEST_F(LargeTable, firstRowsAreThoseOfTheWholeOrder) {
  for (const char* where : {"", " WHERE x > 500000000", " WHERE x > 500000000 AND k IS NOT NULL", " WHERE n < 3"}) {
    for (const char* order : {"x", "x DESC", "k", "k DESC NULLS LAST", "k NULLS FIRST", "k NULLS FIRST, x DESC", "s",
                              "s DESC, k", "n", "n DESC, s, x", "x % 100, k", "-k, s"}) {
      const auto clause = std::string(where) + " ORDER BY " + order;
      expect_first_of("SELECT id, s FROM t" + clause, 10);
      expect_first_of("SELECT k + 1 AS k, s || '!', x, n, id FROM t" + clause, 25, 30);
    }
  }
}

TEST_F(LargeTable, firstRowsAreFewWhereFewPass) {
  expect_first_of("SELECT * FROM t WHERE id % 50000 = 7 ORDER BY x", 4);
  EXPECT_EQ(rows("SELECT * FROM t WHERE id < 0 ORDER BY x LIMIT 5")->num_rows(), 0);
  EXPECT_EQ(rows("SELECT * FROM t WHERE id < 3 ORDER BY x LIMIT 5")->num_rows(), 3);
}

TEST_F(LargeTable, deletedRowsAreNoFirstOnes) {
  db_.execute("DELETE FROM t WHERE x < 100000000 OR k = 0");
  db_.execute("UPDATE t SET x = x + 1 WHERE id % 3 = 0");
  expect_first_of("SELECT id, x, s FROM t WHERE n > 1 ORDER BY x", 20);
  expect_first_of("SELECT id, k FROM t ORDER BY k, id", 20);
  expect_same("SELECT count(*), sum(x) FROM t WHERE id % 3 = 0",
              "SELECT sum(CASE WHEN id % 3 = 0 THEN 1 ELSE 0 END), sum(CASE WHEN id % 3 = 0 THEN x END) FROM t");
}

TEST_F(LargeTable, explainTellsWhatTheScanOfFirstRowsLetThrough) {
  const auto passed = rows("SELECT count(*) FROM t WHERE x > 500000000")->column(0)->GetScalar(0).ValueOrDie();
  const auto plan = db_.execute("EXPLAIN ANALYZE SELECT id, s FROM t WHERE x > 500000000 ORDER BY k LIMIT 3").plan;
  const auto scan = plan.find("Seq Scan on t");
  ASSERT_NE(scan, std::string::npos) << plan;
  EXPECT_NE(plan.find("rows=" + passed->ToString(), plan.find("actual", scan)), std::string::npos) << plan;
}

TEST_F(LargeTable, sumsWithAConditionAreThoseByCase) {
  for (const char* condition : {"x > 1000000000", "k < 500", "k IS NULL", "s LIKE '%7'", "n > 100.25", "id < 0"}) {
    const std::string c = condition;
    expect_same("SELECT sum(x), sum(k), sum(n), count(k), min(s), max(n), min(x) FROM t WHERE " + c,
                "SELECT sum(CASE WHEN " + c + " THEN x END), sum(CASE WHEN " + c + " THEN k END), sum(CASE WHEN " + c +
                    " THEN n END), count(CASE WHEN " + c + " THEN k END), min(CASE WHEN " + c +
                    " THEN s END), max(CASE WHEN " + c + " THEN n END), min(CASE WHEN " + c + " THEN x END) FROM t");
  }
}

TEST_F(LargeTable, sumsThatOverflowAreRefusedWithACondition) {
  db_.execute("CREATE TABLE wide AS SELECT id, 2500000000000000000000000000000000.0000::numeric(38, 4) AS n FROM ids");
  EXPECT_THROW(db_.execute("SELECT sum(n) FROM wide WHERE id > 5"), error);
  EXPECT_EQ(rows("SELECT sum(n) FROM wide WHERE id < 3")->column(0)->GetScalar(0).ValueOrDie()->ToString(),
            "7500000000000000000000000000000000.0000");
}

TEST_F(LargeTable, joinsMeetAsOftenAsCountsSay) {
  // Keys that are close together, far apart, and texts; each side once with keys that are there often.
  for (const char* key : {"k", "k * 1000000007::bigint", "id", "id * 1000000007::bigint", "s"}) {
    const std::string of = key;
    const auto keyed = "(SELECT " + of + " AS key FROM t WHERE id % 2 = 0) a";
    const auto other = "(SELECT " + of + " AS key FROM t WHERE id % 40 < 3) b";
    const auto counted = [](const std::string& from) {
      return "(SELECT key, count(*) AS c FROM " + from + " WHERE key IS NOT NULL GROUP BY key)";
    };
    expect_same(
        "SELECT count(*) FROM " + keyed + " JOIN " + other + " ON a.key = b.key",
        "SELECT sum(a.c * b.c)::bigint FROM " + counted(keyed) + " a JOIN " + counted(other) + " b ON a.key = b.key");
  }
}

}  // namespace
}  // namespace espalier::engine
