// Each error has PostgreSQL's SQLSTATE: programs tell errors apart by it.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "espalier/engine/database.hpp"

namespace espalier::engine {
namespace {

struct expected_sqlstate {
  std::string_view sqlstate;
  std::string sql;
};

const std::vector<expected_sqlstate>& expected_sqlstates() {
  static const std::vector<expected_sqlstate> all = {
      {"42601", "SELEC 1"},
      {"42601", "SELECT 'abc"},
      {"42601", "SELECT 1 FROM"},
      {"42601", "INSERT INTO t VALUES (1)(2)"},
      {"42601", "INSERT INTO t (a) VALUES (1, 2)"},
      {"42601", "SELECT a FROM t UNION SELECT a, b FROM t"},
      {"42601", "VALUES (1), (2, 3)"},
      {"0A000", "SELECT string_agg(s, ',') OVER () FROM t"},
      {"42P20", "SELECT a FROM t WHERE row_number() OVER () = 1"},
      {"0A000", "CREATE VIEW v AS SELECT 1"},
      {"0A000", "SELECT (SELECT max(u.a + (SELECT count(*) FROM t v WHERE v.a = t.a)) FROM t u WHERE u.b = t.b) FROM t"},
      {"42P01", "SELECT * FROM nosuch"},
      {"42P01", "SELECT nosuch.* FROM t"},
      {"42P01", "INSERT INTO nosuch VALUES (1)"},
      {"42P01", "UPDATE nosuch SET a = 1"},
      {"42P01", "DELETE FROM nosuch"},
      {"42P01", "DROP TABLE nosuch"},
      {"42P01", "COPY nosuch TO 'x.csv'"},
      {"42P01", "CREATE INDEX ON nosuch (a)"},
      {"42703", "SELECT nosuch FROM t"},
      {"42703", "SELECT t.nosuch FROM t"},
      {"42703", "INSERT INTO t (nosuch) VALUES (1)"},
      {"42703", "UPDATE t SET nosuch = 1"},
      {"42703", "CREATE INDEX ON t (nosuch)"},
      {"42703", "SELECT a FROM t WHERE nosuch > 1"},
      {"42702", "SELECT a FROM t, t AS u"},
      {"42701", "INSERT INTO t (a, a) VALUES (1, 2)"},
      {"42701", "CREATE TABLE twice (a integer, a integer)"},
      {"42712", "SELECT 1 FROM t, t"},
      {"42712", "WITH x AS (SELECT 1), x AS (SELECT 2) SELECT * FROM x"},
      {"42803", "SELECT a, count(*) FROM t"},
      {"42803", "SELECT a FROM t WHERE count(*) > 1"},
      {"42803", "SELECT sum(count(*)) FROM t"},
      {"42804", "SELECT a FROM t WHERE a"},
      {"42804", "SELECT a FROM t HAVING s"},
      {"42804", "SELECT CASE WHEN true THEN 1 ELSE s END FROM t"},
      {"42846", "SELECT true::date"},
      {"42883", "SELECT nosuch(1)"},
      {"42883", "SELECT length(1)"},
      {"42883", "SELECT sqrt(1, 2)"},
      {"42883", "SELECT sum(s) FROM t"},
      {"42883", "SELECT s + 1 FROM t"},
      {"42883", "SELECT s = 1 FROM t"},
      {"42P02", "SELECT $0"},
      {"42P10", "SELECT a FROM t ORDER BY 2"},
      {"42P10", "SELECT a FROM t GROUP BY 2"},
      {"42P10", "SELECT DISTINCT a FROM t ORDER BY b"},
      {"42P07", "CREATE TABLE t (a integer)"},
      {"42P07", "CREATE TABLE t AS SELECT 1 AS a"},
      {"42710", "CREATE INDEX t_pkey ON t (b)"},
      {"42704", "DROP INDEX nosuch"},
      {"42704", "SELECT 1::nosuch"},
      {"42704", "CREATE TABLE n (a nosuch)"},
      {"42P16", "CREATE TABLE p (a integer PRIMARY KEY, b integer PRIMARY KEY)"},
      {"2BP01", "DROP INDEX t_pkey"},
      {"21000", "SELECT (SELECT a FROM t)"},
      {"22003", "SELECT 2147483647 + 1"},
      {"22003", "SELECT a + 2147483647 FROM t"},
      {"22003", "SELECT 100000::smallint"},
      {"22003", "SELECT (b * 1e300)::bigint FROM t"},
      {"22003", "SELECT sum(9e37::numeric(38,0)) FROM t"},
      {"22003", "INSERT INTO t VALUES (3000000000, 1, 'x')"},
      {"22012", "SELECT 1 / 0"},
      {"22012", "SELECT 1 / (b - b) FROM t"},
      {"22012", "SELECT 1 % 0"},
      {"22012", "SELECT 1.5 / 0"},
      {"22012", "SELECT 1::double precision / 0"},
      {"22P02", "SELECT 'abc'::integer"},
      {"22P02", "SELECT 'abc'::double precision"},
      {"22P02", "SELECT 'abc'::numeric(5,2)"},
      {"22P02", "SELECT 'abc'::boolean"},
      {"22P02", "SELECT s::integer FROM t"},
      {"22P02", "SELECT a FROM t WHERE a = 'abc'"},
      {"22P02", "INSERT INTO t VALUES ('abc', 1, 'x')"},
      {"22007", "SELECT 'abc'::date"},
      {"22007", "SELECT s::timestamp FROM t"},
      {"22008", "SELECT TIMESTAMP '2024-01-01' + interval '60000 years'"},
      {"22025", "SELECT s LIKE 'a\\' FROM t"},
      {"22011", "SELECT substring(s, 1, -1) FROM t"},
      {"2201W", "SELECT 1 LIMIT -1"},
      {"2201X", "SELECT 1 OFFSET -1"},
      {"23505", "INSERT INTO t VALUES (1, 1, 'again')"},
      {"23505", "UPDATE t SET a = 1"},
      {"23505", "CREATE UNIQUE INDEX ON t (b)"},
      {"23502", "INSERT INTO t VALUES (NULL, 1, 'x')"},
      {"23502", "INSERT INTO t (s) VALUES ('x')"},
      {"23502", "UPDATE t SET b = NULL"},
      {"58P01", "SELECT * FROM read_csv('/no/such/file.csv')"},
      {"58P01", "COPY t FROM '/no/such/file.csv'"},
  };
  return all;
}

void expect_sqlstates(database& db) {
  for (const auto& [sqlstate, sql] : expected_sqlstates()) {
    try {
      (void)db.execute(sql);
      ADD_FAILURE() << "was answered: " << sql;
    } catch (const sql_error& e) {
      EXPECT_EQ(e.sqlstate(), sqlstate) << sql << ": " << e.what();
    }
  }
}

TEST(EngineSqlstate, IsThatOfPostgres) {
  for (const bool with_indexes : {true, false}) {
    database_options options;
    options.device = device::cpu(1);
    options.use_indexes = with_indexes;
    options.prefer_indexes = with_indexes;
    database db(options);
    db.run_script(
        "CREATE TABLE t (a integer PRIMARY KEY, b integer NOT NULL, s varchar);"
        "INSERT INTO t VALUES (1, 1, 'one'), (2, 1, 'two'); CREATE INDEX t_b ON t (b);");
    expect_sqlstates(db);
    EXPECT_EQ(db.execute("SELECT 1 FROM t").tag, "SELECT 2") << "nothing was changed";
  }
}

}  // namespace
}  // namespace espalier::engine
