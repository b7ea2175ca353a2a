// distribution_matrix_test.cpp - `espalier bench blink --batch-distribution` from outside: every distribution,
// path and operation on small trees, whose answers are checked there, and the one table of all.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "cli/cli_fixture.hpp"

namespace espalier::cli_test {
namespace {

const std::string all_distributions =
    "append-sorted,append-shuffled,cluster,clusters-1024,zipf,ascending,descending,random";

class matrix_bench : public cli {
 protected:
  static json matrix(const std::string& arguments) { return bench("blink", "--batch-distribution " + arguments); }
};

TEST_F(matrix_bench, every_cell_is_measured_and_checked) {
  const json j =
      matrix(all_distributions + " --keys 0,300,20000 --batch 1,1500,9000 --key-type u32,u64 --threads 2 --peers none");
  EXPECT_EQ(j["rows"].size(), 8u * 3 * 3 * 2 * 3 * 2);
  std::set<std::string> lying, paths, ops;
  for (const auto& row : j["rows"]) {
    EXPECT_EQ(row["index"], "blink");
    EXPECT_EQ(row["distribution"], row["batch_distribution"]);
    EXPECT_GT(row["rate"].get<double>(), 0) << row.dump(1);
    EXPECT_EQ(row.contains("of_better_path"), row["path"] == "automatic");
    EXPECT_NE(row["chosen"], "automatic");
    lying.insert(row["batch_distribution"].get<std::string>());
    paths.insert(row["path"].get<std::string>());
    ops.insert(row["op"].get<std::string>());
  }
  EXPECT_EQ(lying.size(), 8u);
  EXPECT_EQ(paths, (std::set<std::string>{"per-key", "bulk", "automatic"}));
  EXPECT_EQ(ops, (std::set<std::string>{"insert", "erase"}));
}

TEST_F(matrix_bench, paths_are_compared_with_the_better_one) {
  const json j = matrix("random --keys 5000 --batch 3000 --ops insert --peers none");
  ASSERT_EQ(j["rows"].size(), 3u);
  double better = 0, automatic = 0, share = 0;
  for (const auto& row : j["rows"]) {
    if (row["path"] == "automatic") {
      automatic = row["rate"].get<double>();
      share = row["of_better_path"].get<double>();
    } else {
      better = std::max(better, row["rate"].get<double>());
    }
  }
  EXPECT_NEAR(share, automatic / better, 1e-9);
}

TEST_F(matrix_bench, sets_and_other_shapes_work) {
  EXPECT_EQ(matrix("cluster,zipf --keys 2000 --batch 500 --value-type none")["rows"].size(), 2u * 2 * 3);
  const json j = matrix("append-sorted --keys 2000 --batch 500 --policy couple --path per-key --peers none");
  ASSERT_EQ(j["rows"].size(), 2u);
  EXPECT_EQ(j["rows"][0]["policy"], "couple");
}

TEST_F(matrix_bench, maps_insert_beside_it) {
  const json j = matrix(all_distributions + " --keys 4000 --batch 1000 --threads 1 --peers absl-btree,std-map");
  for (const auto& row : j["rows"]) {
    for (const char* peer : {"absl-btree", "std-map"}) {
      EXPECT_EQ(row["ratio"].contains(peer), row["op"] == "insert") << row.dump(1);
    }
  }
  const json unnamed = matrix("append-sorted --keys 100 --batch 100 --ops insert");
  EXPECT_TRUE(unnamed["rows"][0]["ratio"].contains("absl-btree"));
  EXPECT_FALSE(unnamed["rows"][0]["ratio"].contains("std-map"));
}

TEST_F(matrix_bench, the_table_has_one_line_for_each_batch_and_closes_with_extremes) {
  const std::string arguments =
      "bench blink --device cpu --repeat 1 --threads 1 --batch-distribution append-sorted,random --keys 0,4096 "
      "--batch 100,1024 ";
  const outcome r = run(arguments);
  ASSERT_EQ(r.code, 0) << r.err;
  std::istringstream lines(r.out);
  std::string line;
  std::size_t cells = 0, extremes = 0, shares = 0;
  while (std::getline(lines, line)) {
    if (line.starts_with("insert  ") || line.starts_with("erase   ")) ++cells;
    if (line.find(": worst ") == std::string::npos) continue;
    if (line.find("better path") != std::string::npos) {
      ++shares;
    } else {
      ++extremes;
      EXPECT_NE(line.find("2^10 into"), std::string::npos) << "of the largest batches: " << line;
    }
  }
  EXPECT_EQ(cells, 2u * 2 * 2 * 2) << r.out;
  EXPECT_EQ(extremes, 2u) << "one for each operation\n" << r.out;
  EXPECT_EQ(shares, 2u) << r.out;
  for (const char* word : {"per-key M/s", "bulk M/s", "automatic M/s", "automatic / better", "automatic us",
                           "vs absl-btree", "append-sorted", "empty", "2^12"}) {
    EXPECT_NE(r.out.find(word), std::string::npos) << word << '\n' << r.out;
  }
}

TEST_F(matrix_bench, a_file_gets_the_rows_and_the_user_the_table) {
  const auto file = std::filesystem::temp_directory_path() / ("espalier-matrix-" + std::to_string(getpid()) + ".json");
  const outcome r =
      run("bench blink --device cpu --repeat 1 --batch-distribution random --keys 100 --batch 50 "
          "--format json --out " +
          file.string());
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("automatic / better"), std::string::npos) << r.out;
  std::ifstream in(file);
  EXPECT_EQ(json::parse(in, nullptr, false)["rows"].size(), 6u);
  std::filesystem::remove(file);
}

TEST_F(matrix_bench, inserts_by_a_ref_are_rows_of_a_gpu) {
  const json cpu = matrix("random --keys 100 --batch 50 --ops insert-by-ref");
  ASSERT_EQ(cpu["rows"].size(), 1u) << cpu;
  EXPECT_EQ(cpu["rows"][0]["rate"], 0) << cpu;
  EXPECT_NE(cpu["rows"][0]["notes"].dump().find("compiled for GPUs"), std::string::npos) << cpu;
  expect_refused("bench blink --keys 100 --ops insert-by-ref", "--batch-distribution");
}

TEST_F(matrix_bench, what_it_does_not_take_is_refused) {
  const std::string matrix = "bench blink --device cpu --batch-distribution random ";
  expect_refused("bench blink --batch-distribution sideways", "sideways");
  expect_refused("bench static --keys 10 --batch-distribution random", "blink");
  expect_refused(matrix + "--ops find", "insert, erase");
  expect_refused(matrix + "--batch 0", "--batch");
  expect_refused(matrix + "--key-type i64", "u32, u64");
  expect_refused(matrix + "--key-type u32 --keys 10 --batch 2^29", "too large");
  expect_refused(matrix + "--key-type u32 --keys 2^31 --batch 2^28", "too large");
  expect_refused(matrix + "--peers reduce", "reduce");
  expect_refused(matrix + "--policy link,couple", "one shape");
  expect_refused(matrix + "--requests zipf", "--requests");
  expect_refused(matrix + "--queries 10", "--queries");
  expect_refused(matrix + "--distribution zipf", "--distribution");
  expect_refused(matrix + "--hit-rate 0.5", "--hit-rate");
  expect_refused(matrix + "--trace file.json", "--trace");
  expect_refused("bench blink --batch 10,20 --ops insert", "--batch");
}

}  // namespace
}  // namespace espalier::cli_test
