// Which access path the planner takes, as EXPLAIN tells it.
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "espalier/engine/database.hpp"

namespace espalier::engine {
namespace {

class EngineExplain : public testing::Test {
 protected:
  EngineExplain() : db_({.path = {}, .device = device::cpu()}) {
    db_.run_script(
        "CREATE TABLE d (x integer);"
        "INSERT INTO d VALUES (0),(1),(2),(3),(4),(5),(6),(7),(8),(9);"
        "CREATE TABLE t AS SELECT a.x + 10*b.x + 100*c.x + 1000*e.x + 10000*f.x AS id, (a.x * 7 + b.x * 13 + c.x * 31 "
        "+ e.x) % 100 AS v,"
        "  (c.x * 17 + f.x * 5 + a.x) % 50 AS w, 'n' || b.x || c.x AS s, a.x AS p, b.x AS q, c.x AS r, e.x AS y FROM d "
        "a, d b, d c, d e, d f;"
        "CREATE TABLE few AS SELECT x * 100 AS id, x * 100 + 5 AS until FROM d;"
        "CREATE UNIQUE INDEX t_id ON t (id);"
        "CREATE INDEX t_v ON t (v);"
        "CREATE INDEX t_w ON t (w);"
        "CREATE INDEX t_s ON t (s);");
  }

  std::string plan(const std::string& sql) { return db_.execute("EXPLAIN " + sql).plan; }
  void expect(const std::string& sql, const std::string& words) {
    const auto text = plan(sql);
    EXPECT_NE(text.find(words), std::string::npos) << sql << "\n" << text;
  }

