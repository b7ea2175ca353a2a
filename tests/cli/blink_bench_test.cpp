// blink_bench_test.cpp - `espalier bench blink` from outside: every operation, shape and path on small trees,
// whose answers are checked there, and the suite that draws plots.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli_fixture.hpp"

namespace espalier::cli_test {
namespace {

const std::vector<std::string> questions{"find",  "contains", "lower-bound", "successor", "predecessor", "range",
                                         "count", "sum",      "min",         "max",       "avg"};
const std::vector<std::string> blink_operations{
    "build",  "find",  "lower-bound", "range", "count",  "contains", "successor",    "predecessor", "min",
    "max",    "avg",   "snapshot",    "visit", "sum",    "insert",   "insert-empty", "insert-bulk", "find-after-insert",
    "update", "erase", "erase-bulk",  "mixed", "ycsb-a", "ycsb-b",   "ycsb-c",       "ycsb-d",      "ycsb-e",
    "ycsb-f"};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const auto& w : words) text += (text.empty() ? "" : ",") + w;
  return text;
}
const std::string all_blink_operations = joined(blink_operations);

class blink_bench : public cli {
 protected:
  static json blink(const std::string& arguments) { return bench("blink", arguments); }
  static std::set<std::string> column(const json& result, const char* name) {
    std::set<std::string> values;
    for (const auto& row : result["rows"]) values.insert(row[name].is_string() ? row[name].get<std::string>() : "?");
    return values;
  }
};

void expect_blink_row(const json& row) {
  EXPECT_EQ(row["index"], "blink");
  EXPECT_EQ(row["location"], "host");
  for (const char* name : {"policy", "upper", "path", "op", "key_type", "value_type", "distribution"}) {
    ASSERT_TRUE(row.contains(name) && row[name].is_string()) << name << '\n' << row.dump(1);
  }
  for (const char* name : {"slots", "repeat", "keys", "queries", "threads", "rate"}) {
    ASSERT_TRUE(row.contains(name) && row[name].is_number()) << name << '\n' << row.dump(1);
  }
  EXPECT_GT(row["seconds"].get<double>(), 0);
  EXPECT_GE(row["slots"].get<unsigned>(), 8u);
}

TEST_F(blink_bench, bad_arguments_get_one_sentence_and_exit_code_2) {
  expect_refused("bench blink --policy optimistic", "optimistic");
  expect_refused("bench blink --upper cloud", "cloud");
  expect_refused("bench blink --path scenic", "scenic");
  expect_refused("bench blink --requests rude", "rude");
  expect_refused("bench blink --slots 5000", "--slots");
  expect_refused("bench blink --slots some", "--slots");
  expect_refused("bench blink --batch -1", "--batch");
  expect_refused("bench blink --fill 0.1", "--fill");
  expect_refused("bench blink --fill full", "--fill");
  expect_refused("bench blink --ops find-sorted", "find-sorted");
  expect_refused("bench blink --plan small", "--plan");
  expect_refused("bench blink --aggregates sum", "--aggregates");
  expect_refused("bench blink --node-search linear", "--node-search");
  expect_refused("bench blink --value-type none --ops update", "update");
  expect_refused("bench blink --keys 0 --queries 10 --ops ycsb-a", "ycsb-a");
#ifdef ESPALIER_BENCH_ALL_TYPES
  expect_refused("bench blink --key-type f32 --keys 30000 --distribution mesh", "--keys");
#endif
  expect_refused("bench static --ops insert", "insert");
  for (const char* option : {"--policy link", "--upper classic", "--slots 8", "--path bulk", "--batch 10",
                             "--requests zipf", "--fill 0.5"}) {
    expect_refused(std::string("bench static --keys 10 ") + option, "blink");
  }
}

TEST_F(blink_bench, trees_that_are_not_compiled_are_refused) {
  const std::string small = "bench blink --device cpu --keys 10 --queries 10 --ops find ";
  expect_refused(small + "--policy couple --upper express", "couple");
  expect_refused(small + "--policy none --key-type u64 --value-type u32", "none");
  expect_refused(small + "--slots 9", "9");
  expect_refused(small + "--slots 8 --value-type u64", "8");
}

