// guarded_orders_test.cpp - neither the order of inner joins nor an index that has the order of ORDER BY decides
// whether a statement fails.
#include <fmt/format.h>

#include "engine_sql/guarded_tables.hpp"

namespace espalier::engine {
namespace {

class GuardedOrders : public guarded_tables {
 protected:
  GuardedOrders() {
    db_.run_script("CREATE TABLE m (k integer, y integer); INSERT INTO m VALUES (1, 1), (2, 2), (5, 0)");
    if (GetParam() == tested_path::by_index) db_.run_script("CREATE INDEX m_k ON m (k); CREATE INDEX m_y ON m (y)");
  }

  // The answer with few rows in m, and with so many that m is joined last.
  void expect(const std::string& from, const rows& expected) {
    for (const char* const order : orders) {
      EXPECT_EQ(answer(statement(order, from)), expected) << order << from;
    }
    with_many_rows([&] { EXPECT_EQ(answer(statement(orders[0], from)), expected) << from; });
  }
  void expect_error(const std::string& from) {
    for (const char* const order : orders) EXPECT_EQ(state(statement(order, from)), "22012") << order << from;
    with_many_rows([&] { EXPECT_EQ(state(statement(orders[0], from)), "22012") << from; });
  }

 private:
  static constexpr const char* orders[] = {"l, r, m", "m, r, l", "r, m, l", "l, m, r"};

