// hybrid_bench_test.cpp - `espalier bench hybrid` from outside: every operation and every way of asking on
// small trees, whose answers are checked there. Threads of the CPU stand in for the GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "bench/harness/event_counter.hpp"
#include "cli/cli_fixture.hpp"

namespace espalier::cli_test {
namespace {

const std::vector<std::string> hybrid_operations{"build",       "find",  "contains",   "lower-bound", "successor",
                                                 "predecessor", "range", "range-rows", "count",       "sum",
                                                 "min",         "max",   "insert",     "update",      "erase"};
const std::string all_hybrid_operations =
    "build,find,contains,lower-bound,successor,predecessor,range,range-rows,count,sum,min,max,insert,update,erase";

class hybrid_bench : public cli {
 protected:
  static json hybrid(const std::string& arguments) { return bench("hybrid", "--threads 2 " + arguments); }
};

void expect_hybrid_row(const json& row) {
  EXPECT_EQ(row["index"], "hybrid");
  EXPECT_EQ(row["location"], "host");
  for (const char* name : {"layout", "placement", "ran", "op", "key_type", "value_type", "distribution"}) {
    ASSERT_TRUE(row.contains(name) && row[name].is_string()) << name << '\n' << row.dump(1);
  }
  for (const char* name : {"inner_bytes", "device_bytes", "repeat", "keys", "queries", "threads", "rate"}) {
    ASSERT_TRUE(row.contains(name) && row[name].is_number()) << name << '\n' << row.dump(1);
  }
  EXPECT_GT(row["seconds"].get<double>(), 0) << row.dump(1);
  EXPECT_NE(row["ran"], "?");
}

TEST_F(hybrid_bench, bad_arguments_get_one_sentence_and_exit_code_2) {
  const std::string small = "bench hybrid --device cpu --keys 100 ";
  expect_refused(small + "--layout flat", "implicit, regular");
  expect_refused(small + "--placement nowhere", "automatic, host-alone, shared, device-alone, both");
  expect_refused(small + "--buckets leaky", "sequential, pipelined, double-buffered");
  expect_refused(small + "--bucket 0", "--bucket");
  expect_refused(small + "--bucket 2^40", "--bucket");
  expect_refused(small + "--balance good", "tuned, none");
  expect_refused(small + "--pages white", "huge, huge-inner, small");
  expect_refused(small + "--way of-life", "automatic, asynchronous, synchronised");
  expect_refused(small + "--requests rude", "uniform, zipf, in-order, normal, gamma");
  expect_refused(small + "--gpu-memory much", "--gpu-memory");
  expect_refused(small + "--leaf-cache little", "--leaf-cache");
  expect_refused(small + "--window wide", "--window");
  expect_refused(small + "--host-memory paged", "pinned, ordinary");
  expect_refused(small + "--window 0", "--window");
  expect_refused(small + "--layout regular --fill 2", "0.25 to 1");
  expect_refused(small + "--fill 0.5", "--layout regular");
  expect_refused(small + "--way asynchronous", "--layout regular");
  expect_refused(small + "--ops range-rows --range-length 0", "--range-length");
  expect_refused(small + "--bucket 1e30", "2^64");
  expect_refused("bench hybrid --device cpu --key-type u64 --keys 2^40", "1099511627775");
  expect_refused(small + "--ops ycsb-a", "range, count, sum, min, max, range-rows, successor,");
  expect_refused(small + "--ops update --value-type none", "--value-type");
  expect_refused("bench blink --requests normal", "`espalier bench hybrid`");
}

TEST_F(hybrid_bench, options_of_other_indexes_are_refused_and_its_own_by_those) {
  for (const char* option : {"--plan small", "--node-search linear", "--aggregates sum"}) {
    expect_refused(std::string("bench hybrid ") + option, "which is for static");
  }
  for (const char* option : {"--path bulk", "--batch 10"}) {
    expect_refused(std::string("bench hybrid ") + option, "which is for blink, radix;");
  }
  for (const char* option : {"--layout regular", "--placement shared", "--buckets sequential", "--bucket 10",
                             "--balance none", "--pages small", "--way automatic", "--gpu-memory 10", "--leaf-cache 10",
                             "--window 10", "--host-memory pinned"}) {
    for (const char* index : {"static", "blink", "radix"}) {
      expect_refused(std::string("bench ") + index + " " + option, "which is for hybrid;");
    }
  }
}

TEST_F(hybrid_bench, help_tells_about_it) {
  const outcome r = run("bench hybrid --help");
  for (const char* word : {"hybrid", "--layout", "--placement", "--buckets", "--bucket", "--balance", "--gpu-memory",
                           "--leaf-cache", "host-alone", "double-buffered", "gamma"}) {
    EXPECT_NE(r.out.find(word), std::string::npos) << word;
  }
}

class every_hybrid_type : public hybrid_bench, public testing::WithParamInterface<std::string> {};

TEST_P(every_hybrid_type, does_every_operation_beside_every_peer) {
  const json j = hybrid(std::string("--keys 20000 --queries 3000 --bucket 500 --layout implicit,regular --key-type ") +
                        GetParam() + " --ops " + all_hybrid_operations);
  ASSERT_EQ(j["rows"].size(), 2 * hybrid_operations.size());
  for (std::size_t i = 0; i < j["rows"].size(); ++i) {
    const json& row = j["rows"][i];
    expect_hybrid_row(row);
    EXPECT_EQ(row["op"], hybrid_operations[i / 2]);
    EXPECT_EQ(row["layout"], i % 2 == 0 ? "implicit" : "regular");
    EXPECT_EQ(row["threads"], 2);
    for (const char* peer : {"std-map", "absl-btree"}) {
      ASSERT_TRUE(row["ratio"].contains(peer)) << row.dump(1);
      EXPECT_GT(row["ratio"][peer].get<double>(), 0);
    }
  }
}

TEST_P(every_hybrid_type, works_as_a_set_and_on_every_distribution) {
  const json j = hybrid(std::string("--keys 1500 --queries 400 --bucket 64 --peers none --value-type none --placement "
                                    "shared --ops build,find,lower-bound,range,sum,insert,erase --layout "
                                    "implicit,regular --distribution uniform,ascending,descending,almost-sorted,"
                                    "shuffled,gaussian,normal,gamma,zipf,clustered,adversarial,mesh --key-type ") +
                        GetParam());
  EXPECT_EQ(j["rows"].size(), 7u * 2u * 12u);
}

INSTANTIATE_TEST_SUITE_P(keys, every_hybrid_type, testing::ValuesIn(built_types()),
                         [](const auto& type) { return type.param; });

TEST_F(hybrid_bench, ways_of_asking_are_axes) {
  const json j = hybrid(
      "--keys 50000 --queries 20000 --peers none --ops find --layout implicit,regular --placement "
      "automatic,host-alone,shared --buckets sequential,pipelined,double-buffered --bucket 1000,2000 --balance "
      "tuned,none");
  // The host alone has no buckets; the others have three ways to handle two sizes of them in two balances.
  ASSERT_EQ(j["rows"].size(), 2u * (1u + 2u * 3u * 2u * 2u));
  std::set<std::string> ways;
  for (const auto& row : j["rows"]) {
    expect_hybrid_row(row);
    if (row["placement"] == "host-alone") {
      EXPECT_FALSE(row.contains("bucket")) << row.dump(1);
      EXPECT_FALSE(row["ratio"].contains("host-alone")) << row.dump(1);
      continue;
    }
    EXPECT_TRUE(row["bucket"] == 1000 || row["bucket"] == 2000);
    EXPECT_GT(row["ratio"]["host-alone"].get<double>(), 0) << row.dump(1);
    EXPECT_EQ(row["peers"]["host-alone"]["queries"], 20000);
    if (row["placement"] == "shared") {
      EXPECT_EQ(row["ran"], "shared") << row.dump(1);
    } else {
      EXPECT_NE(row["notes"].dump().find("measured: "), std::string::npos) << "why\n" << row.dump(1);
    }
    if (row["balance"]["how"] == "none") {
      EXPECT_EQ(row["balance"]["levels"], 0);
    }
    ways.insert(row["buckets"].get<std::string>());
  }
  EXPECT_EQ(ways, (std::set<std::string>{"sequential", "pipelined", "double-buffered"}));
}

TEST_F(hybrid_bench, rows_tell_who_answered_and_why) {
  const json j = hybrid(
      "--keys 50000 --queries 3000 --peers none --ops find,range-rows --layout implicit,regular --placement "
      "automatic,shared,device-alone,both --bucket 1000 --balance none");
  ASSERT_EQ(j["rows"].size(), 2u * 2u * 4u);
  for (const auto& row : j["rows"]) {
    const bool lines = row["layout"] == "implicit";
    if (row["placement"] == "automatic" && row["op"] == "find") {
      EXPECT_EQ(row["ran"], "host-alone") << "fewer than four buckets\n" << row.dump(1);
      EXPECT_NE(row["notes"].dump().find("Calls of fewer than 4000 queries"), std::string::npos) << row.dump(1);
    } else if (row["placement"] != "automatic") {
      EXPECT_EQ(row["ran"], lines ? row["placement"] : json("shared")) << row.dump(1);
      EXPECT_EQ(row["notes"].dump().find("reads no leaves") != std::string::npos,
                !lines && row["placement"] != "shared")
          << row.dump(1);
    }
  }
}

TEST_F(hybrid_bench, requests_are_an_axis_of_what_draws_keys) {
  const json j = hybrid(
      "--keys 3000 --queries 2000 --hit-rate 0.7 --bucket 100 --requests uniform,normal,gamma,zipf,in-order --peers "
      "absl-btree --ops find,lower-bound,range,update,insert");
  ASSERT_EQ(j["rows"].size(), 3u * 5u + 2u);
  EXPECT_EQ(j["rows"][1]["requests"], "normal");
  EXPECT_EQ(j["rows"][3]["requests"], "zipf");
  for (const auto& row : j["rows"]) {
    EXPECT_EQ(row.contains("requests"), row["op"] != "range" && row["op"] != "insert") << row.dump(1);
  }
}

TEST_F(hybrid_bench, a_device_without_memory_leaves_all_to_the_host_and_the_row_says_so) {
  const json j = hybrid("--keys 50000 --queries 5000 --bucket 100 --gpu-memory 1000 --placement shared --ops find");
  ASSERT_EQ(j["rows"].size(), 1u);
  EXPECT_EQ(j["rows"][0]["placement"], "shared");
  EXPECT_EQ(j["rows"][0]["ran"], "host-alone");
  EXPECT_NE(j["rows"][0]["notes"].dump().find("1000 bytes"), std::string::npos) << j["rows"][0].dump(1);
}

TEST_F(hybrid_bench, pages_and_ways_of_update_are_axes) {
  const json j = hybrid(
      "--keys 30000 --queries 500 --layout implicit,regular --pages huge,huge-inner,small --way "
      "automatic,asynchronous,synchronised --bucket 1000 --peers std-map --ops find,insert,update,erase");
  // Every write rebuilds the implicit layout.
  ASSERT_EQ(j["rows"].size(), 3u * (2u + 3u * (1u + 3u)));
  for (const auto& row : j["rows"]) {
    expect_hybrid_row(row);
    EXPECT_TRUE(row["pages"] == "huge" || row["pages"] == "huge-inner" || row["pages"] == "small") << row.dump(1);
    EXPECT_EQ(row.contains("way"), row["layout"] == "regular" && row["op"] != "find") << row.dump(1);
    if (row.contains("way")) {
      EXPECT_TRUE(row["way"] == "asynchronous" || row["way"] == "synchronised") << "what the tree did\n" << row.dump(1);
    }
  }
}

TEST_F(hybrid_bench, empty_trees_and_empty_batches_work) {
  const std::string ways = " --layout implicit,regular --bucket 16 --placement shared --ops ";
  for (const char* sizes : {"--keys 0 --queries 100", "--keys 0 --queries 0", "--keys 1 --queries 1"}) {
    EXPECT_EQ(hybrid(sizes + ways + all_hybrid_operations)["rows"].size(), 2 * hybrid_operations.size()) << sizes;
  }
  EXPECT_EQ(hybrid("--keys 100 --queries 0" + ways + all_hybrid_operations)["rows"].size(),
            2 * hybrid_operations.size());
}

TEST_F(hybrid_bench, erasing_more_than_there_is_erases_all_and_says_so) {
  const json j = hybrid("--keys 500 --queries 800 --layout implicit,regular --ops erase");
  for (const auto& row : j["rows"]) {
    EXPECT_EQ(row["queries"], 500);
    EXPECT_NE(row["notes"].dump().find("500 of 800"), std::string::npos) << row.dump(1);
  }
}

TEST_F(hybrid_bench, sizes_and_threads_are_axes_and_questions_after_writes_see_the_data_again) {
  const json j = bench("hybrid",
                       "--threads 1,2 --keys 100,3000 --queries 50,60 --bucket 10 --peers none --ops insert,find,erase,"
                       "find");
  EXPECT_EQ(j["rows"].size(), 2u * 2u * 2u * 4u);
  EXPECT_EQ(j["rows"][0]["threads"], 1);
}

TEST_F(hybrid_bench, ranges_are_as_long_as_asked) {
  const json j = hybrid("--keys 5000 --queries 100 --range-length 20 --ops range --peers none");
  EXPECT_EQ(j["rows"][0]["range_length"], 20);
  EXPECT_LE(j["rows"][0]["range_elements"], 2000);
  EXPECT_EQ(hybrid("--keys 5000 --queries 100 --ops range --peers none")["rows"][0]["range_length"], 8);
}

TEST_F(hybrid_bench, table_and_csv_tell_the_way_of_asking) {
  const std::string common =
      "bench hybrid --device cpu --threads 2 --repeat 1 --keys 20000 --queries 9000 --bucket 1000 --peers none "
      "--placement host-alone,shared --ops find ";
  const outcome table = run(common), csv = run(common + "--format csv");
  ASSERT_EQ(table.code, 0) << table.err;
  for (const char* word : {"layout", "implicit", "placement", "host-alone", "shared", "buckets", "double-buffered",
                           "1000", "vs host-alone"}) {
    EXPECT_NE(table.out.find(word), std::string::npos) << word << '\n' << table.out;
  }
  EXPECT_EQ(table.out.find("balance"), std::string::npos) << "only where rows differ in it\n" << table.out;
  ASSERT_EQ(csv.code, 0) << csv.err;
  std::vector<std::string> lines;
  std::istringstream text(csv.out);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(lines[0].find(
                ",layout,placement,ran,buckets,bucket,balance,levels,share,requests,pages,way,ratio_host-alone,notes"),
            std::string::npos)
      << lines[0];
  const auto commas = [](const std::string& line) { return std::count(line.begin(), line.end(), ','); };
  EXPECT_EQ(commas(lines[0]), commas(lines[1])) << lines[1];
  EXPECT_EQ(commas(lines[0]), commas(lines[2])) << lines[2];
}

TEST_F(hybrid_bench, suite_writes_tables_and_plots_for_each_figure) {
  const auto folder = scratch_file("hb");
  const outcome r = run("bench papers hb-plus-tree --device cpu --max-keys 2^13 --repeat 1 --threads 2 --out '" +
                        folder.string() + "'");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("figure 16c on the CPU: "), std::string::npos) << "long work says where it is\n" << r.err;
  for (const char* figure : {"7", "8", "9", "10", "11", "12", "13", "14", "15", "16", "17", "18", "20"}) {
    const json results = json::parse(contents(folder / (std::string(figure) + "-cpu.json")), nullptr, false);
    ASSERT_TRUE(results.contains("rows")) << figure;
    EXPECT_FALSE(results["rows"].empty()) << figure;
    for (const auto& row : results["rows"]) {
      EXPECT_LE(row["keys"], 8192);
      EXPECT_GT(row["seconds"].get<double>(), 0) << row.dump(1);
    }
  }
  const std::string tables = contents(folder / "tables.md");
  for (const char* word :
       {"No GPU was measured", "The paper:", "hierarchical", "no software pipeline", "lower-bound",
        "implicit, double-buffered", "regular, CPU and stand-in", "zipf", "one thread, no device", "synchronised",
        "huge-inner", "not balanced", "implicit, automatic", "| 2^13 |", "| 128 |", "Command:"}) {
    EXPECT_NE(tables.find(word), std::string::npos) << word;
  }
  EXPECT_EQ(tables.find("| |"), std::string::npos) << "a cell without a value\n" << tables;
  EXPECT_NE(contents(folder / "part-17.md").find("regular, automatic"), std::string::npos)
      << "what a tree takes by itself is shown even where that is the CPU alone";
  std::vector<std::string> plots{"7b",  "8",   "9",   "10",  "11a", "11b", "12", "13a", "13b", "14",
                                 "15a", "15b", "16a", "16b", "16c", "17",  "18", "20a", "20b"};
  const bool counts_misses = bench::event_counter(bench::tlb_load_misses).is_counting();
  if (counts_misses) plots.emplace_back("7a");
  EXPECT_EQ(tables.find("TLB misses are not counted here") == std::string::npos, counts_misses);
  for (const std::string& plot : plots) {
    const std::string name = "figure-" + plot + ".svg";
    const std::string svg = contents(folder / name);
    EXPECT_EQ(svg.rfind("<svg ", 0), 0u) << name;
    EXPECT_NE(svg.find("</svg>"), std::string::npos) << name;
    EXPECT_EQ(svg.find("nan"), std::string::npos) << name;
    EXPECT_NE(r.out.find(name), std::string::npos) << r.out;
    EXPECT_NE(tables.find(name), std::string::npos) << name;
  }
  std::filesystem::remove_all(folder);
}

TEST_F(hybrid_bench, suite_refuses_what_it_does_not_take) {
  expect_refused("bench papers hb-plus-tree --keys 100", "--keys");
  expect_refused("bench papers hb-plus-tree --max-keys 100", "--max-keys");
  expect_refused("bench papers hb-plus-tree --max-keys 2^31", "--max-keys");
  expect_refused("bench papers hb-plus-tree --device cpu --threads 1,2", "--threads");
  expect_refused("bench papers hb-plus-tree --parts 8,19",
                 "'19': choose from 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20.");
}

}  // namespace
}  // namespace espalier::cli_test
