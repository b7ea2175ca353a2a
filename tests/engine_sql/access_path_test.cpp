// Every access path is taken where the planner finds it cheapest, whatever kind the indexes are of, and gives the rows
// that the same statement has without any index.
#include <arrow/array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "espalier/engine/database.hpp"

namespace espalier::engine {
namespace {

database path_database(bool use_indexes) {
  database_options options;
  options.device = device::cpu(2);
  options.use_indexes = use_indexes;
  database out(options);
  out.run_script(
      "CREATE TABLE d (x integer);"
      "INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9);"
      "CREATE TABLE t AS SELECT a.x + 10*b.x + 100*c.x + 1000*e.x AS id, (a.x * 7 + b.x * 13 + c.x * 31 + e.x) % 100 "
      "AS v,"
      "  (c.x * 17 + b.x * 5 + a.x) % 50 AS w, 'n' || b.x || c.x AS s, a.x AS p,"
      "  TIMESTAMP '2024-01-01' + (a.x + 10*b.x + 100*c.x + 1000*e.x) * interval '1 minute' AS ts"
      "  FROM d a, d b, d c, d e;"
      "CREATE TABLE half AS SELECT id * 2 AS id, p FROM t WHERE id < 5000;"
      "CREATE TABLE few AS SELECT x * 100 AS id, x * 100 + 5 AS until, x AS n,"
      "  TIMESTAMP '2024-01-01' + x * interval '77 minutes' AS at FROM d;");
  return out;
}

std::vector<std::string> rows_of(database& db, const std::string& sql) {
  const auto table = db.execute(sql).rows;
  std::vector<std::string> out(static_cast<std::size_t>(table->num_rows()));
  for (const auto& column : table->columns()) {
    for (std::size_t row = 0; row < out.size(); ++row) {
      out[row] += (*column->GetScalar(static_cast<std::int64_t>(row)))->ToString() + "|";
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

class AccessPath : public testing::TestWithParam<std::string> {
 protected:
  AccessPath() : db_(path_database(true)) {
    const auto& kind = GetParam();
    const std::string of_text = kind == "auto" ? "auto" : "radix";  // the others take keys of 64 bits
    db_.run_script("CREATE UNIQUE INDEX t_id ON t USING " + kind + " (id); CREATE INDEX t_v ON t USING " + kind +
                   " (v); CREATE INDEX t_w ON t USING " + kind + " (w); CREATE INDEX t_ts ON t USING " + kind +
                   " (ts); CREATE INDEX t_w_v ON t USING " + kind + " (w, v); CREATE INDEX t_s ON t USING " + of_text +
                   " (s); CREATE INDEX half_id ON half USING " + kind + " (id);");
  }

  std::string plan(const std::string& sql) { return db_.execute("EXPLAIN " + sql).plan; }

  void expect(const std::string& sql, const std::vector<std::string>& words,
              const std::vector<std::string>& absent = {}) {
    const auto text = plan(sql);
    for (const auto& word : words) EXPECT_NE(text.find(word), std::string::npos) << word << "\n" << sql << "\n" << text;
    for (const auto& word : absent)
      EXPECT_EQ(text.find(word), std::string::npos) << word << "\n" << sql << "\n" << text;
    static database plain = path_database(false);
    EXPECT_EQ(rows_of(db_, sql), rows_of(plain, sql)) << sql << "\n" << text;
  }

  database db_;
};

TEST_P(AccessPath, FullScan) {
  expect("SELECT id, p FROM t WHERE p = 3", {"Seq Scan on t"});
  expect("SELECT * FROM t WHERE id > 10", {"Seq Scan on t"});
}

TEST_P(AccessPath, IndexRange) {
  expect("SELECT * FROM t WHERE id BETWEEN 10 AND 20", {"Index Scan using t_id on t"});
  expect("SELECT * FROM t WHERE id IN (5, 7, 9)", {"Index Scan using t_id on t"});
  expect("SELECT * FROM t WHERE s LIKE 'n12%' AND p < 5", {"Index Scan using t_s on t", "Filter: (t.p < 5)"});
  expect("SELECT * FROM t WHERE ts < TIMESTAMP '2024-01-01' + interval '1 hour'", {"Index Scan using t_ts on t"});
}

// Of 100,000 rows either index gives more than their rows are worth looking at.
TEST_P(AccessPath, IndexIntersection) {
  db_.run_script("CREATE TABLE big AS SELECT t.*, d.x FROM t, d; CREATE INDEX big_v ON big USING " + GetParam() +
                 " (v); CREATE INDEX big_w ON big USING " + GetParam() + " (w);");
  const std::string where = " WHERE v = 3 AND w = 4";
  const auto text = plan("SELECT * FROM big" + where);
  EXPECT_NE(text.find("Index Intersection of 2 indexes on big"), std::string::npos) << text;
  EXPECT_EQ(rows_of(db_, "SELECT * FROM big" + where), rows_of(db_, "SELECT t.*, d.x FROM t, d" + where));
}

TEST_P(AccessPath, IndexOnly) {
  expect("SELECT id FROM t WHERE id BETWEEN 100 AND 900", {"Index Only Scan using t_id on t"});
  expect("SELECT v, w FROM t WHERE w = 7 AND v % 2 = 1", {"Index Only Scan using t_w_v on t", "Filter"});
  expect("SELECT s FROM t WHERE s BETWEEN 'n12' AND 'n14'", {"Index Only Scan using t_s on t"});
  expect("SELECT id + 1 FROM t WHERE id < 50 AND p = 1", {"Index Scan using t_id on t"}, {"Index Only"});
}

TEST_P(AccessPath, IndexOnlyAfterChanges) {
  for (const char* change : {"DELETE FROM t WHERE id = 150", "INSERT INTO t (id, v) VALUES (20000, 5)"}) {
    db_.execute(change);
    const auto text = plan("SELECT id FROM t WHERE id BETWEEN 100 AND 900");
    EXPECT_NE(text.find("using t_id"), std::string::npos) << text;
    EXPECT_EQ(rows_of(db_, "SELECT id FROM t WHERE id BETWEEN 100 AND 900").size(), 800U);
  }
  EXPECT_EQ(rows_of(db_, "SELECT id FROM t WHERE id > 9998"), (std::vector<std::string>{"20000|", "9999|"}));
}

TEST_P(AccessPath, AggregateFromTheIndex) {
  expect("SELECT count(*), sum(v), min(w), max(id), avg(p) FROM t WHERE id BETWEEN 100 AND 300",
         {"Aggregate from Index t_id on t"}, {"Seq Scan"});
  expect("SELECT count(*) FROM t WHERE s LIKE 'n1%'", {"Aggregate from Index t_s on t"});
}

TEST_P(AccessPath, TopKFromIndexOrder) {
  expect("SELECT * FROM t ORDER BY id LIMIT 5", {"Index Scan using t_id on t"}, {"Sort"});
  expect("SELECT * FROM t ORDER BY id DESC LIMIT 5 OFFSET 3", {"Index Scan Backward using t_id on t"}, {"Sort"});
  expect("SELECT * FROM t WHERE p > 4 ORDER BY ts LIMIT 5", {"Index Scan using t_ts on t", "Filter"}, {"Sort"});
  expect("SELECT p, v FROM t ORDER BY v + 1, p LIMIT 5", {"Top-5 Sort"});
}

TEST_P(AccessPath, OrderFromTheIndexAlone) {
  expect("SELECT id FROM t ORDER BY id", {"Index Only Scan using t_id on t"}, {"Sort"});
  const auto rows = db_.execute("SELECT id FROM t ORDER BY id DESC").rows;
  for (std::int64_t i = 0; i < rows->num_rows(); i += 997) {
    EXPECT_EQ((*rows->column(0)->GetScalar(i))->ToString(), std::to_string(9999 - i));
  }
}

TEST_P(AccessPath, GroupsComeInIndexOrder) {
  const std::string few = " WHERE w BETWEEN 3 AND 4";
  expect("SELECT w, v, count(*), max(v) FROM t" + few + " GROUP BY w, v",
         {"GroupAggregate", "Index Only Scan using t_w_v on t"});
  expect("SELECT DISTINCT v, w FROM t" + few, {"Unique (in index order)", "Index Only Scan using t_w_v on t"});
  // All keys out of the index take longer than a scan and a hash table.
  expect("SELECT w, v, count(*), max(v) FROM t GROUP BY w, v", {"HashAggregate", "Seq Scan on t"});
  expect("SELECT w, sum(p) FROM t GROUP BY w", {"HashAggregate", "Seq Scan on t"});
  // 50 groups: an array of them costs no more than their order.
  expect("SELECT w, count(*), min(v), max(v) FROM t GROUP BY w", {"HashAggregate", "Seq Scan on t"});
}

TEST_P(AccessPath, BatchedIndexLookupJoin) {
  expect("SELECT few.n, t.s FROM few JOIN t ON t.id = few.id", {"Batched Index Lookup Join", "Index Name: t_id"});
  expect("SELECT few.n, t.s FROM few LEFT JOIN t ON t.id = few.id + 9500", {"Batched Index Lookup Left Join"});
  expect("SELECT n FROM few WHERE EXISTS (SELECT 1 FROM half WHERE half.id = few.id)",
         {"Batched Index Lookup Semi Join"});
}

TEST_P(AccessPath, MergeJoinOfTwoOrderedIndexes) {
  expect("SELECT t.id, half.p FROM t JOIN half ON t.id = half.id", {"Index Merge Join", "Index Names: t_id, half_id"});
}

TEST_P(AccessPath, BandJoinByIndexRanges) {
  expect("SELECT few.n, t.s FROM few JOIN t ON t.id BETWEEN few.id AND few.until",
         {"Band (batched index ranges) Join"});
  expect("SELECT few.n, t.id FROM few JOIN t ON t.ts BETWEEN few.at - interval '3 minutes' AND few.at",
         {"Band (batched index ranges) Join", "Index Name: t_ts"});
}

TEST_P(AccessPath, AsOfJoinByIndex) {
  expect(
      "SELECT few.n, q.id FROM few LEFT JOIN LATERAL (SELECT id FROM t WHERE t.ts <= few.at ORDER BY t.ts DESC "
      "LIMIT 1) q ON true",
      {"As-Of Left Join (batched index)", "Index Name: t_ts"});
}

TEST_P(AccessPath, HashJoinWhereNoIndexHelps) {
  expect("SELECT count(*) FROM t JOIN half ON t.v + 1 = half.id", {"Hash Join"});
}

// Written with the two large tables first: those would make 10,000 rows on the way, `few` makes 10.
TEST_P(AccessPath, JoinsMeetInTheOrderOfFewestRows) {
  const std::string sql =
      "SELECT t.id, half.p, few.n FROM t JOIN half ON half.p = t.p JOIN few ON few.id = t.id AND few.id = half.id";
  expect(sql, {});
  const auto root = nlohmann::json::parse(db_.execute("EXPLAIN (FORMAT json) " + sql).plan);
  const auto* top = &root.at(0).at("Plan");
  while (top->at("Plans").size() == 1) top = &top->at("Plans").at(0);
  const auto* lower = &top->at("Plans").at(0);
  if (!lower->contains("Plans")) lower = &top->at("Plans").at(1);
  EXPECT_LT(lower->at("Plan Rows").get<double>(), 100) << root.dump(2);
  EXPECT_NE(lower->dump().find("\"few\""), std::string::npos) << root.dump(2);
}

INSTANTIATE_TEST_SUITE_P(Kinds, AccessPath, testing::Values("static", "blink", "radix", "hybrid", "auto"),
                         [](const auto& kind) { return kind.param; });

}  // namespace
}  // namespace espalier::engine
