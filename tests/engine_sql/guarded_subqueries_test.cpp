// guarded_subqueries_test.cpp - a subquery in a branch of CASE, or behind AND, OR and COALESCE, fails for the rows only
// that reach it. As in PostgreSQL, NULLIF evaluates both of its arguments.
#include <fmt/format.h>

#include "engine_sql/guarded_tables.hpp"

namespace espalier::engine {
namespace {

constexpr const char* greatest_quotient = "(SELECT max(12 / r.x) FROM r WHERE r.k = l.k)";  // fails for k = 1 and k = 2

class GuardedSubqueries : public guarded_tables {
 protected:
  static std::string of_rows(const std::string& value) {
    return fmt::format("SELECT l.id, {} FROM l WHERE l.id < 100 ORDER BY l.id", value);
  }
  static std::string where(const std::string& condition) {
    return fmt::format("SELECT l.id FROM l WHERE l.id < 100 AND {} ORDER BY l.id", condition);
  }
  static std::string with(const std::string& text, const std::string& subquery = greatest_quotient) {
    return fmt::format(fmt::runtime(text), subquery);
  }
  const rows nothing{"1 -", "2 -", "3 -", "4 -", "5 -"};
};

TEST_P(GuardedSubqueries, BranchesOfCase) {
  EXPECT_EQ(answer(of_rows(with("CASE WHEN l.k = 9 THEN {} END"))), nothing);
  EXPECT_EQ(answer(of_rows(with("CASE WHEN l.k = 3 THEN {} END"))), nothing);
  EXPECT_EQ(answer(of_rows(with("CASE l.k WHEN 3 THEN {} END"))), nothing);
  EXPECT_EQ(answer(of_rows(with("CASE WHEN l.k < 3 THEN 7 ELSE {} END"))), (rows{"1 7", "2 7", "3 7", "4 -", "5 -"}));
  EXPECT_EQ(answer(of_rows(with("CASE WHEN l.k < 3 THEN 7 WHEN {} IS NULL THEN 8 END"))),
            (rows{"1 7", "2 7", "3 7", "4 8", "5 8"}));
  EXPECT_EQ(answer(of_rows(
                with("CASE WHEN l.k = 2 THEN {} END", "(SELECT max(12 / r.x) FROM r WHERE r.k = l.k AND r.t < 50)"))),
            (rows{"1 -", "2 -", "3 6", "4 -", "5 -"}));
  EXPECT_EQ(state(of_rows(with("CASE WHEN l.k = 1 THEN {} END"))), "22012");
  EXPECT_EQ(state(of_rows(with("CASE WHEN l.k = 3 THEN 7 ELSE {} END"))), "22012");
  EXPECT_EQ(state(of_rows(with("CASE WHEN {} > 0 THEN 1 END"))), "22012");
}

TEST_P(GuardedSubqueries, AndOrCoalesceAndNullif) {
  EXPECT_EQ(answer(where(with("(l.k < 3 OR {} > 0)"))), (rows{"1", "2", "3"}));
  EXPECT_EQ(answer(where(with("NOT (l.k >= 3 AND {} IS NULL)"))), (rows{"1", "2", "3"}));
  EXPECT_EQ(answer(of_rows(with("l.k = 3 AND {} > 0"))), (rows{"1 false", "2 false", "3 false", "4 -", "5 -"}));
  EXPECT_EQ(answer(of_rows(with("coalesce(l.k - 3, {})"))), (rows{"1 -2", "2 -2", "3 -1", "4 0", "5 -"}));
  EXPECT_EQ(answer(of_rows(with("l.k BETWEEN 3 AND {}"))), (rows{"1 false", "2 false", "3 false", "4 -", "5 -"}));
  EXPECT_EQ(state(where(with("({} > 0 OR l.k < 3)"))), "22012");
  EXPECT_EQ(state(of_rows(with("coalesce({}, l.k)"))), "22012");
  EXPECT_EQ(state(of_rows(with("nullif(1, {})"))), "22012");
  EXPECT_EQ(state(of_rows(with("greatest(1, {})"))), "22012");
}

TEST_P(GuardedSubqueries, NestedConditions) {
  EXPECT_EQ(answer(of_rows(with("CASE WHEN l.z > 0 THEN CASE WHEN l.k = 9 THEN {} ELSE 1 END END"))),
            (rows{"1 1", "2 -", "3 1", "4 -", "5 1"}));
  // The condition may fail, too: 8 / l.z is 1 for no row but the last.
  EXPECT_EQ(answer(of_rows(with("CASE WHEN l.z <> 0 THEN CASE WHEN 8 / l.z = 8 THEN {} ELSE 0 END END"))),
            (rows{"1 0", "2 -", "3 0", "4 -", "5 -"}));
  EXPECT_EQ(state(of_rows(with("CASE WHEN 8 / l.z = 8 THEN {} ELSE 0 END"))), "22012");
  EXPECT_EQ(answer(of_rows(with("CASE WHEN (SELECT count(*) FROM r WHERE r.k = l.k) = 0 THEN {} ELSE 5 END"))),
            (rows{"1 5", "2 5", "3 5", "4 -", "5 -"}));
  EXPECT_EQ(answer(of_rows(with("CASE WHEN l.k > (SELECT max(k) + 1 FROM l WHERE id < 3) THEN {} ELSE 5 END"))),
            (rows{"1 5", "2 5", "3 5", "4 -", "5 5"}));
  EXPECT_EQ(answer(of_rows(with("CASE WHEN row_number() OVER (ORDER BY l.id) = 4 THEN {} END"))), nothing);
  EXPECT_EQ(answer(with("SELECT sum(CASE WHEN l.k = 9 THEN {} ELSE 1 END) FROM l WHERE l.id < 100")), (rows{"5"}));
  EXPECT_EQ(answer(with("SELECT l.k, count(*) FROM l WHERE l.id < 100 GROUP BY l.k HAVING l.k < 3 OR {} > 0 "
                        "ORDER BY l.k")),
            (rows{"1 2", "2 1"}));
  // A subquery of a subquery: r.x = 0 is not reached for k = 3.
  EXPECT_EQ(answer(of_rows("CASE WHEN l.k = 3 THEN (SELECT max((SELECT sum(10 / q.x) FROM r q WHERE q.k = r.k)) "
                           "FROM r WHERE r.k = l.k) END")),
            nothing);
}

TEST_P(GuardedSubqueries, EarlierSubqueriesOfWhere) {
  const std::string none = "(SELECT count(*) FROM r WHERE r.k = l.k) = 0";
  EXPECT_EQ(answer(where(with(none + " AND {} IS NULL"))), (rows{"4", "5"}));
  EXPECT_EQ(state(where(with("{} IS NULL AND " + none))), "22012");
}

TEST_P(GuardedSubqueries, MembershipAndExistence) {
  EXPECT_EQ(answer(of_rows("CASE WHEN l.k = 3 THEN l.k IN (SELECT 12 / r.x FROM r WHERE r.k = l.k) END")),
            (rows{"1 -", "2 -", "3 -", "4 false", "5 -"}));
  EXPECT_EQ(answer(where("(l.k < 3 OR l.k NOT IN (SELECT 12 / r.x FROM r WHERE r.k = l.k))")),
            (rows{"1", "2", "3", "4", "5"}));
  EXPECT_EQ(state(where("(l.k > 3 OR l.k NOT IN (SELECT 12 / r.x FROM r WHERE r.k = l.k))")), "22012");
  EXPECT_EQ(answer(where("(l.k < 3 OR l.k IN (SELECT 12 / r.x FROM r WHERE r.k = l.k AND r.t < l.t))")),
            (rows{"1", "2", "3"}));
  // The value on the left.
  EXPECT_EQ(answer(of_rows("CASE WHEN l.z <> 0 THEN 8 / l.z IN (SELECT r.x FROM r WHERE r.k = l.k) END")),
            (rows{"1 false", "2 -", "3 true", "4 -", "5 false"}));
  EXPECT_EQ(state(of_rows("8 / l.z IN (SELECT r.x FROM r WHERE r.k = l.k)")), "22012");
  EXPECT_EQ(answer(where("(l.k < 3 OR EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND 10 / r.x = 3 + l.k))")),
            (rows{"1", "2", "3"}));
  EXPECT_EQ(answer(where("(l.k < 4 OR l.k IS NULL OR EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND 10 / r.x > 1))")),
            (rows{"1", "2", "3", "4", "5"}));
}

TEST_P(GuardedSubqueries, OtherJoins) {
  const std::string of_window = "(SELECT sum(12 / r.x) FROM r WHERE r.k = l.k AND r.t BETWEEN l.t - 9 AND l.t)";
  EXPECT_EQ(answer(of_rows(with("CASE WHEN l.k = 2 THEN {} END", of_window))),
            (rows{"1 -", "2 -", "3 6", "4 -", "5 -"}));
  EXPECT_EQ(state(of_rows(with("CASE WHEN l.k = 1 THEN {} END", of_window))), "22012");
  const std::string nearest = "(SELECT 12 / r.x FROM r WHERE r.k = l.k AND r.t <= l.t - 5 ORDER BY r.t DESC LIMIT 1)";
  EXPECT_EQ(answer(of_rows(with("CASE WHEN l.k = 2 THEN {} END", nearest))), (rows{"1 -", "2 -", "3 6", "4 -", "5 -"}));
  EXPECT_EQ(state(of_rows(with("CASE WHEN l.k = 1 THEN {} END",
                               "(SELECT 12 / r.x FROM r WHERE r.k = l.k AND r.t <= l.t ORDER BY r.t DESC LIMIT 1)"))),
            "22012");
  // By no key, and with outer columns in the argument.
  EXPECT_EQ(answer(of_rows(with("CASE WHEN l.k = 9 THEN {} END", "(SELECT max(12 / r.x) FROM r WHERE r.t < l.t)"))),
            nothing);
  EXPECT_EQ(answer(of_rows(with("CASE WHEN l.k = 9 THEN {} END", "(SELECT max(12 / r.x) FROM r WHERE l.t > 0)"))),
            nothing);
  EXPECT_EQ(answer(of_rows(with("CASE WHEN l.z <> 0 THEN {} END", "(SELECT sum(r.t / l.z) FROM r WHERE r.k = l.k)"))),
            (rows{"1 8", "2 -", "3 25", "4 -", "5 -"}));
  // Several rows for k = 1.
  EXPECT_EQ(answer(of_rows(with("CASE WHEN l.k <> 1 THEN {} END", "(SELECT r.s FROM r WHERE r.k = l.k AND r.t < 4)"))),
            (rows{"1 -", "2 -", "3 e", "4 -", "5 -"}));
}

TEST_P(GuardedSubqueries, WithoutOuterColumns) {
  const std::string all = "(SELECT max(12 / r.x) FROM r)";
  EXPECT_EQ(answer(of_rows(with("CASE WHEN l.k = 9 THEN {} END", all))), nothing);
  EXPECT_EQ(answer(of_rows(with("coalesce(l.id, {})", all))), (rows{"1 1", "2 2", "3 3", "4 4", "5 5"}));
  EXPECT_EQ(answer(where(with("(l.id > 0 OR {} > 0)", all))), (rows{"1", "2", "3", "4", "5"}));
  EXPECT_EQ(answer(with("SELECT {} FROM l WHERE l.id < 0", all)), rows{});
  EXPECT_EQ(state(of_rows(with("{}", all))), "22012");
  EXPECT_EQ(state(of_rows(with("CASE WHEN l.k = 3 THEN {} END", all))), "22012");
  EXPECT_EQ(answer(where("(l.k IS NULL OR l.k < 4 OR l.k IN (SELECT 12 / r.x FROM r))")),
            (rows{"1", "2", "3", "4", "5"}));
  EXPECT_EQ(state(where("(l.k < 3 OR l.k IN (SELECT 12 / r.x FROM r))")), "22012");
  EXPECT_EQ(answer(where("(l.id > 0 OR EXISTS (SELECT 1 FROM r WHERE 12 / r.x > 100))")),
            (rows{"1", "2", "3", "4", "5"}));
  EXPECT_EQ(answer(of_rows("CASE WHEN l.k = 9 THEN (SELECT r.x FROM r) END")), nothing);
  EXPECT_EQ(state(of_rows("CASE WHEN l.k = 3 THEN (SELECT r.x FROM r) END")), "21000");
}

TEST_P(GuardedSubqueries, Changes) {
  db_.execute(with("UPDATE l SET z = CASE WHEN k = 9 THEN {} ELSE z + 1 END WHERE id < 100"));
  EXPECT_EQ(answer("SELECT id, z FROM l WHERE id < 100 ORDER BY id"), (rows{"1 3", "2 1", "3 5", "4 1", "5 2"}));
  db_.execute(with("DELETE FROM l WHERE id < 100 AND (k IS NULL OR k < 3 OR {} > 0)"));
  EXPECT_EQ(answer("SELECT id FROM l WHERE id < 100"), (rows{"4"}));
}

INSTANTIATE_TEST_SUITE_P(Paths, GuardedSubqueries, all_tested_paths(), path_name);

}  // namespace
}  // namespace espalier::engine
