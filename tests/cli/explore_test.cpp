// explore_test.cpp - `espalier explore` and `espalier bench blink --trace` from outside: what they refuse, and what
// they write.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "cli/cli_fixture.hpp"
#include "support/scratch_folder.hpp"

namespace espalier::cli_test {
namespace {

class explore_cli : public cli {
 protected:
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }

 private:
  const test::scratch_folder folder_;
};

TEST_F(explore_cli, bad_arguments_get_one_sentence_and_exit_code_2) {
  expect_refused("explore --index hash --no-open", "hash");
  expect_refused("explore --port 70000 --no-open", "--port");
  expect_refused("explore --device tpu --no-open", "tpu");
  expect_refused("explore --trace a --trace b --trace c --no-open", "two");
  expect_refused("bench papers cuart --trace x", "--trace");
}

TEST_F(explore_cli, a_bad_trace_gets_one_sentence_with_its_line) {
  std::ofstream(file("bad.trace")) << "{\"trace\":\"willow\"}\n";
  outcome r = run("explore --no-open --port 0 --trace " + file("bad.trace"));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("line 1"), std::string::npos) << r.err;
  EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  r = run("explore --no-open --port 0 --trace " + file("missing.trace"));
  EXPECT_EQ(r.code, 1);
  EXPECT_NE(r.err.find("cannot be opened"), std::string::npos) << r.err;
}

TEST_F(explore_cli, bench_writes_a_bounded_trace_and_says_what_it_left_out) {
  const std::string path = file("run.trace");
  const json result = bench("blink",
                            "--policy couple --keys 2^13 --queries 2^10 --threads 2 --ops insert,find,sum --peers none "
                            "--trace " +
                                path);
  EXPECT_EQ(result["command"].get<std::string>().find("--trace"), std::string::npos)
      << "where a file went is nobody's business";
  std::ifstream in(path);
  std::string line, last;
  std::getline(in, line);
  const json header = json::parse(line);
  EXPECT_EQ(header["protocol"], "couple");
  EXPECT_EQ(header["slots"], 12);
  std::size_t begins = 0;
  while (std::getline(in, line)) {
    begins += line.find("\"e\":\"begin\"") != std::string::npos ? 1 : 0;
    last = line;
  }
  EXPECT_EQ(begins, 1024u) << "512 inserts and 512 finds";
  const json end = json::parse(last);
  EXPECT_EQ(end["lost"], 0);
  EXPECT_NE(end["left_out"].get<std::string>().find("sum"), std::string::npos);
}

TEST_F(explore_cli, bench_refuses_shapes_without_hooks) {
  expect_refused("bench blink --policy none --trace " + file("x") + " --out " + file("y"), "hooks");
  EXPECT_FALSE(std::filesystem::exists(file("x"))) << "nothing was recorded, so nothing is left behind";
  EXPECT_FALSE(std::filesystem::exists(file("y")));
  std::ofstream(file("kept")) << "an earlier trace";
  expect_refused("bench blink --policy none --trace " + file("kept"), "hooks");
  EXPECT_EQ(std::filesystem::file_size(file("kept")), 16u);
  expect_refused("bench blink --trace " + file("no/such/folder"), "--trace");
}

}  // namespace
}  // namespace espalier::cli_test