TEST_F(blink_bench, help_tells_about_it) {
  const outcome r = run("bench blink --help");
  for (const char* word : {"blink", "--policy", "--upper", "--slots", "--path", "--batch", "--fill", "--requests",
                           "append-sorted", "ycsb-f", "find-after-insert", "couple", "express"}) {
    EXPECT_NE(r.out.find(word), std::string::npos) << word;
  }
}

TEST_F(blink_bench, reads_name_their_plan) {
  const std::string reads =
      "--keys 30000 --queries 2000 --key-type u64 --value-type u64 --peers none --ops find,"
      "lower-bound,count,range --plan ";
  const json automatic = blink(reads + "automatic"), partitioned = blink(reads + "partition_first");
  ASSERT_EQ(automatic["rows"].size(), 4u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(automatic["rows"][i]["plan"], "scattered") << automatic.dump(1);
  EXPECT_EQ(partitioned["rows"][0]["plan"], "partition_first");
  EXPECT_EQ(partitioned["rows"][1]["plan"], "partition_first");
  EXPECT_EQ(partitioned["rows"][2]["plan"], "scattered") << "ranges take no plan";
  EXPECT_EQ(partitioned["rows"][3]["plan"], "");
}

class every_blink_type : public blink_bench, public testing::WithParamInterface<std::string> {};

TEST_P(every_blink_type, does_every_operation_beside_both_maps) {
  for (const std::string& value : {built_types().front(), built_types().back()}) {
    const json j = blink(std::string("--keys 3000 --queries 700 --threads 2 --ops ") + all_blink_operations +
                         " --key-type " + GetParam() + " --value-type " + value);
    ASSERT_EQ(j["rows"].size(), blink_operations.size()) << value;
    for (std::size_t i = 0; i < blink_operations.size(); ++i) {
      const json& row = j["rows"][i];
      expect_blink_row(row);
      EXPECT_EQ(row["op"], blink_operations[i]);
      EXPECT_EQ(row["threads"], 2);
      if (row["op"] == "snapshot") continue;  // maps have none
      for (const char* peer : {"std-map", "absl-btree"}) {
        ASSERT_TRUE(row["ratio"].contains(peer)) << row.dump(1);
        EXPECT_GT(row["ratio"][peer].get<double>(), 0);
      }
    }
  }
}

TEST_P(every_blink_type, works_as_a_set_and_on_every_distribution) {
  const json j = blink(std::string("--keys 1500 --queries 400 --peers none --value-type none --ops "
                                   "build,find,lower-bound,range,avg,visit,insert,insert-empty,insert-bulk,"
                                   "find-after-insert,erase,erase-bulk,mixed,ycsb-c,ycsb-d,ycsb-e --distribution "
                                   "uniform,ascending,descending,almost-sorted,shuffled,gaussian,normal,gamma,zipf,"
                                   "clustered,adversarial,mesh --key-type ") +
                       GetParam());
  EXPECT_EQ(j["rows"].size(), 16u * 12u);
}

INSTANTIATE_TEST_SUITE_P(keys, every_blink_type, testing::ValuesIn(built_types()),
                         [](const auto& type) { return type.param; });

TEST_F(blink_bench, policies_are_an_axis) {
  for (const char* key : {"u32", "u64"}) {
    const json j =
        blink(std::string("--keys 4000 --queries 1000 --peers std-map --policy link,couple,none --key-type ") + key +
              " --ops " + all_blink_operations);
    ASSERT_EQ(j["rows"].size(), 3 * blink_operations.size());
    EXPECT_EQ(column(j, "policy"), (std::set<std::string>{"link", "couple", "none"}));
    EXPECT_EQ(j["rows"][0]["upper"], "express");
    EXPECT_EQ(j["rows"][1]["upper"], "classic") << "a B+tree has no express lane";
    for (std::size_t i = 0; i < j["rows"].size(); ++i) {
      const json& row = j["rows"][i];
      if (row["op"] == "snapshot") continue;  // maps have none
      ASSERT_TRUE(row["ratio"].contains("std-map")) << row.dump(1);
      EXPECT_EQ(row["peers"]["std-map"]["seconds"], j["rows"][i / 3 * 3]["peers"]["std-map"]["seconds"])
          << "one measurement of a peer serves all shapes";
    }
  }
}

TEST_F(blink_bench, upper_levels_and_widths_are_axes) {
  const json j = blink(
      "--keys 5000 --queries 1000 --peers none --slots 0,8,32,128 --ops "
      "insert,find,erase,range,mixed");
  ASSERT_EQ(j["rows"].size(), 4u * 5u);
  EXPECT_EQ(column(j, "upper"), (std::set<std::string>{"express"}));
  std::set<unsigned> slots;
  for (const auto& row : j["rows"]) slots.insert(row["slots"].get<unsigned>());
  EXPECT_TRUE(slots.contains(8) && slots.contains(32) && slots.contains(128));
  EXPECT_EQ(slots.count(0), 0u) << "the default shows as what it is";
}

TEST_F(blink_bench, all_elements_are_visited_in_every_shape) {
  for (const char* key : {"u32", "u64"}) {
    const std::string common = std::string("--keys 20000 --threads 2 --ops visit --key-type ") + key;
    const json widths = blink(common + " --slots 0,8,32,128,4096");
    ASSERT_EQ(widths["rows"].size(), 5u);
    for (const auto& row : widths["rows"]) {
      expect_blink_row(row);
      EXPECT_GT(row["bandwidth_share"].get<double>(), 0);
      EXPECT_GT(row["bytes_per_key"].get<double>(), 0);
      for (const char* peer : {"std-map", "absl-btree", "reduce"}) {
        ASSERT_TRUE(row["ratio"].contains(peer)) << row.dump(1);
        EXPECT_EQ(row["peers"][peer]["queries"], 20000);
      }
      EXPECT_NE(row["notes"].dump().find("absl-btree: visit runs in one thread"), std::string::npos) << row.dump(1);
    }
    EXPECT_EQ(blink(common + " --policy link,none --upper express,classic --peers reduce")["rows"].size(), 4u);
  }
}

#ifdef ESPALIER_BENCH_ALL_TYPES  // shapes of u32 and u64 keys are all compiled
TEST_F(blink_bench, shapes_that_are_not_compiled_for_a_visit_are_skipped_with_a_note) {
  const json j = blink("--keys 1000 --key-type f64 --slots 0,128 --ops visit --peers reduce");
  ASSERT_EQ(j["rows"].size(), 2u);
  EXPECT_TRUE(j["rows"][0]["ratio"].contains("reduce")) << j["rows"][0].dump(1);
  EXPECT_EQ(j["rows"][1]["seconds"], 0);
  EXPECT_TRUE(j["rows"][1]["ratio"].empty()) << "nothing to compare with\n" << j["rows"][1].dump(1);
  EXPECT_NE(j["rows"][1]["notes"].dump().find("visit: skipped"), std::string::npos) << j["rows"][1].dump(1);
}
#endif

TEST_F(blink_bench, an_array_is_a_peer_of_visits_alone) {
  const json j = blink("--keys 1000 --queries 100 --ops build,find,insert,visit --peers reduce");
  ASSERT_EQ(j["rows"].size(), 4u);
  for (const auto& row : j["rows"]) {
    const bool visit = row["op"] == "visit";
    EXPECT_EQ(row["ratio"].contains("reduce"), visit) << row.dump(1);
    EXPECT_EQ(row.contains("inapplicable_peers"), !visit) << row.dump(1);
  }
}

TEST_F(blink_bench, writes_go_the_way_that_was_asked_for) {
  const json j =
      blink("--keys 5000 --queries 100 --peers none --path per-key,bulk --ops insert,find,erase,insert-bulk");
  ASSERT_EQ(j["rows"].size(), 2u + 1u + 2u + 1u);
  EXPECT_EQ(j["rows"][0]["path"], "per-key");
  EXPECT_EQ(j["rows"][1]["path"], "bulk");
  EXPECT_EQ(j["rows"][2]["path"], "");
  EXPECT_EQ(j["rows"][5]["path"], "bulk");
  const json automatic = blink("--keys 5000 --queries 100 --peers none --ops insert");
  EXPECT_TRUE(automatic["rows"][0]["path"] == "per-key" || automatic["rows"][0]["path"] == "bulk")
      << "what the library chose";
}

TEST_F(blink_bench, batch_is_the_size_of_writes_and_queries_that_of_questions) {
  const json j = blink(
      "--keys 2000 --queries 50,60 --batch 300 --peers none --ops "
      "insert,update,erase,insert-empty,find-after-insert,mixed");
  const std::vector<unsigned> sizes{300, 300, 300, 2000, 50, 60, 50, 60};
  ASSERT_EQ(j["rows"].size(), sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) EXPECT_EQ(j["rows"][i]["queries"], sizes[i]) << i;
  EXPECT_EQ(j["rows"][4]["batch"], 300);
}

TEST_F(blink_bench, erasing_more_than_there_is_erases_all_and_says_so) {
  const json j = blink("--keys 500 --queries 800 --ops erase,erase-bulk");
  for (const auto& row : j["rows"]) {
    EXPECT_EQ(row["queries"], 500);
    EXPECT_NE(row["notes"].dump().find("500 of 800"), std::string::npos) << row.dump(1);
  }
}

TEST_F(blink_bench, empty_trees_and_empty_batches_work) {
  const std::string ops =
      "build,visit,insert,insert-empty,insert-bulk,find-after-insert,update,erase,erase-bulk," + joined(questions);
  for (const char* sizes : {"--keys 0 --queries 100", "--keys 0 --queries 0", "--keys 1 --queries 1"}) {
    EXPECT_EQ(blink(std::string(sizes) + " --ops " + ops)["rows"].size(), 9 + questions.size()) << sizes;
  }
  EXPECT_EQ(blink("--keys 100 --queries 0 --ops " + all_blink_operations)["rows"].size(), blink_operations.size());
}

TEST_F(blink_bench, requests_may_be_skewed_in_order_or_misses) {
  for (const char* requests : {"uniform", "zipf", "in-order"}) {
    const json j = blink(std::string("--keys 3000 --queries 5000 --hit-rate 0.6 --peers absl-btree --requests ") +
                         requests + " --ops find,lower-bound,find-after-insert,update,mixed,ycsb-a,ycsb-e,ycsb-f");
    EXPECT_EQ(j["rows"].size(), 8u) << requests;
  }
}

TEST_F(blink_bench, as_many_queries_as_keys) {
  const json j = blink("--keys 100,300 --queries keys --ops find --peers none");
  EXPECT_EQ(j["rows"][0]["queries"], 100);
  EXPECT_EQ(j["rows"][1]["queries"], 300);
}

TEST_F(blink_bench, table_shows_shapes_only_where_they_differ) {
  const std::string common = "bench blink --device cpu --repeat 1 --keys 1000 --queries 100 --ops find ";
  const outcome one = run(common), two = run(common + "--policy link,couple");
  ASSERT_EQ(one.code, 0) << one.err;
  ASSERT_EQ(two.code, 0) << two.err;
  EXPECT_EQ(one.out.find("policy"), std::string::npos) << one.out;
  EXPECT_NE(two.out.find("policy"), std::string::npos) << two.out;
  EXPECT_NE(two.out.find("couple"), std::string::npos);
  EXPECT_EQ(two.out.find("slots"), std::string::npos) << two.out;
  EXPECT_NE(one.out.find("vs std-map"), std::string::npos);
}

TEST_F(blink_bench, csv_has_the_columns_of_the_tree) {
  const outcome r =
      run("bench blink --device cpu --repeat 1 --format csv --keys 1000 --queries 100 --ops insert,find --peers "
          "std-map --threads 1");
  ASSERT_EQ(r.code, 0) << r.err;
  std::vector<std::string> lines;
  std::istringstream text(r.out);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(lines[0].find(",policy,upper,slots,path,ratio_std-map,notes"), std::string::npos) << lines[0];
  const auto commas = [](const std::string& line) { return std::count(line.begin(), line.end(), ','); };
  EXPECT_EQ(commas(lines[0]), commas(lines[1])) << lines[1];
  EXPECT_EQ(commas(lines[0]), commas(lines[2])) << lines[2];
}

TEST_F(blink_bench, suite_writes_tables_plots_and_results) {
  const auto folder = scratch_file("suite");
  const outcome r =
      run("bench papers btree-on-gpu --device cpu --max-keys 2^11 --repeat 1 --out '" + folder.string() + "'");
  ASSERT_EQ(r.code, 0) << r.err;
  for (const std::string part : {"shuffled", "ascending", "gaussian", "mesh"}) {
    EXPECT_NE(r.err.find(part + " on the CPU: "), std::string::npos) << "long work says where it is\n" << r.err;
    const json results = json::parse(contents(folder / (part + "-cpu.json")), nullptr, false);
    ASSERT_TRUE(results.contains("rows")) << part;
    EXPECT_EQ(results["rows"].size(), 2u * 2u * 3u) << "sizes x operations x trees";
    for (const auto& row : results["rows"]) {
      EXPECT_EQ(row["distribution"], part);
      for (const char* map : {"std-map", "absl-btree"}) {
        ASSERT_EQ(row["ratio"].contains(map), row["policy"] == "couple") << "maps beside one tree\n" << row.dump(1);
        if (row["ratio"].contains(map)) {
          EXPECT_GT(row["ratio"][map].get<double>(), 0);
        }
      }
    }
  }
  const std::string tables = contents(folder / "tables.md");
  for (const char* word :
       {"Table 5.2", "Table 5.3", "Table 5.4", "mesh", "| 10 |", "| 11 |", "B+tree, CPU", "B-link express, CPU"}) {
    EXPECT_NE(tables.find(word), std::string::npos) << word;
  }
  for (const char* name :
       {"figure-5.2.svg", "figure-5.3.svg", "figure-5.4.svg", "mesh-search.svg", "mesh-insertion.svg"}) {
    const std::string svg = contents(folder / name);
    EXPECT_EQ(svg.rfind("<svg ", 0), 0u) << name;
    EXPECT_NE(svg.find("</svg>"), std::string::npos) << name;
    EXPECT_NE(svg.find("prefers-color-scheme: dark"), std::string::npos) << name;
    for (const char* curve : {"std::map", "absl::btree_map", "B+tree, CPU", "B-link, CPU", "B-link express, CPU"}) {
      EXPECT_NE(svg.find(std::string(">") + curve + "<"), std::string::npos) << name << " " << curve;
    }
    EXPECT_EQ(svg.find("nan"), std::string::npos) << name;
    EXPECT_NE(r.out.find(name), std::string::npos) << r.out;
  }
  std::filesystem::remove_all(folder);
}

TEST_F(blink_bench, suites_refuse_what_they_do_not_take) {
  expect_refused("bench papers everything", "everything");
  expect_refused("bench papers btree-on-gpu --keys 100", "--keys");
  expect_refused("bench papers btree-on-gpu --max-keys 100", "--max-keys");
  expect_refused("bench papers btree-on-gpu --max-keys many", "--max-keys");
  expect_refused("bench papers btree-on-gpu --device cpu --threads 1,2", "--threads");
  expect_refused("bench papers btree-on-gpu --out /proc/nowhere", "/proc/nowhere");
  expect_refused("bench static --max-keys 2^12", "--max-keys");
  expect_refused("bench papers btree-on-gpu --parts mesh,7", "'7': choose from shuffled, ascending, gaussian, mesh.");
  expect_refused("bench papers btree-on-gpu --parts mesh,,shuffled", "--parts");
  expect_refused("bench static --parts mesh", "which is for papers");
  expect_refused("bench papers", "btree-on-gpu");
}

}  // namespace
}  // namespace espalier::cli_test
