// declared_types_test.cpp - SQLSTATEs and lengths of columns, also after the database was opened again, and aggregates
// that have the same bits with any number of threads.
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include <filesystem>
#include <string>

#include "engine/catalog.hpp"
#include "espalier/engine/database.hpp"
#include "support/scratch_folder.hpp"

namespace espalier::engine {
namespace {

database database_in(const std::filesystem::path& folder) {
  database_options options;
  options.path = folder;
  options.device = device::cpu();
  return database(options);
}

std::string sqlstate_of(database& db, const std::string& sql) {
  try {
    db.execute(sql);
  } catch (const sql_error& e) {
    return std::string(e.sqlstate());
  }
  return "";
}

std::string only_value(database& db, const std::string& sql) {
  return (*db.execute(sql).rows->column(0)->GetScalar(0))->ToString();
}

TEST(EngineDeclaredTypes, LengthsAreEnforcedAfterTheDatabaseIsOpenedAgain) {
  const test::scratch_folder scratch;
  const auto folder = scratch.path() / "db";
  {
    auto db = database_in(folder);
    db.execute("CREATE TABLE t (v varchar(3), c char(2), n numeric, CONSTRAINT one UNIQUE (v))");
    db.execute("INSERT INTO t VALUES ('abc', 'x ', 0.123456789)");
  }
  auto db = database_in(folder);
  EXPECT_EQ(sqlstate_of(db, "INSERT INTO t VALUES ('abcd', 'x', 1)"), "22001");
  EXPECT_EQ(sqlstate_of(db, "UPDATE t SET c = 'xyz'"), "22001");
  EXPECT_EQ(sqlstate_of(db, "INSERT INTO t VALUES ('ab', 'x', 0.0123456789)"), "22003");
  EXPECT_EQ(sqlstate_of(db, "INSERT INTO t VALUES ('abc', 'x', 1)"), "23505");
  EXPECT_EQ(only_value(db, "SELECT count(*) FROM t WHERE v = 'abc' AND c = 'x' AND n = 0.123456789"), "1");
  EXPECT_EQ(sql_name(declared_type_of(*db.tables().find("t"), 0)), "varchar(3)");
  EXPECT_EQ(sql_name(declared_type_of(*db.tables().find("t"), 1)), "char(2)");
  EXPECT_EQ(sql_name(declared_type_of(*db.tables().find("t"), 2)), "numeric");
}

TEST(EngineDeclaredTypes, NumericWithoutDigitsIsOneType) {
  database_options options;
  options.device = device::cpu();
  database db(options);
  db.execute("CREATE TABLE t (n numeric, e decimal, d double precision, s varchar)");
  db.execute("INSERT INTO t VALUES (0.123456789, 0.123456789, 0.123456789, '0.123456789')");
  const auto rows = db.execute("SELECT n, e, d::numeric, CAST(s AS numeric) FROM t").rows;
  for (int i = 0; i < rows->num_columns(); ++i) {
    EXPECT_EQ(rows->schema()->field(i)->type()->ToString(), "decimal128(38, 9)") << i;
    EXPECT_EQ((*rows->column(i)->GetScalar(0))->ToString(), "0.123456789") << i;
  }
}

TEST(EngineDeclaredTypes, CopyRefusesTextsThatAreTooLong) {
  const test::scratch_folder scratch;
  const auto file = (scratch.path() / "rows.csv").string();
  auto db = database_in(scratch.path() / "db");
  db.execute("CREATE TABLE t (v varchar(3))");
  db.execute("COPY (SELECT 'abcd' AS v) TO '" + file + "'");
  EXPECT_EQ(sqlstate_of(db, "COPY t FROM '" + file + "'"), "22001");
  EXPECT_EQ(only_value(db, "SELECT count(*) FROM t"), "0");
}

TEST(EngineDeclaredTypes, ASecondRowIsACardinalityViolation) {
  database_options options;
  options.device = device::cpu();
  database db(options);
  db.execute("CREATE TABLE t AS SELECT x, x % 2 AS k FROM generate_series(1, 6) AS g(x)");
  EXPECT_EQ(sqlstate_of(db, "SELECT (SELECT x FROM t)"), "21000");
  EXPECT_EQ(sqlstate_of(db, "SELECT (SELECT x FROM t o WHERE o.k = t.k) FROM t"), "21000");
  EXPECT_EQ(sqlstate_of(db, "UPDATE t SET x = (SELECT x FROM t o WHERE o.k = t.k)"), "21000");
  EXPECT_EQ(only_value(db, "SELECT sum(x) FROM t"), "21");
  EXPECT_EQ(sqlstate_of(db, "SELECT split_part('a', 'b', 0)"), "22023");
  EXPECT_EQ(sqlstate_of(db, "SELECT percentile_disc(2) WITHIN GROUP (ORDER BY x) FROM t"), "22003");
}

TEST(EngineDeclaredTypes, AggregatesHaveTheSameBitsWithAnyNumberOfThreads) {
  const std::string sql =
      "SELECT k, stddev(d)::varchar || ' ' || var_pop(d)::varchar || ' ' || "
      "(percentile_cont(0.37) WITHIN GROUP (ORDER BY d))::varchar || ' ' || string_agg(left(d::varchar, 4), ',')"
      " FROM t GROUP BY k ORDER BY k";
  std::string expected;
  for (const int threads : {1, 2, 5}) {
    tbb::task_arena(threads).execute([&] {
      database_options options;
      options.device = device::cpu();
      database db(options);
      // The same rows in another order for each number of threads.
      db.execute(
          "CREATE TABLE t AS SELECT x % 3 AS k, sqrt(x::double precision) * 1e3 AS d "
          "FROM generate_series(1, 150000) AS g(x) ORDER BY (x::bigint * " +
          std::to_string(threads * 7919) + ") % 150001");
      std::string found;
      const auto rows = db.execute(sql).rows;
      for (std::int64_t i = 0; i < rows->num_rows(); ++i) found += (*rows->column(1)->GetScalar(i))->ToString() + "\n";
      if (expected.empty()) expected = found;
      EXPECT_TRUE(found == expected) << "with " << threads << " threads";
    });
  }
}

}  // namespace
}  // namespace espalier::engine