  static std::string statement(const char* order, const std::string& where) {
    return fmt::format("SELECT l.id, r.s FROM {} WHERE l.id < 100 AND {} ORDER BY l.id, r.s", order, where);
  }
  template <class Work>
  void with_many_rows(const Work& work) {
    db_.execute("INSERT INTO m SELECT 1000000 + i, i FROM generate_series(1, 3000) g(i)");
    work();
    db_.execute("DELETE FROM m WHERE k >= 1000000");
  }
};

TEST_P(GuardedOrders, AFailureCountsForRowsOfAllTables) {
  const std::string keys = "r.k = l.k AND m.k = l.k AND r.t < 50 AND ";
  expect(keys + "10 / (r.x * l.k) > 0 AND m.y = 2", {"3 e"});
  expect(keys + "m.y = 2 AND 10 / (r.x * l.k) > 0", {"3 e"});
  expect_error(keys + "10 / (r.x * l.k) > 0 AND m.y > 0");
  // Another condition that may fail excludes the rows, whatever the order of both.
  expect(keys + "10 / (m.y - l.k) > 0 AND 12 / (r.t * l.k) > 100", {});
  expect(keys + "12 / (r.t * l.k) > 100 AND 10 / (m.y - l.k) > 0", {});
  expect_error(keys + "10 / (m.y - l.k) > 0 AND 12 / (r.t * l.k) > 0");
  expect(keys + "m.y = 2 AND (m.y = l.k OR 10 / (m.y - l.k) > 0) AND r.x > 0", {"3 e"});
}

TEST_P(GuardedOrders, KeysThatFail) {
  const std::string keys = "m.k = l.k AND m.k = r.k AND r.t < 50 AND ";
  expect(keys + "12 / r.x = l.k + 4 AND m.y = 2", {"3 e"});
  expect_error(keys + "12 / r.x = l.k + 4 AND m.y = 1");
  expect(keys + "8 / l.z = r.x AND m.y = 2", {"3 e"});
  expect_error(keys + "8 / l.z = r.x AND m.y = 1");
  // A bound of a band.
  expect(keys + "r.t BETWEEN 8 / l.z AND l.t + 9 AND m.y = 2", {"3 e", "3 f"});
  expect_error(keys + "r.t BETWEEN 8 / l.z AND l.t + 9 AND m.y = 1");
}

TEST_P(GuardedOrders, TheOnlyLinkFails) {
  // r.x = 0 of k = 1 and 4 meets no row of m with y = 2.
  expect("12 / r.x = l.k + 4 AND r.k = m.k AND m.y = 2 AND r.t < 50", {"3 e"});
  expect_error("12 / r.x = l.k + 4 AND r.k = m.k AND m.y > 0 AND r.t < 50");
}

TEST_P(GuardedOrders, ConditionsOfOneTableAreCheckedForAllOfItsRows) {
  expect_error("r.k = l.k AND m.k = l.k AND m.y = 7 AND 10 / r.x > 0");
  expect_error("r.k = l.k AND m.k = l.k AND m.y = 7 AND 10 / (r.x + 0) > 0 AND l.t * r.t > m.y");
}

TEST_P(GuardedOrders, JoinsBelowOtherOperators) {
  const std::string from =
      "FROM l, r, m WHERE r.k = l.k AND m.k = l.k AND r.t < 50 AND 10 / (r.x * l.k) > 0 AND m.y = ";
  EXPECT_EQ(answer("SELECT count(*) " + from + "2"), (rows{"1"}));
  EXPECT_EQ(state("SELECT count(*) " + from + "1"), "22012");
  EXPECT_EQ(answer("SELECT l.id FROM l WHERE l.id IN (SELECT l.id " + from + "2)"), (rows{"3"}));
  EXPECT_EQ(answer("WITH c AS (SELECT l.id, r.t " + from + "2) SELECT a.id, b.t FROM c a JOIN c b ON a.id = b.id"),
            (rows{"3 3"}));
  EXPECT_EQ(answer("SELECT m.k, q.n FROM m LEFT JOIN (SELECT m.k, count(*) AS n " + from +
                   "2 GROUP BY m.k) q ON q.k = m.k ORDER BY m.k"),
            (rows{"1 -", "2 1", "5 -"}));
  EXPECT_EQ(answer("SELECT l.id, r.s " + from + "2 LIMIT 1"), (rows{"3 e"}));
}

class LimitedOrders : public guarded_tables {
 protected:
  LimitedOrders() {  // x = 0 for id 5
    db_.run_script("CREATE TABLE o AS SELECT i AS id, i AS k, i - 5 AS x FROM generate_series(1, 20000) g(i)");
    if (GetParam() == tested_path::by_index) db_.run_script("CREATE INDEX o_k ON o (k); CREATE INDEX o_x ON o (x)");
  }
};

TEST_P(LimitedOrders, TheSelectListIsEvaluatedForTheRowsOfTheResult) {
  EXPECT_EQ(answer("SELECT id, 100 / x FROM o ORDER BY k LIMIT 3"), (rows{"1 -25", "2 -33", "3 -50"}));
  EXPECT_EQ(answer("SELECT id, 100 / x, x + 1 AS y FROM o WHERE id <> 2 ORDER BY k LIMIT 2"),
            (rows{"1 -25 -3", "3 -50 -1"}));
  EXPECT_EQ(answer("SELECT id, 100 / x FROM o ORDER BY k LIMIT 2 OFFSET 6"), (rows{"7 50", "8 33"}));
  EXPECT_EQ(state("SELECT id, 100 / x FROM o ORDER BY k LIMIT 6"), "22012");
  EXPECT_EQ(state("SELECT id, 100 / x FROM o ORDER BY k LIMIT 6 OFFSET 3"), "22012");
  EXPECT_EQ(answer("SELECT id, 100 / x FROM o ORDER BY k DESC, id LIMIT 1"), (rows{"20000 0"}));
  EXPECT_EQ(answer("SELECT q.y + 1 FROM (SELECT 100 / x AS y FROM o ORDER BY k LIMIT 2) q WHERE q.y < -30"),
            (rows{"-32"}));
  EXPECT_EQ(answer("SELECT o.id, 100 / o.x FROM o JOIN l ON l.id = o.id ORDER BY o.k LIMIT 2"),
            (rows{"1 -25", "2 -33"}));
}

TEST_P(LimitedOrders, ConditionsAndSortKeysAreEvaluatedForAllRows) {
  EXPECT_EQ(state("SELECT id FROM o WHERE 100 / x < 1000 ORDER BY k LIMIT 3"), "22012");
  EXPECT_EQ(state("SELECT id FROM o WHERE id < 50 AND 100 / x < 1000 ORDER BY k LIMIT 3"), "22012");
  EXPECT_EQ(state("SELECT id FROM o ORDER BY 100 / x LIMIT 3"), "22012");
  EXPECT_EQ(state("SELECT id, 100 / x AS y FROM o ORDER BY k, y LIMIT 3"), "22012");
  EXPECT_EQ(answer("SELECT id FROM o WHERE k < 5 AND 100 / x < 1000 ORDER BY k LIMIT 3"), (rows{"1", "2", "3"}));
  EXPECT_EQ(answer("SELECT id FROM o WHERE x <> 0 AND 100 / x < 1000 ORDER BY k LIMIT 5"),
            (rows{"1", "2", "3", "4", "6"}));
  EXPECT_EQ(state("SELECT o.id FROM o JOIN l ON l.id = o.id AND 100 / (o.x + l.id * 0) < 1000 LIMIT 1"), "22012");
}

TEST_P(LimitedOrders, AnIndexStillStopsEarly) {
  if (GetParam() != tested_path::by_index) GTEST_SKIP() << "there is no index";
  for (const char* const statement : {"SELECT id, x + 1 FROM o ORDER BY k LIMIT 3",
                                      "SELECT id, 100 / x FROM o WHERE id > 2 ORDER BY k DESC LIMIT 3"}) {
    const auto plan = db_.execute(std::string("EXPLAIN ANALYZE ") + statement).plan;
    EXPECT_EQ(plan.find("Sort"), std::string::npos) << plan;
    EXPECT_NE(plan.find("using o_k on o"), std::string::npos) << plan;
    EXPECT_EQ(plan.find("rows=20000 "), std::string::npos) << plan;
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, GuardedOrders, all_tested_paths(), path_name);
INSTANTIATE_TEST_SUITE_P(Paths, LimitedOrders, all_tested_paths(), path_name);

}  // namespace
}  // namespace espalier::engine
