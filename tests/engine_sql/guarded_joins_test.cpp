// guarded_joins_test.cpp - joins evaluate an expression only for the pairs of rows that the conditions before it let
// through, whether rows are found by time, by key, by window or by an index.
#include <arrow/api.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine_sql/guarded_tables.hpp"

namespace espalier::engine {
namespace {

class GuardedJoins : public guarded_tables {
 protected:
  // LEFT JOIN LATERAL (SELECT `values` FROM r WHERE `conditions`) q.
  static std::string lateral(const std::string& values, const std::string& conditions, const char* join = "LEFT JOIN") {
    return fmt::format(
        "SELECT l.id, q.* FROM l {} LATERAL (SELECT {} FROM r WHERE {}) q ON true WHERE l.id < 100 ORDER BY l.id", join,
        values, conditions);
  }
};

constexpr const char* nearest_before = "r.k = l.k AND r.t <= l.t AND r.x <> 0 ORDER BY r.t DESC LIMIT 1";

TEST_P(GuardedJoins, NearestRowsAloneAreSelectedFrom) {
  EXPECT_EQ(answer(lateral("10 / r.x AS v", nearest_before)), (rows{"1 2", "2 -", "3 5", "4 -", "5 -"}));
  EXPECT_EQ(answer(lateral("10 / r.x AS v", nearest_before, "JOIN")), (rows{"1 2", "3 5"}));
  // r.x = 0 is the nearest row: an error, as with pairs.
  EXPECT_EQ(state(lateral("10 / r.x AS v", "r.k = l.k AND r.t <= l.t ORDER BY r.t DESC LIMIT 1")), "22012");
  EXPECT_EQ(state(lateral("10 / r.x AS v", "r.k = l.k AND r.t <= l.t ORDER BY r.t DESC LIMIT 2")), "22012");
  // It is later than every left row.
  EXPECT_EQ(answer("SELECT l.id, (SELECT 10 / r.x FROM r WHERE r.k = l.k AND r.t <= l.t ORDER BY r.t DESC LIMIT 1) "
                   "FROM l WHERE l.k = 2"),
            (rows{"3 -"}));
}

TEST_P(GuardedJoins, WithoutANearestRowEverythingSelectedIsNull) {
  EXPECT_EQ(answer(lateral("7 AS c, coalesce(r.x, 7) AS v, r.s || '!' AS w, r.x IS NULL AS n, r.x AS again, r.x",
                           nearest_before)),
            (rows{"1 7 5 b! false 5 5", "2 - - - - - -", "3 7 2 e! false 2 2", "4 - - - - - -", "5 - - - - - -"}));
  // A nearest row that is too far away is none.
  const std::string near =
      "r.k = l.k AND r.t <= l.t AND r.t >= l.t - 2 AND coalesce(r.x, 1) <> 0 ORDER BY r.t DESC LIMIT 1";
  EXPECT_EQ(answer(lateral("7 AS c, 10 / r.x AS v", near)), (rows{"1 7 2", "2 - -", "3 - -", "4 - -", "5 - -"}));
  // A found row with NULL is not a missing one.
  EXPECT_EQ(answer(lateral("coalesce(r.x, 7) AS v, r.x", "r.k = l.k AND r.t <= l.t ORDER BY r.t DESC LIMIT 1")),
            (rows{"1 0 0", "2 - -", "3 7 -", "4 - -", "5 - -"}));
}

TEST_P(GuardedJoins, TheBoundOfTheNearestRowIsGuarded) {
  // l.z = 0: no row of this k, and one without.
  EXPECT_EQ(answer("SELECT l.id, q.t FROM l LEFT JOIN LATERAL (SELECT t FROM r WHERE r.k = l.k AND r.t <= 20 / l.z "
                   "ORDER BY r.t DESC LIMIT 1) q ON true WHERE l.id IN (1, 3, 4) ORDER BY l.id"),
            (rows{"1 8", "3 5", "4 -"}));
  EXPECT_EQ(state(lateral("t", "r.k = l.k AND r.t <= 20 / l.z ORDER BY r.t DESC LIMIT 1")), "22012");
  // The tolerance guards the bound: row 2 has r.t >= 2, so none of its pairs passes r.t < 1.
  const std::string guarded = "r.k = l.k AND r.t < {} AND r.t >= l.t / l.z ORDER BY r.t LIMIT 1";
  EXPECT_EQ(answer(lateral("t", fmt::format(fmt::runtime(guarded), "l.t + 1"))),
            (rows{"1 2", "2 -", "3 3", "4 -", "5 -"}));
  EXPECT_EQ(state(lateral("t", fmt::format(fmt::runtime(guarded), "l.t + 2"))), "22012");
}

TEST_P(GuardedJoins, TheOrderOfTheNearestRowIsGuarded) {
  // 10 / r.x of k = 4 is not reached, that of k = 1 is.
  const std::string order = "r.k = l.k {} AND 10 / r.x <= l.t ORDER BY 10 / r.x DESC LIMIT 1";
  EXPECT_EQ(answer(lateral("r.x", fmt::format(fmt::runtime(order), "AND r.t BETWEEN l.k AND 3 AND r.k > 1"))),
            (rows{"1 -", "2 -", "3 2", "4 -", "5 -"}));
  EXPECT_EQ(answer(lateral("r.x", fmt::format(fmt::runtime(order), "AND r.x <> 0"))),
            (rows{"1 5", "2 -", "3 2", "4 -", "5 -"}));
  EXPECT_EQ(state(lateral("r.x", fmt::format(fmt::runtime(order), ""))), "22012");
}

TEST_P(GuardedJoins, KeysOfTheNearestRowAreGuarded) {
  EXPECT_EQ(
      answer(lateral("r.t", "r.k = l.k AND r.k = 2 AND 10 / r.x = 3 + l.k AND r.t <= l.t ORDER BY r.t DESC LIMIT 1")),
      (rows{"1 -", "2 -", "3 3", "4 -", "5 -"}));
  EXPECT_EQ(state(lateral("r.t", "r.k = l.k AND 10 / r.x = 3 + l.k AND r.t <= l.t ORDER BY r.t DESC LIMIT 1")),
            "22012");
}

TEST_P(GuardedJoins, ParametersOfTheNearestRow) {
  auto statement = db_.prepare(
      "SELECT count(q.v), sum(q.v) FROM l LEFT JOIN LATERAL (SELECT $2::integer / r.x AS v FROM r WHERE r.k = l.k AND "
      "r.t <= l.t AND r.x <> $1::integer ORDER BY r.t DESC LIMIT 1) q ON true");
  const auto parameters =
      arrow::Table::Make(arrow::schema({arrow::field("a", arrow::int32()), arrow::field("b", arrow::int32())}),
                         {arrow::MakeArrayFromScalar(arrow::Int32Scalar(0), 1).ValueOrDie(),
                          arrow::MakeArrayFromScalar(arrow::Int32Scalar(20), 1).ValueOrDie()});
  const auto found = statement.execute(*parameters).rows;
  EXPECT_EQ(found->column(1)->GetScalar(0).ValueOrDie()->ToString(), "2");
  EXPECT_EQ(found->column(2)->GetScalar(0).ValueOrDie()->ToString(), "14");
}

TEST_P(GuardedJoins, SelectedExpressionsOfLateralSubqueries) {
  const auto statement = [](const std::string& inner, const char* join = "LEFT JOIN") {
    return fmt::format(
        "SELECT l.id, q.v FROM l {} LATERAL (SELECT 10 / r.x AS v FROM r WHERE {}) q ON true WHERE l.id < "
        "100 ORDER BY l.id, v",
        join, inner);
  };
  const rows all{"1 2", "2 -", "3 5", "4 -", "5 -"}, matched{"1 2", "3 5"};
  for (const char* const limit : {"", " ORDER BY r.t DESC LIMIT 2", " ORDER BY r.t DESC, r.s LIMIT 1"}) {
    EXPECT_EQ(answer(statement(fmt::format("r.k = l.k AND r.t <= l.t AND r.x <> l.z * 0{}", limit))), all) << limit;
    EXPECT_EQ(answer(statement(fmt::format("r.k = l.k AND r.t <= l.t AND r.x <> 0{}", limit), "JOIN")), matched)
        << limit;
  }
  // By key alone; rows of k = 4 meet none.
  EXPECT_EQ(answer(statement("r.k = l.k AND r.k <> 1 AND r.t < 50 AND r.x > -1 ORDER BY r.t LIMIT 3")),
            (rows{"1 -", "2 -", "3 5", "4 -", "5 -"}));
  EXPECT_EQ(answer(statement("r.k = l.k AND r.k <> 1 AND r.t < 50 AND r.t > -100 ORDER BY 10 / r.x, r.t LIMIT 3")),
            (rows{"1 -", "2 -", "3 5", "3 -", "4 -", "5 -"}));
  EXPECT_EQ(state(statement("r.k = l.k AND r.t < 50 ORDER BY 10 / r.x LIMIT 3")), "22012");
  EXPECT_EQ(answer("SELECT l.id, q.v FROM l LEFT JOIN LATERAL (SELECT 10 / r.x AS v, r.t, coalesce(r.x, 7) AS c FROM r "
                   "WHERE r.k = l.k AND r.t = 3) q ON q.t < l.t AND q.c > 0 WHERE l.id < 100 ORDER BY l.id"),
            (rows{"1 2", "2 -", "3 5", "4 -", "5 -"}));
}

TEST_P(GuardedJoins, ArgumentsOfCorrelatedAggregates) {
  EXPECT_EQ(
      answer("SELECT l.id, (SELECT sum(10 / r.x) FROM r WHERE r.k = l.k) FROM l WHERE l.k > 2 OR l.k IS NULL ORDER "
             "BY l.id LIMIT 2"),
      (rows{"4 -", "5 -"}));
  EXPECT_EQ(state("SELECT l.id, (SELECT sum(10 / r.x) FROM r WHERE r.k = l.k) FROM l"), "22012");
  EXPECT_EQ(
      answer("SELECT l.id, (SELECT sum(10 / r.x) FROM r WHERE r.k = l.k AND l.id > 3) FROM l WHERE l.id < 100 ORDER "
             "BY l.id"),
      (rows{"1 -", "2 -", "3 -", "4 -", "5 -"}));
  EXPECT_EQ(
      answer("SELECT l.id, (SELECT sum(10 / r.x) FROM r WHERE r.k = l.k AND r.t < l.t - 4) FROM l WHERE l.id < 100 "
             "ORDER BY l.id"),
      (rows{"1 -", "2 -", "3 5", "4 -", "5 -"}));
  EXPECT_EQ(answer("SELECT l.id, (SELECT max(r.s) FROM r WHERE r.k = l.k AND r.t > 2 AND 10 / r.x = 3 + l.k) FROM l "
                   "WHERE l.k = 2 AND l.t > 90 OR l.k = 3"),
            (rows{"4 -"}));
}

TEST_P(GuardedJoins, ExistenceAndMembership) {
  EXPECT_EQ(
      answer("SELECT l.id FROM l WHERE l.id < 100 AND EXISTS (SELECT 10 / r.x FROM r WHERE r.k = l.k) ORDER BY l.id"),
      (rows{"1", "2", "3"}));
  EXPECT_EQ(answer("SELECT l.id FROM l WHERE l.k > 1 AND l.id < 100 AND EXISTS (SELECT 1 FROM r WHERE r.k = l.k AND "
                   "r.t < l.t AND "
                   "10 / r.x = 3 + l.k) ORDER BY l.id"),
            (rows{"3"}));
  EXPECT_EQ(answer("SELECT l.id FROM l WHERE l.k > 1 AND l.id < 100 AND l.k + 3 IN (SELECT 10 / r.x FROM r WHERE r.k = "
                   "l.k AND r.t < "
                   "l.t) ORDER BY l.id"),
            (rows{"3"}));
  EXPECT_EQ(answer("SELECT l.id FROM l WHERE l.k > 2 AND l.id < 100 AND l.k + 3 NOT IN (SELECT 10 / r.x FROM r WHERE "
                   "r.k = l.k) ORDER "
                   "BY l.id"),
            (rows{"4"}));
  EXPECT_EQ(state("SELECT l.id FROM l WHERE l.k + 3 NOT IN (SELECT 10 / r.x FROM r WHERE r.k = l.k)"), "22012");
  EXPECT_EQ(answer("SELECT l.id FROM l WHERE l.k > 1 AND l.id < 100 AND l.k IN (SELECT max(10 / r.x) - 3 FROM r WHERE "
                   "r.k = l.k AND r.t "
                   "< 50 GROUP BY r.k) ORDER BY l.id"),
            (rows{"3"}));
}

TEST_P(GuardedJoins, KeysAndBoundsOfWindows) {
  const auto statement = [](const std::string& conditions) {
    return fmt::format("SELECT l.id, (SELECT count(*) FROM r WHERE {}) FROM l WHERE l.id < 100 ORDER BY l.id",
                       conditions);
  };
  EXPECT_EQ(
      answer(statement("r.k = l.k AND r.k > 1 AND r.t < 50 AND r.t BETWEEN l.t - 9 AND l.t AND 10 / r.x = 3 + l.k")),
      (rows{"1 0", "2 0", "3 1", "4 0", "5 0"}));
  EXPECT_EQ(state(statement("r.k = l.k AND r.t BETWEEN l.t - 9 AND l.t AND 10 / r.x = 3 + l.k")), "22012");
  EXPECT_EQ(answer(statement("r.k = l.k AND r.t > l.t * 10 AND r.t < 200 / l.z AND l.k > 1")),
            (rows{"1 0", "2 0", "3 0", "4 0", "5 0"}));
  EXPECT_EQ(state(statement("r.k = l.k AND r.t > l.t AND r.t < 20 / l.z")), "22012");
}

TEST_P(GuardedJoins, KeysOfJoins) {
  const auto statement = [](const char* join, const std::string& on) {
    return fmt::format(
        "SELECT l.id, r.s FROM l {} r ON {} WHERE l.id < 100 AND (l.k > 1 OR l.k IS NULL) ORDER BY l.id, r.s", join,
        on);
  };
  // Rows of k = 4, and those later than 50, meet none.
  const std::string guarded = "r.k = l.k AND r.t < l.t * 2 AND 10 / r.x = 3 + l.k";
  EXPECT_EQ(answer(statement("JOIN", guarded)), (rows{"3 e"}));
  EXPECT_EQ(answer(statement("LEFT JOIN", guarded)), (rows{"3 e", "4 -", "5 -"}));
  EXPECT_EQ(state(statement("JOIN", "r.k = l.k AND 10 / r.x = 3 + l.k")), "22012");
  EXPECT_EQ(state(statement("LEFT JOIN", "r.k = l.k AND r.t < l.t * 20 AND 10 / r.x = 3 + l.k")), "22012");
  // Of the left side: l.z = 0 has no row of its k.
  EXPECT_EQ(answer(statement("LEFT JOIN", "r.k = l.k AND r.x = 8 / l.z")), (rows{"3 e", "4 -", "5 -"}));
  EXPECT_EQ(answer(statement("JOIN", "r.k = l.k AND r.t BETWEEN 8 / l.z AND l.t")), (rows{"3 e", "3 f"}));
  EXPECT_EQ(state("SELECT l.id, r.s FROM l JOIN r ON r.k = l.k AND r.x = 8 / l.z WHERE l.id < 100"), "22012");
  EXPECT_EQ(state("SELECT l.id, r.s FROM l JOIN r ON r.k = l.k AND r.t BETWEEN 8 / l.z AND l.t + 4 WHERE l.id < 100"),
            "22012");
  EXPECT_EQ(answer("SELECT count(*) FROM l JOIN r ON r.k = l.k AND r.t < l.t * 2 AND 10 / r.x = 3 + l.k WHERE l.k > 1"),
            (rows{"1"}));
}

TEST_P(GuardedJoins, ConditionsOfOneTableAreCheckedForAllOfItsRows) {
  // A lookup of r.t = 3 would find no row with x = 0.
  for (const char* const join : {"JOIN", "LEFT JOIN"}) {
    const auto statement = [&](const char* condition) {
      return fmt::format("SELECT l.id, r.s FROM l {} r ON r.t = l.id + 2 AND {} WHERE l.id = 1 ORDER BY r.s", join,
                         condition);
    };
    EXPECT_EQ(state(statement("10 / r.x > 1")), "22012") << join;
    EXPECT_EQ(answer(statement("r.x <> 0 AND 10 / r.x > 1")), (rows{"1 b", "1 e"})) << join;
    EXPECT_EQ(answer(statement("coalesce(r.x, 1) <> 0")), (rows{"1 b", "1 e"})) << join;
  }
  EXPECT_EQ(
      state("SELECT l.id FROM l WHERE l.id = 1 AND EXISTS (SELECT 1 FROM r WHERE r.t = l.id + 2 AND 10 / r.x > 1)"),
      "22012");
}

TEST_P(GuardedJoins, ALookupDoesNotCheckOtherPairs) {
  // The pairs of k = 1 with x = 0 have another r.t; a lookup of r.k alone would find them first.
  EXPECT_EQ(answer("SELECT l.id, r.s FROM l JOIN r ON l.t / r.x < 100 AND 6 / l.z = r.t + 0 AND r.k = l.k "
                   "WHERE l.id IN (1, 3, 5)"),
            (rows{"1 b"}));
  EXPECT_EQ(state("SELECT l.id, r.s FROM l JOIN r ON l.t / r.x < 100 AND 8 / l.z = r.t + 0 AND r.k = l.k "
                  "WHERE l.id IN (1, 3, 5)"),
            "22012");
}

// Of the large tables there are 6 * 10^9 pairs.
TEST_P(GuardedJoins, GuardsDoNotMakeAllPairs) {
  EXPECT_EQ(answer("SELECT count(r.s) FROM l LEFT JOIN r ON l.z <> 0 AND 10 / l.z = r.x"), (rows{"2"}));
  EXPECT_EQ(answer("SELECT count(r.s) FROM l LEFT JOIN r ON r.x <> 0 AND l.z > 0 AND 10 / l.z = 10 / r.x"),
            (rows{"2"}));
  // No pair passes: rows with equal values are checked once.
  EXPECT_EQ(answer("SELECT count(r.s) FROM l LEFT JOIN r ON (l.z = 7 OR r.x = 7 OR l.z = r.x AND r.s = 'q') AND "
                   "10 / r.x = l.z + 1"),
            (rows{"0"}));
  const std::string band = "r.t BETWEEN l.t AND l.t + 50 AND r.k > l.k - {} AND 10 / l.z = r.x + 5";
  EXPECT_EQ(answer("SELECT l.id, r.s FROM l JOIN r ON " + fmt::format(fmt::runtime(band), 10) + " WHERE l.id <> 2"),
            (rows{"1 d"}));
  EXPECT_EQ(state("SELECT l.id, r.s FROM l JOIN r ON " + fmt::format(fmt::runtime(band), 10)), "22012");
  EXPECT_EQ(answer("SELECT l.id, r.s FROM l JOIN r ON r.t > l.t AND r.k = l.k AND 10 / l.z = r.x + 5 WHERE l.id <> 2"),
            (rows{"1 d"}));
}

TEST_P(GuardedJoins, DivisorsOfZeroInKeys) {
  for (const char* const key : {"8 - 10 / r.x", "coalesce(8 - 10 / r.x, 0)",
                                "8 - 10::numeric(4, 0) / r.x::numeric(4, 0)", "8 - 10 % r.x - 5"}) {
    const auto statement = [&](const char* guard) {
      return fmt::format("SELECT l.id, r.s FROM l JOIN r ON r.k = l.k AND {}{} = l.id", guard, key);
    };
    EXPECT_EQ(answer(statement("r.x <> l.k * 0 AND ")), (rows{"3 e"})) << key;
    EXPECT_EQ(state(statement("")), "22012") << key;
  }
}

INSTANTIATE_TEST_SUITE_P(Paths, GuardedJoins, all_tested_paths(), path_name);

}  // namespace
}  // namespace espalier::engine
