// More text than one array holds, with a limit of 1,000 bytes instead of 2^31 - 1: every operator and function gives
// the same answers as without it, in arrays that keep the limit, and a single text beyond it is refused.
#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/table/text_limit.hpp"
#include "espalier/engine/database.hpp"

namespace espalier::engine {
namespace {

constexpr std::int64_t small_text = 1000;
constexpr int rows_of_table = 400;

// 400 rows with texts of 1 to 120 bytes, each of which three or four rows have; every eleventh is NULL.
database table_of_texts() {
  const lowered_text_limit limit(small_text);
  database_options options;
  options.device = device::cpu();
  database db(options);
  std::string rows;
  for (int i = 0; i < rows_of_table; ++i) {
    const int text = i * 7 % 113;
    const std::string body = "'" + std::to_string(text) + std::string(static_cast<std::size_t>(text), 'a') + "'";
    rows += (i == 0 ? "(" : ", (") + std::to_string(i) + ", " + std::to_string(i % 5) + ", " +
            (i % 11 == 10 ? "NULL" : body) + ")";
  }
  db.run_script("CREATE TABLE t (id integer, g integer, body varchar); INSERT INTO t VALUES " + rows);
  return db;
}

void expect_small_arrays(const arrow::Table& rows, const std::string& sql) {
  for (const auto& column : rows.columns()) {
    for (const auto& chunk : column->chunks()) {
      ASSERT_TRUE(chunk->ValidateFull().ok()) << sql;
      if (chunk->type_id() != arrow::Type::STRING) continue;
      EXPECT_LE(static_cast<const arrow::StringArray&>(*chunk).total_values_length(), small_text) << sql;
    }
  }
}

void expect_same_in_pieces(database& db, const std::string& sql) {
  const auto whole = db.execute(sql).rows;
  const lowered_text_limit limit(small_text);
  std::shared_ptr<arrow::Table> pieces;
  try {
    pieces = db.execute(sql).rows;
  } catch (const sql_error& e) {
    FAIL() << sql << ": " << e.what();
  }
  EXPECT_TRUE(whole->Equals(*pieces)) << sql << "\n" << whole->ToString() << pieces->ToString();
  expect_small_arrays(*pieces, sql);
}

const std::vector<std::string> operators = {
    "SELECT body FROM t ORDER BY body, id",
    "SELECT id, body FROM t ORDER BY g DESC, body DESC NULLS FIRST, id",
    "SELECT id, body FROM t ORDER BY body DESC, id LIMIT 50 OFFSET 20",
    "SELECT id, body FROM t ORDER BY id LIMIT 30 OFFSET 300",
    "SELECT body FROM t OFFSET 390",
    "SELECT body, count(*) FROM t GROUP BY body ORDER BY body",
    "SELECT body || 'x' AS b, g, count(*), min(id) FROM t GROUP BY body || 'x', g ORDER BY b, g",
    "SELECT g, id % 50 AS k, max(body), min(body) FROM t GROUP BY g, id % 50 ORDER BY g, k",
    "SELECT max(body), min(body), count(DISTINCT body) FROM t",
    "SELECT id % 90 AS k, string_agg(body, ',') FROM t GROUP BY id % 90 ORDER BY k",
    "SELECT id % 90 AS k, string_agg(DISTINCT body, '-' ORDER BY body DESC) FROM t GROUP BY id % 90 ORDER BY k",
    "SELECT id % 90 AS k, percentile_disc(0.5) WITHIN GROUP (ORDER BY body) FROM t GROUP BY id % 90 ORDER BY k",
    "SELECT DISTINCT body FROM t ORDER BY body",
    "SELECT DISTINCT ON (g, body) g, body, id FROM t ORDER BY g, body, id",
    "SELECT body FROM t UNION SELECT body || 'b' FROM t ORDER BY 1",
    "SELECT body FROM t UNION ALL SELECT upper(body) FROM t",
    "SELECT body FROM t EXCEPT SELECT body FROM t WHERE g < 2 ORDER BY 1",
    "SELECT body FROM t INTERSECT ALL SELECT body FROM t WHERE g < 2 ORDER BY 1",
    "SELECT a.id, b.id, a.body, b.body FROM t a JOIN t b ON a.body = b.body ORDER BY a.id, b.id",
    "SELECT a.id, b.body FROM t a LEFT JOIN t b ON a.body = b.body AND b.g = 1 ORDER BY a.id, b.id",
    "SELECT a.body, b.body FROM (SELECT * FROM t WHERE g < 3) a FULL JOIN (SELECT * FROM t WHERE g > 1) b "
    "ON a.id = b.id ORDER BY a.id, b.id",
    "SELECT a.body, b.body FROM t a JOIN t b ON a.g = b.g AND a.body < b.body WHERE a.id < 40 AND b.id < 40 "
    "ORDER BY a.id, b.id",
    "SELECT a.body || b.body FROM t a, t b WHERE a.id < 30 AND b.id < 30 AND length(a.body || b.body) > 100 "
    "ORDER BY a.id, b.id",
    "SELECT max(a.body || b.body) FROM t a JOIN t b ON a.g = b.g",
    "SELECT id, body FROM t WHERE body IN (SELECT body FROM t WHERE g = 3) ORDER BY id",
    "SELECT id, body FROM t WHERE body NOT IN (SELECT body FROM t WHERE g = 3 AND body IS NOT NULL) ORDER BY id",
    "SELECT id, body FROM t WHERE g = 0 OR body IN (SELECT body FROM t WHERE id > 250) ORDER BY id",
    "SELECT id, body FROM t x WHERE body = (SELECT max(body) FROM t y WHERE y.g = x.g) ORDER BY id",
    "SELECT id, body FROM t WHERE body LIKE '%aaa%' AND body > '3' ORDER BY id",
    "WITH c AS (SELECT id, body || '!' AS b FROM t) SELECT x.b, y.b FROM c x JOIN c y ON x.id = y.id + 1 ORDER BY x.id",
    "SELECT x.id, y.body FROM t x, LATERAL (SELECT body FROM t z WHERE z.g = x.g ORDER BY body DESC LIMIT 1) y "
    "ORDER BY x.id",
};

const std::vector<std::string> functions = {
    "body || body || body",
    "'a constant text of some length, for all rows'",
    "replace(replace(body, 'a', 'bc'), 'c', 'de')",
    "replace(body, 'a', '')",
    "repeat(body, 3)",
    "lpad(body, 300, 'xyz')",
    "rpad(body, 200)",
    "upper(body)",
    "lower(upper(body))",
    "reverse(body)",
    "substring(body from 2 for 50)",
    "left(body, 30)",
    "right(body, -3)",
    "trim(both '1' from body)",
    "split_part(body, 'a', 1)",
    "concat(body, '-', body, g)",
    "concat_ws(', ', body, body, g::varchar)",
    "regexp_replace(body, '(a+)', '<\\1\\1>')",
    "regexp_replace(body, 'a', 'bcd', 'g')",
    "id::varchar",
    "(id * 1.5)::varchar",
    "id::double precision::varchar",
    "(DATE '2020-01-01' + id)::varchar",
    "body::varchar(7)",
    "CASE WHEN g = 1 THEN body WHEN g = 2 THEN repeat(body, 2) ELSE 'none' END",
    "coalesce(body, repeat('n', 99))",
    "nullif(body, '5aaaaa')",
    "greatest(body, 'm', reverse(body))",
    "least(body, repeat('2', 90))",
    "length(body || body)",
    "strpos(body || 'z', 'z')",
    "CASE WHEN id = 0 THEN 1 / (id + 1) ELSE length(repeat(body, 8)) END",
};

TEST(EngineTextPieces, Operators) {
  auto db = table_of_texts();
  for (const auto& sql : operators) expect_same_in_pieces(db, sql);
}

TEST(EngineTextPieces, OperatorsWithIndexes) {
  for (const char* kind : {"blink", "radix"}) {
    auto db = table_of_texts();
    {
      const lowered_text_limit limit(small_text);
      db.execute("CREATE INDEX by_body ON t (body)");
      db.execute("CREATE INDEX by_id ON t USING " + std::string(kind) + " (id)");
    }
    for (const auto& sql : operators) expect_same_in_pieces(db, sql);
    expect_same_in_pieces(db, "SELECT body FROM t WHERE body > '2' ORDER BY body");
    expect_same_in_pieces(db, "SELECT id, body FROM t WHERE id BETWEEN 20 AND 300 ORDER BY id");
  }
}

// Tables of which blocks go through several operators at a time.
TEST(EngineTextPieces, OperatorsOfLargeTables) {
  auto db = table_of_texts();
  {
    const lowered_text_limit limit(small_text);
    db.execute(
        "CREATE TABLE large AS SELECT n AS id, n % 400 AS t_id, CASE n % 3 WHEN 0 THEN 'bbbbbbbbbbbbbbbbbbbb' "
        "WHEN 1 THEN 'bb' ELSE 'b' END || n % 500 AS s FROM generate_series(1, 40000) AS g(n)");
  }
  for (const char* sql : {
           "SELECT l.id, t.body FROM large l JOIN t ON t.id = l.t_id WHERE l.id % 7 = 0 ORDER BY l.id",
           "SELECT l.id, t.body || l.s AS v FROM large l LEFT JOIN t ON t.id = l.t_id + 5 ORDER BY l.id LIMIT 500",
           "SELECT t.body, count(*), max(l.s), min(l.s) FROM large l JOIN t ON t.id = l.t_id GROUP BY 1 ORDER BY 1",
           "SELECT s, count(*), sum(id) FROM large GROUP BY s ORDER BY s",
           "SELECT max(s), min(s || s), count(DISTINCT s) FROM large",
           "SELECT count(*) FROM large WHERE s IN ('7', 'b31', 'bb402') OR s LIKE 'bbb%9'",
           "SELECT count(*), max(s) FROM large WHERE t_id IN (SELECT id FROM t WHERE body LIKE '1%')",
           "SELECT t.id, t.body FROM t WHERE EXISTS (SELECT 1 FROM large l WHERE l.s = t.body) ORDER BY 1",
       }) {
    expect_same_in_pieces(db, sql);
  }
}

TEST(EngineTextPieces, Functions) {
  auto db = table_of_texts();
  for (const auto& e : functions) {
    expect_same_in_pieces(db, "SELECT id, " + e + " AS v FROM t ORDER BY id");
    expect_same_in_pieces(db, "SELECT count(*) FROM t WHERE " + e + " IS NOT NULL");
    expect_same_in_pieces(db, "SELECT " + e + " AS v, count(*) FROM t GROUP BY 1 ORDER BY 1");
  }
  expect_same_in_pieces(
      db, "SELECT x || repeat('a', 300) FROM (VALUES (repeat('x', 500)), (repeat('y', 600)), (NULL)) v(x)");
}

TEST(EngineTextPieces, ChangesAndCopies) {
  auto db = table_of_texts();
  {
    const lowered_text_limit limit(small_text);
    db.execute("CREATE TABLE u AS SELECT id, repeat(body, 2) AS body FROM t ORDER BY body DESC, id");
    db.execute("INSERT INTO u SELECT a.id + 1000, a.body || b.body FROM t a JOIN t b ON a.id = b.id + 1");
    db.execute("UPDATE u SET body = body || '.' WHERE id % 2 = 0");
    db.execute("DELETE FROM u WHERE body LIKE '9%'");
  }
  auto other = table_of_texts();
  other.execute("CREATE TABLE u AS SELECT id, repeat(body, 2) AS body FROM t ORDER BY body DESC, id");
  other.execute("INSERT INTO u SELECT a.id + 1000, a.body || b.body FROM t a JOIN t b ON a.id = b.id + 1");
  other.execute("UPDATE u SET body = body || '.' WHERE id % 2 = 0");
  other.execute("DELETE FROM u WHERE body LIKE '9%'");
  const auto all = "SELECT * FROM u ORDER BY id";
  EXPECT_TRUE(db.execute(all).rows->Equals(*other.execute(all).rows));
}

TEST(EngineTextPieces, OneTextThatIsTooLongIsRefused) {
  auto db = table_of_texts();
  const lowered_text_limit limit(small_text);
  const auto state = [&](const std::string& sql) -> std::string {
    try {
      db.execute(sql);
    } catch (const sql_error& e) {
      return std::string(e.sqlstate());
    }
    return "";
  };
  EXPECT_EQ(state("SELECT repeat('x', 1000)"), "");
  for (const char* e :
       {"repeat('x', 1001)", "repeat('x', 2147483647)", "repeat('x', 600) || repeat('y', 401)", "repeat(body, 20)",
        "replace(replace(repeat(body, 4), 'a', 'bbb'), 'b', 'ccc')", "body || repeat(body, 4) || repeat(body, 4)",
        "lpad(body, 1001)", "concat(body, repeat('x', 999))", "concat_ws(repeat(',', 500), body, body, body)",
        "regexp_replace(repeat(body, 7), 'a', 'xyz', 'g')", "coalesce(body, repeat('x', 1001))",
        "CASE WHEN g = 1 THEN repeat(body, 30) END", "string_agg(body, ',')",
        "string_agg(body, repeat(',', 300) ORDER BY id)"}) {
    EXPECT_EQ(state(std::string("SELECT ") + e + " FROM t"), "54000") << e;
    EXPECT_EQ(state(std::string("SELECT count(*) FROM (SELECT ") + e + " AS v FROM t) q WHERE v > 'a'"), "54000") << e;
    EXPECT_EQ(state(std::string("CREATE TABLE v AS SELECT ") + e + " AS v FROM t"), "54000") << e;
  }
  EXPECT_EQ(state("SELECT id, body FROM t ORDER BY body"), "");
  EXPECT_EQ(state("SELECT * FROM v"), "42P01");
}

}  // namespace
}  // namespace espalier::engine
