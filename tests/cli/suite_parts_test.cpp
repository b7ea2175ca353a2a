// suite_parts_test.cpp - `espalier bench papers ... --parts`: several runs fill one folder, and what is there stays.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli_fixture.hpp"

namespace espalier::cli_test {
namespace {

namespace fs = std::filesystem;

class suite_parts : public cli {
 protected:
  void SetUp() override {
    cli::SetUp();
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// Runs the suite, small, into a folder of this test.
  [[nodiscard]] outcome ask_for(const std::string& suite, const std::string& more, const std::string& into) const {
    return run("bench papers " + suite + " --device cpu --repeat 1 --threads 2 " +
               (more.find("--max-keys") == std::string::npos ? "--max-keys 2^11 " : "") + more + " --out '" +
               (folder_ / into).string() + "'");
  }
  outcome measure(const std::string& suite, const std::string& more, const std::string& into = "a") const {
    outcome r = ask_for(suite, more, into);
    EXPECT_EQ(r.code, 0) << r.err;
    return r;
  }
  [[nodiscard]] std::string file(const std::string& name, const std::string& in = "a") const {
    return contents(folder_ / in / name);
  }
  [[nodiscard]] bool has(const std::string& name, const std::string& in = "a") const {
    return fs::exists(folder_ / in / name);
  }

  /// What does not differ between runs of btree-on-gpu: of lines of tables the exponent only.
  static std::vector<std::string> outline(const std::string& tables) {
    std::vector<std::string> lines;
    std::istringstream text(tables);
    for (std::string line; std::getline(text, line);) {
      if (line.rfind("| 1", 0) == 0) line.resize(line.find('|', 1));
      if (line.find("Command:") == std::string::npos) lines.push_back(line);
    }
    return lines;
  }

 private:
  fs::path folder_ = scratch_file("parts");
};

TEST_F(suite_parts, two_runs_give_the_tables_of_one) {
  measure("btree-on-gpu", "", "whole");
  measure("btree-on-gpu", "--parts mesh,shuffled");
  EXPECT_NE(file("tables.md").find("Table 5.4"), std::string::npos);
  EXPECT_EQ(file("tables.md").find("Table 5.3"), std::string::npos) << "not measured yet";
  EXPECT_FALSE(has("figure-5.2.svg"));
  const std::string shuffled = file("part-shuffled.md");
  measure("btree-on-gpu", "--parts gaussian,ascending");
  EXPECT_EQ(file("part-shuffled.md"), shuffled) << "what is there stays";
  EXPECT_EQ(outline(file("tables.md")), outline(file("tables.md", "whole")));
}

TEST_F(suite_parts, figures_come_in_the_order_of_the_paper) {
  measure("cuart", "--parts 16");
  const outcome r = measure("cuart", "--parts 8,10");
  EXPECT_EQ(r.err.find("figure 16"), std::string::npos) << r.err;
  const std::string tables = file("tables.md");
  const auto at = [&](const char* text) { return tables.find(text); };
  EXPECT_LT(at("# Radix trees"), at("## Figure 8"));
  EXPECT_LT(at("## Figure 8"), at("## Figure 10"));
  EXPECT_LT(at("## Figure 10"), at("## Figure 16"));
  EXPECT_NE(at("## Figure 16"), std::string::npos);
  EXPECT_EQ(at("## Figure 9"), std::string::npos);
  EXPECT_NE(at("--parts 16"), std::string::npos) << "each part tells its command";
  EXPECT_NE(at("--parts 8,10"), std::string::npos);
  for (const char* name : {"8-cpu.json", "10-cpu.json", "16-cpu.json", "part-8.md", "figure-16.svg"}) {
    EXPECT_TRUE(has(name)) << name;
  }
  EXPECT_FALSE(has("7-cpu.json"));
}

TEST_F(suite_parts, large_pages_have_a_curve_for_each_node_width_and_peer) {
  measure("large-pages", "--max-keys 6000");
  const std::string tables = file("tables.md");
  for (const char* text :
       {"## Figure 2", "5000 elements, by insertion, CPU", "5000 elements, bulk build, CPU", "| 4096 |", "## Figure 3",
        "batches of 2^16", "## Figure 4", "nodes of 4096, CPU", "nodes of 128, CPU", "static tree, CPU",
        "absl-btree, CPU", "lower-bound, CPU", "tbb-transform, CPU", "No GPU was measured", "Command:"}) {
    EXPECT_NE(tables.find(text), std::string::npos) << text << '\n' << tables;
  }
  for (const char* name :
       {"figure-2.svg", "figure-3a.svg", "figure-3b.svg", "figure-4a.svg", "figure-4b.svg", "figure-4c.svg"}) {
    EXPECT_EQ(file(name).rfind("<svg ", 0), 0U) << name;
    EXPECT_EQ(file(name).find("nan"), std::string::npos) << name;
  }
  const json visits = json::parse(file("4-cpu.json"))["rows"];
  EXPECT_EQ(std::count_if(visits.begin(), visits.end(), [](const json& r) { return r["op"] == "transform"; }), 4);
  for (const auto& r : visits) EXPECT_GT(r["seconds"].get<double>(), 0) << r.dump(1);
  EXPECT_EQ(ask_for("large-pages", "--max-keys 100", "b").code, 2);
}

TEST_F(suite_parts, a_refused_run_leaves_the_folder_alone) {
  measure("cuart", "--parts 16");
  const std::string tables = file("tables.md");
  EXPECT_EQ(ask_for("cuart", "--parts 16,99", "a").code, 2);
  EXPECT_EQ(file("tables.md"), tables);
  EXPECT_EQ(ask_for("cuart", "--parts 99", "b").code, 2);
  EXPECT_FALSE(has("", "b"));
}

}  // namespace
}  // namespace espalier::cli_test
