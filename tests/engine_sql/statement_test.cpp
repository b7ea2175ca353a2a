// What a statement promises besides its answer: errors with a place, and nothing changed where one is thrown.
#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "engine/catalog.hpp"
#include "engine/table/table_version.hpp"
#include "espalier/engine/database.hpp"
#include "support/less_work.hpp"

namespace espalier::engine {
namespace {

database cpu_database() {
  database_options options;
  options.device = device::cpu();
  return database(options);
}

std::int64_t number(database& db, const std::string& sql) {
  const auto result = db.execute(sql);
  const auto value = *result.rows->column(0)->GetScalar(0);
  return std::stoll(value->ToString());
}

std::string problem(database& db, const std::string& sql) {
  try {
    db.execute(sql);
  } catch (const error& e) {
    return e.what();
  }
  return "";
}

void check_indexes(const database& db) {
  for (const auto& entry : db.tables().all()) {
    for (const auto& index : entry->indexes) EXPECT_EQ(index->validate(), "") << index->spec().name;
  }
}

TEST(EngineStatement, ErrorPointsToThePlace) {
  auto db = cpu_database();
  try {
    db.execute("SELECT 1,\n       zzz");
    FAIL();
  } catch (const sql_error& e) {
    EXPECT_EQ(e.line(), 2U);
    EXPECT_EQ(e.column(), 8U);
    EXPECT_EQ(*e.position(), 17U);
    EXPECT_NE(e.excerpt().find("       ^"), std::string::npos);
    EXPECT_EQ(e.sentence(), "There is no column 'zzz' here.");
  }
}

// PostgreSQL's grammar reads "a ASOF JOIN b" as an inner join of `a` under the alias "asof": another answer.
TEST(EngineStatement, RefusesAnAsOfJoinOfOtherSystems) {
  auto db = cpu_database();
  for (const std::string sql : {
           "CREATE TABLE a AS SELECT 'A' AS sym, 3 AS at",
           "CREATE TABLE b AS SELECT 'A' AS sym, 1 AS at",
           "CREATE TABLE asof AS SELECT 'A' AS sym",
       }) {
    db.execute(sql);
  }
  for (const std::string sql : {
           "SELECT * FROM a ASOF JOIN b USING (sym, at)",
           "SELECT * FROM a asof JOIN b ON asof.sym = b.sym AND asof.at >= b.at",
           "SELECT * FROM a Asof LEFT OUTER JOIN b USING (sym, at)",
           "SELECT * FROM a CROSS JOIN a c ASOF JOIN b USING (sym)",
           "SELECT * FROM (SELECT * FROM a) ASOF /* (t */ JOIN b USING (sym, at)",
           "SELECT * FROM \"a\" ASOF JOIN b MATCH_CONDITION (a.at >= b.at) ON a.sym = b.sym",
           "WITH w AS (SELECT * FROM a) SELECT * FROM w ASOF -- JOIN\n JOIN b USING (sym, at)",
       }) {
    EXPECT_NE(problem(db, sql).find("There is no ASOF JOIN"), std::string::npos) << sql << ": " << problem(db, sql);
  }
  try {
    db.execute("SELECT * FROM a ASOF JOIN b USING (sym, at)");
    FAIL();
  } catch (const sql_error& e) {
    EXPECT_EQ(*e.position(), 16U);
    EXPECT_EQ(e.sqlstate(), "0A000");
  }
  for (const std::string sql : {
           "SELECT count(*) FROM a AS asof JOIN b ON asof.at > b.at",
           "SELECT count(*) FROM a \"asof\" JOIN b ON asof.at > b.at",
           "SELECT count(*) FROM a JOIN b USING (sym) JOIN asof ON a.sym = asof.sym",
           "SELECT count(*) FROM asof JOIN b USING (sym)",
           "SELECT count(*) FROM b, asof JOIN a USING (sym)",
           "SELECT count(*) FROM a asof WHERE 'a ASOF JOIN b' = $$a ASOF JOIN b$$",
       }) {
    EXPECT_EQ(number(db, sql), 1) << sql;
  }
}

TEST(EngineStatement, HasOneMomentInUtc) {
  auto db = cpu_database();
  const auto microseconds = [] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::floor<std::chrono::microseconds>(now).count();
  };
  const auto told = [&](const std::string& sql) {
    const auto value = *db.execute(sql).rows->column(0)->GetScalar(0);
    EXPECT_TRUE(value->type->Equals(*arrow::timestamp(arrow::TimeUnit::MICRO))) << value->type->ToString();
    return static_cast<const arrow::TimestampScalar&>(*value).value;
  };
  for (const std::string word : {"now()", "current_timestamp", "LOCALTIMESTAMP"}) {
    const auto before = microseconds();
    const auto value = told("SELECT " + word);
    EXPECT_LE(before, value) << word;
    EXPECT_LE(value, microseconds()) << word;
  }
  EXPECT_EQ(number(db,
                   "SELECT count(*) FROM (VALUES (1), (2)) AS v WHERE now() = current_timestamp AND "
                   "localtimestamp = (SELECT now()) AND current_date = now()::date AND current_date <= now()"),
            2);
  db.execute("CREATE TABLE seen (id integer, at timestamp, day date)");
  db.execute("CREATE INDEX seen_at ON seen (at)");
  db.execute("INSERT INTO seen SELECT a.x, now(), current_date FROM (VALUES (1), (2), (3)) AS a (x)");
  EXPECT_EQ(number(db, "SELECT count(DISTINCT at) FROM seen"), 1);
  db.execute("UPDATE seen SET at = now() WHERE id = 2");
  EXPECT_EQ(number(db, "SELECT count(*) FROM seen WHERE at > now() - interval '1 hour' AND at <= now()"), 3);
  EXPECT_EQ(number(db, "SELECT count(*) FROM seen WHERE at > now()"), 0);
  EXPECT_EQ(db.execute("SELECT now(), current_date").rows->ColumnNames(),
            (std::vector<std::string>{"now", "current_date"}));
}

// A prepared statement is asked at another moment each time.
TEST(EngineStatement, APreparedStatementHasAMomentForEachExecution) {
  auto db = cpu_database();
  db.run_script("CREATE TABLE t (at timestamp); INSERT INTO t VALUES (now() + interval '50 milliseconds')");
  auto asked = db.prepare("SELECT count(*) FROM t WHERE at < now() AND $1 = 1");
  const auto one = arrow::Table::Make(arrow::schema({arrow::field("a", arrow::int64())}),
                                      {arrow::MakeArrayFromScalar(arrow::Int64Scalar(1), 1).ValueOrDie()});
  const auto count = [&] { return (*asked.execute(*one).rows->column(1)->GetScalar(0))->ToString(); };
  for (int i = 0; i < 1000 && count() == "0"; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(count(), "1");
}

TEST(EngineStatement, AMistypedNameIsAnsweredWithTheNearest) {
  auto db = cpu_database();
  db.run_script("CREATE TABLE orders (id integer, day date); CREATE INDEX orders_by_day ON orders (day)");
  for (const std::string sql : {"INSERT INTO order_ VALUES (1)", "UPDATE oders SET id = 1", "DELETE FROM \"Orders\"",
                                "CREATE INDEX i ON ordesr (id)", "ANALYZE orderz", "DROP TABLE ordrs"}) {
    EXPECT_NE(problem(db, sql).find("; did you mean 'orders'?"), std::string::npos) << problem(db, sql);
  }
  EXPECT_EQ(problem(db, "DROP INDEX order_by_day"), "There is no index 'order_by_day'; did you mean 'orders_by_day'?");
  EXPECT_EQ(problem(db, "DROP INDEX something"), "There is no index 'something'.");
  EXPECT_EQ(problem(db, "DROP TABLE something"), "There is no table 'something'.");
  EXPECT_EQ(problem(db, "DROP TABLE IF EXISTS something"), "");
}

// The parser walks such trees by recursion, and a shell that crashes loses its tables.
TEST(EngineStatement, AVeryLongChainIsRefusedOrAnswered) {
  auto db = cpu_database();
  for (const std::string link : {"+1", "||'x'", " UNION ALL SELECT 1", " AND true"}) {
    std::string sql = link[0] == '|' ? "SELECT 'x'" : link[1] == 'A' ? "SELECT true" : "SELECT 1";
    for (int i = 0; i < 60'000 / static_cast<int>(test::less_work); ++i) sql += link;
    EXPECT_NO_FATAL_FAILURE((void)problem(db, sql)) << link;
    EXPECT_EQ(number(db, "SELECT 42"), 42);
  }
}

TEST(EngineStatement, SyntaxErrorBehindLettersOfSeveralBytes) {
  auto db = cpu_database();
  try {
    db.execute("SELECT 'äöü' FRM x y");
    FAIL();
  } catch (const sql_error& e) {
    EXPECT_EQ(*e.position(), 20U);  // bytes: each of the three letters has two
    EXPECT_NE(std::string(e.what()).find("yntax error"), std::string::npos);
  }
}

TEST(EngineStatement, ScriptRunsUntilTheFirstError) {
  auto db = cpu_database();
  const std::string script =
      "CREATE TABLE t (a integer);\nINSERT INTO t VALUES (1), (2);\nSELECT b FROM t;\nDROP TABLE t;";
  try {
    db.run_script(script);
    FAIL();
  } catch (const sql_error& e) {
    EXPECT_EQ(e.line(), 3U);
  }
  EXPECT_EQ(number(db, "SELECT count(*) FROM t"), 2);
  EXPECT_EQ(split_script(script).size(), 4U);
  EXPECT_EQ(split_script(script)[2].text, "SELECT b FROM t");
}

TEST(EngineStatement, StatementsBeforeASyntaxErrorAreRun) {
  for (const auto& late : {std::string("SELECT 'a; b"), std::string("SELECT \"a"), std::string("SELECT 1 /* a"),
                           std::string("SELECT $x$ a"), std::string("SELECT (1; SELECT 2"), std::string("SELEC 1"),
                           std::string("SELECT E'\\u00'"), std::string("SELECT \0 1", 10)}) {
    auto db = cpu_database();
    try {
      db.run_script("CREATE TABLE t (s varchar); INSERT INTO t VALUES (';''');\n  " + late);
      ADD_FAILURE() << late;
    } catch (const sql_error& e) {
      EXPECT_EQ(e.sqlstate(), "42601") << late << ": " << e.what();
      EXPECT_EQ(e.line(), 2U) << late << ": " << e.what();
      EXPECT_GE(e.column(), 3U) << late << ": " << e.what();
    }
    EXPECT_EQ(number(db, "SELECT count(*) FROM t"), 1) << late;
  }
}

// Nothing that somebody wrote may be passed over in silence.
TEST(EngineStatement, WhatIsNoStatementIsLeftForTheParserToRefuse) {
  const auto texts = [](const std::string& script) {
    std::vector<std::string> out;
    for (const auto& statement : split_script(script)) {
      EXPECT_EQ(script.substr(statement.offset, statement.text.size()), statement.text);
      out.push_back(statement.text);
    }
    return out;
  };
  using list = std::vector<std::string>;
  EXPECT_EQ(texts("SELCT 1"), list{"SELCT 1"});
  EXPECT_EQ(texts("SELECT 1; SELCT 2; SELECT 3;"), (list{"SELECT 1", "SELCT 2;", "SELECT 3"}));
  EXPECT_EQ(texts("SELECT (1"), list{"SELECT (1"});
  EXPECT_EQ(texts("SELECT 1; SELECT (1; DELETE FROM t"), (list{"SELECT 1", "SELECT (1; DELETE FROM t"}));
  EXPECT_EQ(texts("42; foo"), list{"42; foo"});
  EXPECT_EQ(texts(" ;; -- nothing\n ; /* at all */ ;"), list{});
  EXPECT_EQ(texts("SELECT 1;\n-- the end\n"), list{"SELECT 1"});
  EXPECT_EQ(texts("/* a /* b */ c */ SELECT 1; /* /* */ ; */ SELECT 2"), (list{"SELECT 1", "SELECT 2"}));
  EXPECT_EQ(texts("SELECT ')' ; SELECT $$;$$"), (list{"SELECT ')' ", "SELECT $$;$$"}));
  auto db = cpu_database();
  for (const std::string wrong : {"SELCT 1", "SELECT (1", "42", "foo", "\\d", "SELECT 1)", "(", "DESCRIBE o"})
    EXPECT_NE(problem(db, wrong), "") << wrong;
}

TEST(EngineStatement, FailingExpressionInInsertChangesNothing) {
  auto db = cpu_database();
  db.run_script(
      "CREATE TABLE t (id integer PRIMARY KEY, a integer);"
      "CREATE INDEX by_a ON t (a);"
      "INSERT INTO t VALUES (1, 1), (2, 0), (3, 5);");
  EXPECT_NE(problem(db, "INSERT INTO t SELECT id + 10, 10 / a FROM t"), "");
  EXPECT_NE(problem(db, "UPDATE t SET a = 10 / a"), "");
  EXPECT_NE(problem(db, "DELETE FROM t WHERE 10 / a > 3"), "");
  EXPECT_EQ(number(db, "SELECT count(*) FROM t"), 3);
  EXPECT_EQ(number(db, "SELECT sum(a) FROM t WHERE a >= 0"), 6);
  check_indexes(db);
}

TEST(EngineStatement, UniqueViolationChangesNothing) {
  auto db = cpu_database();
  db.run_script(
      "CREATE TABLE t (id integer PRIMARY KEY, a integer);"
      "CREATE INDEX by_a ON t (a);"
      "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);");
  EXPECT_NE(problem(db, "INSERT INTO t VALUES (4, 40), (2, 50)").find("t_pkey"), std::string::npos);
  EXPECT_NE(problem(db, "INSERT INTO t VALUES (5, 40), (5, 50)"), "");
  EXPECT_NE(problem(db, "UPDATE t SET id = 1"), "");
  EXPECT_EQ(number(db, "SELECT count(*) FROM t WHERE a > 0"), 3);
  EXPECT_EQ(number(db, "SELECT count(*) FROM t WHERE id = 4"), 0);
  check_indexes(db);
  db.execute("UPDATE t SET id = id + 1");  // keys that move are checked as they will be
  EXPECT_EQ(number(db, "SELECT sum(id) FROM t"), 9);
  check_indexes(db);
}

TEST(EngineStatement, NullWhereItMayNotBeChangesNothing) {
  auto db = cpu_database();
  db.run_script(
      "CREATE TABLE t (id integer NOT NULL, a integer); CREATE INDEX i ON t (a); INSERT INTO t VALUES (1, 1);");
  EXPECT_NE(problem(db, "INSERT INTO t VALUES (2, 2), (NULL, 3)"), "");
  EXPECT_NE(problem(db, "UPDATE t SET id = NULL"), "");
  EXPECT_EQ(number(db, "SELECT count(*) FROM t WHERE a > 0"), 1);
  check_indexes(db);
}

TEST(EngineStatement, FailedCreateIndexLeavesNoIndex) {
  auto db = cpu_database();
  db.run_script("CREATE TABLE t (a integer); INSERT INTO t VALUES (1), (1);");
  EXPECT_NE(problem(db, "CREATE UNIQUE INDEX i ON t (a)"), "");
  EXPECT_TRUE(db.tables().find("t")->indexes.empty());
  db.execute("CREATE INDEX i ON t (a)");
  EXPECT_EQ(db.tables().find("t")->indexes.size(), 1U);
}

TEST(EngineStatement, ManyChangesKeepIndexesRight) {
  for (const char* kind : {"static", "blink", "radix", "hybrid", "auto"}) {
    auto db = cpu_database();
    db.execute("CREATE TABLE t (id integer, a integer, s varchar)");
    db.execute(std::string("CREATE INDEX by_a ON t USING ") + kind + " (a)");
    db.execute("CREATE INDEX by_s ON t USING radix (s)");
    std::int64_t rows = 0;
    for (int round = 0; round < 12; ++round) {
      std::string values;
      for (int i = 0; i < 40; ++i) {
        const int a = (round * 37 + i * 11) % 50;
        values += (i ? ", (" : "(") + std::to_string(round * 100 + i) + ", " + std::to_string(a) + ", 'k" +
                  std::to_string(a % 7) + "')";
      }
      db.execute("INSERT INTO t VALUES " + values);
      rows += 40;
      rows -= std::stoll(db.execute("DELETE FROM t WHERE a = " + std::to_string(round * 3)).tag.substr(7));
      db.execute("UPDATE t SET a = a + 1, s = s || 'x' WHERE a BETWEEN 10 AND 14");
      ASSERT_EQ(number(db, "SELECT count(*) FROM t"), rows);
      ASSERT_EQ(number(db, "SELECT count(*) FROM t WHERE a >= 0"), rows);
    }
    check_indexes(db);
  }
}

}  // namespace
}  // namespace espalier::engine