  database db_;
};

TEST_F(EngineExplain, ShortRangeOfAnIndexIsPreferredToAScan) {
  expect("SELECT * FROM t WHERE id BETWEEN 10 AND 20", "Index Scan using t_id on t");
  expect("SELECT * FROM t WHERE id > 10", "Seq Scan on t");
  expect("SELECT * FROM t WHERE id = 10", "rows=1)");
  expect("SELECT * FROM t WHERE s LIKE 'n12%'", "Index Scan using t_s on t");
  expect("SELECT * FROM t WHERE id IN (5, 7, 9)", "rows=3)");
}

TEST_F(EngineExplain, AScanNamesTheIndexesThatAreDearer) {
  expect("SELECT * FROM t WHERE id > 10", "Not Used: t_id: 99989 of 100000 rows, cost=");
  const auto both = plan("SELECT * FROM t WHERE id > 10 AND v < 99");
  EXPECT_NE(both.find("Not Used: t_id:"), std::string::npos) << both;
  EXPECT_NE(both.find("Not Used: t_v:"), std::string::npos) << both;
  EXPECT_EQ(plan("SELECT * FROM t WHERE id < 10").find("Not Used"), std::string::npos);
  EXPECT_EQ(plan("SELECT * FROM t WHERE p > 1").find("Not Used"), std::string::npos);
  const auto json = nlohmann::json::parse(plan("(FORMAT json) SELECT * FROM t WHERE id > 10"));
  EXPECT_NE(json.dump().find("\"Not Used\":\"t_id: 99989 of 100000 rows"), std::string::npos) << json.dump(2);
}

// Rows that the planner expects of the only index range of a statement: those of the scan, or of the index left aside.
double expected_rows(const std::string& plan) {
  std::smatch found;
  const std::regex used("Index.*rows=([0-9]+)"), rejected_indexes("Not Used: [a-z_]+: ([0-9]+) of");
  const bool any = std::regex_search(plan, found, rejected_indexes) || std::regex_search(plan, found, used);
  EXPECT_TRUE(any) << plan;
  return any ? std::stod(found[1]) : -1;
}

TEST_F(EngineExplain, LongRangesAreEstimatedWhateverTheKindOfTheIndex) {
  db_.execute("CREATE TABLE fours AS SELECT id / 4 * 4 AS id, p FROM t");
  const auto expect_near = [&](const std::string& table, const std::string& kind, int lo, int hi) {
    const auto sql = fmt::format("FROM {} WHERE id BETWEEN {} AND {}", table, lo, hi);
    const auto rows = (*db_.execute("SELECT count(p) " + sql).rows->column(0)->GetScalar(0))->ToString();
    EXPECT_NEAR(expected_rows(plan("SELECT * " + sql)), std::stod(rows), 0.2 * std::stod(rows)) << kind << " " << sql;
  };
  for (const std::string kind : {"static", "blink", "radix", "hybrid"}) {
    db_.run_script("DROP INDEX t_id; CREATE UNIQUE INDEX t_id ON t USING " + kind + " (id);" +
                   "CREATE INDEX fours_id ON fours USING " + kind + " (id);");
    for (const std::string table : {"t", "fours"}) {
      for (const int length : {100, 2000, 3000, 12000, 40000, 90000}) {
        expect_near(table, kind, 5000, 5000 + length);
        expect_near(table, kind, 99999 - length, 200000);
      }
    }
    db_.execute("DROP INDEX fours_id");
  }
  for (const std::string kind : {"static", "blink", "radix", "hybrid"}) {  // half of the rows gone, others new
    db_.run_script(
        "DROP INDEX t_id; CREATE INDEX t_id ON t USING " + kind + " (id);" +
        "UPDATE t SET id = id + 1 WHERE id < 60000 AND p = 3; DELETE FROM t WHERE id < 50000 AND q % 3 = 1;");
    for (const int length : {2000, 12000, 40000, 90000}) expect_near("t", kind, 5000, 5000 + length);
  }
}

TEST_F(EngineExplain, ConjunctionsIntersectIndexes) {
  expect("SELECT * FROM t WHERE v = 3 AND w = 4", "Index Intersection of 2 indexes on t");
}

TEST_F(EngineExplain, AggregatesComeFromTheIndex) {
  expect("SELECT count(*), sum(v), min(w), max(id) FROM t WHERE id BETWEEN 100 AND 50000",
         "Aggregate from Index t_id on t");
  expect("SELECT count(*) FROM t WHERE id > 100 AND v + 1 > 5", "Seq Scan");
  const auto text = plan("SELECT sum(v) FROM t WHERE id < 70");
  EXPECT_NE(text.find("Rows in Range: 70"), std::string::npos) << text;
  EXPECT_NE(text.find("sum(t.v)"), std::string::npos) << text;
}

TEST_F(EngineExplain, OrderAndLimitComeFromTheIndex) {
  expect("SELECT * FROM t ORDER BY id LIMIT 5", "Index Scan using t_id on t");
  expect("SELECT * FROM t ORDER BY id DESC LIMIT 5", "Index Scan Backward using t_id on t");
  EXPECT_EQ(plan("SELECT * FROM t ORDER BY id LIMIT 5").find("Sort"), std::string::npos);
  expect("SELECT * FROM t ORDER BY v + 1 LIMIT 5", "Top-5 Sort");
}

TEST_F(EngineExplain, JoinsAskTheIndexOnce) {
  expect("SELECT * FROM few JOIN t ON t.id = few.id", "Batched Index Lookup Join");
  expect("SELECT * FROM t JOIN few ON t.id = few.id", "Batched Index Lookup Join");
  expect("SELECT * FROM few JOIN t ON t.id BETWEEN few.id AND few.until", "Band (batched index ranges) Join");
  expect("SELECT * FROM few JOIN t ON t.v + 1 = few.id", "Hash Join");
  expect(
      "SELECT * FROM few LEFT JOIN LATERAL (SELECT v FROM t WHERE t.id <= few.id ORDER BY t.id DESC LIMIT 1) q ON true",
      "As-Of Left Join (batched index)");
  expect(
      "SELECT * FROM t LEFT JOIN LATERAL (SELECT until FROM few WHERE few.id <= t.id ORDER BY few.id DESC LIMIT 1) q "
      "ON true",
      "As-Of Left Join (sorted)");
}

TEST_F(EngineExplain, AnalyzeTellsRowsAndTime) {
  const auto text = db_.execute("EXPLAIN ANALYZE SELECT * FROM t WHERE id BETWEEN 10 AND 20").plan;
  EXPECT_NE(text.find("rows=11"), std::string::npos) << text;
  EXPECT_NE(text.find("bytes="), std::string::npos) << text;
  EXPECT_NE(text.find("Execution Time"), std::string::npos) << text;
}

TEST_F(EngineExplain, JsonHasTheShapeOfPostgresql) {
  const auto root =
      nlohmann::json::parse(db_.execute("EXPLAIN (ANALYZE, FORMAT json) SELECT v FROM t WHERE id = 7").plan);
  const auto* node = &root.at(0).at("Plan");
  while (node->contains("Plans")) node = &node->at("Plans").at(0);
  EXPECT_EQ(node->at("Node Type"), "Index Scan");
  EXPECT_EQ(node->at("Index Name"), "t_id");
  EXPECT_EQ(node->at("Relation Name"), "t");
  EXPECT_EQ(node->at("Actual Rows"), 1);
  EXPECT_TRUE(root.at(0).contains("Execution Time"));
}

// The fields that pev2, the viewer behind explain.dalibo.com, computes with, in every node.
void expect_viewable(const nlohmann::json& node, bool is_top) {
  EXPECT_TRUE(node.at("Node Type").is_string());
  for (const char* number : {"Startup Cost", "Total Cost", "Plan Rows", "Plan Width", "Actual Startup Time",
                             "Actual Total Time", "Actual Rows", "Actual Loops"}) {
    EXPECT_TRUE(node.at(number).is_number()) << number << node.dump(2);
  }
  for (const char* list : {"Output", "Sort Key", "Group Key"}) {
    EXPECT_TRUE(!node.contains(list) || node.at(list).is_array()) << list;
  }
  EXPECT_EQ(node.contains("Parent Relationship"), !is_top);
  if (!node.contains("Plans")) return;
  for (const auto& input : node.at("Plans")) {
    expect_viewable(input, false);
    EXPECT_LE(input.at("Actual Total Time").get<double>(), node.at("Actual Total Time").get<double>() + 1e3);
  }
}

TEST_F(EngineExplain, JsonOpensInPlanViewers) {
  for (const char* sql : {"SELECT p, count(*) FROM t WHERE id > 5 GROUP BY p ORDER BY 2 DESC LIMIT 3",
                          "SELECT few.id, t.v FROM few JOIN t ON t.id = few.id WHERE t.v > (SELECT min(x) FROM d)",
                          "SELECT sum(v) FROM t WHERE id < 70", "SELECT x FROM d UNION ALL SELECT until FROM few",
                          "SELECT DISTINCT p FROM t JOIN d ON d.x = t.p JOIN few ON few.id = t.id"}) {
    const auto root = nlohmann::json::parse(db_.execute("EXPLAIN (ANALYZE, FORMAT json) " + std::string(sql)).plan);
    ASSERT_EQ(root.size(), 1U);
    EXPECT_TRUE(root.at(0).at("Planning Time").is_number());
    EXPECT_TRUE(root.at(0).at("Execution Time").is_number());
    expect_viewable(root.at(0).at("Plan"), true);
  }
}

}  // namespace
}  // namespace espalier::engine
