// join_bench_test.cpp - `espalier bench joins` from outside: a row for each order of the sides, and its errors.
#include <gtest/gtest.h>

#include <string>

#include "cli/cli_fixture.hpp"

namespace espalier::cli_test {
namespace {

class join_bench : public cli {};

TEST_F(join_bench, has_a_row_for_each_join_and_order) {
  const json result = bench("joins", "--keys 3000 --left 1000,2000 --threads 2");
  ASSERT_EQ(result["rows"].size(), 16u) << result.dump(1);
  for (const auto& row : result["rows"]) {
    EXPECT_EQ(row["index"], "join");
    EXPECT_TRUE(row["op"] == "asof" || row["op"] == "window");
    EXPECT_EQ(row["keys"], 3000);
    EXPECT_EQ(row["location"], "host");
    EXPECT_GT(row["rate"].get<double>(), 0);
  }
}

TEST_F(join_bench, bad_arguments_get_one_sentence_and_exit_code_2) {
  const std::string small = "bench joins --device cpu --keys 10 ";
  expect_refused(small + "--joins hash", "asof,window");
  expect_refused(small + "--orders upwards", "sorted,random");
  expect_refused(small + "--places disk", "device,host");
  expect_refused(small + "--left 0", "2^32 - 1");
  expect_refused(small + "--left few", "--left");
}

}  // namespace
}  // namespace espalier::cli_test
