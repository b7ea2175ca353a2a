// cli_fixture.hpp - what tests of the command line share: one run of `espalier bench` as JSON, one refusal.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/cli_process.hpp"

namespace espalier::cli_test {

using json = nlohmann::json;

/// Types of keys that the benchmarks of this build have; types of values are the same, and none.
inline std::vector<std::string> built_types() {
#ifdef ESPALIER_BENCH_ALL_TYPES
  return {"u32", "i32", "u64", "i64", "f32", "f64"};
#else
  return {"u32", "u64"};
#endif
}

class cli : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(cli_path())) GTEST_SKIP() << "the command line was not built: " << cli_path();
  }
  static json bench(const std::string& index, const std::string& arguments) {
    const outcome r = run("bench " + index + " --device cpu --repeat 1 --format json " + arguments);
    EXPECT_EQ(r.code, 0) << index << ' ' << arguments << '\n' << r.err;
    EXPECT_EQ(r.err, "");
    return json::parse(r.out, nullptr, false);
  }
  static void expect_refused(const std::string& arguments, const std::string& mentions) {
    const outcome r = run(arguments);
    EXPECT_EQ(r.code, 2) << arguments;
    EXPECT_EQ(r.out, "") << arguments;
    EXPECT_NE(r.err.find(mentions), std::string::npos) << arguments << '\n' << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << "one sentence, please: " << r.err;
  }
};

}  // namespace espalier::cli_test
