// cli_test.cpp - `espalier` from outside: arguments, exit codes, formats, and small benchmarks of everything.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli_fixture.hpp"

namespace espalier::cli_test {
namespace {

const std::vector<std::string> operations{"build", "find", "find-sorted", "contains", "lower-bound", "range",
                                          "count", "sum",  "min",         "max",      "avg",         "visit"};
const std::string all_operations = "build,find,find-sorted,contains,lower-bound,range,count,sum,min,max,avg,visit";
const std::vector<std::string> distributions{"uniform",  "ascending", "descending",  "almost-sorted",
                                             "shuffled", "gaussian",  "normal",      "gamma",
                                             "zipf",     "clustered", "adversarial", "mesh"};

void expect_row_schema(const json& row) {
  for (const char* name : {"index", "device", "op", "key_type", "value_type", "distribution", "plan", "location"}) {
    ASSERT_TRUE(row.contains(name) && row[name].is_string()) << name << '\n' << row.dump(1);
  }
  for (const char* name : {"keys", "queries", "threads", "seconds", "rate", "bytes_per_key"}) {
    ASSERT_TRUE(row.contains(name) && row[name].is_number()) << name << '\n' << row.dump(1);
  }
  ASSERT_TRUE(row.contains("ratio") && row["ratio"].is_object());
  for (const auto& [peer, ratio] : row["ratio"].items()) EXPECT_GT(ratio.get<double>(), 0) << peer;
  EXPECT_EQ(row["index"], "static");
  EXPECT_EQ(row["location"], "host");
  EXPECT_GT(row["seconds"].get<double>(), 0);
}

TEST_F(cli, bad_arguments_get_one_sentence_and_exit_code_2) {
  expect_refused("--frobnicate", "subcommand");
  expect_refused("frobnicate", "frobnicate");
  expect_refused("bench --no-such-option", "--no-such-option");
  expect_refused("bench --keys 10 static", "--keys");
  expect_refused("bench hash", "hash");
  expect_refused("bench static --no-such-option", "--no-such-option");
  expect_refused("bench static extra", "extra");
  expect_refused("bench static --distribution lumpy", "lumpy");
  expect_refused("bench static --key-type u128", "u128");
  expect_refused("bench static --value-type string", "string");
  expect_refused("bench static --ops fly", "fly");
  expect_refused("bench static --peers hash", "hash");
  expect_refused("bench static --device tpu", "tpu");
  expect_refused("bench static --plan cunning", "cunning");
  expect_refused("bench static --node-search psychic", "psychic");
  expect_refused("bench static --aggregates median", "median");
  expect_refused("bench static --keys many", "--keys");
  expect_refused("bench static --keys -5", "--keys");
  expect_refused("bench static --keys 2^99", "--keys");
  expect_refused("bench static --keys 10,,20", "--keys");
  expect_refused("bench static --keys 2^32 --key-type u32", "--keys");
  expect_refused("bench static --queries 1.5", "--queries");
  expect_refused("bench static --repeat 0", "--repeat");
  expect_refused("bench static --hit-rate 2", "--hit-rate");
  expect_refused("bench static --threads 100000", "--threads");
  expect_refused("bench static --ops sum --aggregates none", "--aggregates");
  expect_refused("bench static --ops avg --aggregates min_max", "--aggregates sum");
  expect_refused("bench static --format xml", "xml");
  expect_refused("bench static --keys 10 --out /no/such/folder/file", "/no/such/folder/file");
  expect_refused("info --format xml", "xml");
  expect_refused("demo --keys lots", "lots");
}

TEST_F(cli, asking_for_a_gpu_where_there_is_none_is_refused) {
  const auto info = json::parse(run("info --format json").out);
  if (!info["gpus"].empty()) GTEST_SKIP() << "this machine has a GPU";
  expect_refused("bench static --device gpu --keys 10", "gpu");
  const auto folder = scratch_file("no-gpu");
  for (const char* paper : {"hb-plus-tree", "cuart", "btree-on-gpu", "large-pages"}) {
    expect_refused(std::string("bench papers --device gpu --max-keys 2^13 ") + paper + " --out " + folder.string(),
                   "GPU");
    EXPECT_FALSE(std::filesystem::exists(folder)) << paper << " began";
  }
}

TEST_F(cli, help_has_examples_and_all_choices) {
  const outcome top = run("--help");
  EXPECT_EQ(top.code, 0);
  const outcome bare = run("");
  EXPECT_EQ(bare.code, 0);
  EXPECT_EQ(bare.out, top.out);
  for (const char* word : {"bench", "info", "demo", "version"})
    EXPECT_NE(top.out.find(word), std::string::npos) << word;
  const outcome r = run("bench static --help");
  EXPECT_EQ(r.code, 0);
  EXPECT_NE(r.out.find("Example:"), std::string::npos);
  for (const auto& d : distributions) EXPECT_NE(r.out.find(d), std::string::npos) << d;
  for (const auto& op : operations) EXPECT_NE(r.out.find(op), std::string::npos) << op;
}

TEST_F(cli, bench_lists_its_subcommands_and_papers) {
  const outcome bare = run("bench");
  EXPECT_EQ(bare.code, 0) << bare.err;
  EXPECT_EQ(run("bench --list").out, bare.out);
  EXPECT_EQ(run("bench --help").out, bare.out);
  for (const char* word :
       {"static", "blink", "radix", "hybrid", "joins", "papers", "btree-on-gpu", "large-pages", "hb-plus-tree", "cuart"}) {
    EXPECT_NE(bare.out.find(word), std::string::npos) << word;
  }
}

TEST_F(cli, help_of_each_benchmark_fits_on_a_screen) {
  for (const char* name : {"", "static", "blink", "radix", "hybrid", "joins", "papers"}) {
    const outcome r = run(std::string("bench ") + name + " --help");
    EXPECT_EQ(r.code, 0) << name;
    EXPECT_LE(std::count(r.out.begin(), r.out.end(), '\n'), 40) << r.out;
    std::istringstream lines(r.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 120U) << line;
  }
}

#ifndef ESPALIER_BENCH_ALL_TYPES
TEST_F(cli, types_that_are_not_built_are_refused_with_the_option_that_builds_them) {
  for (const char* type : {"i32", "i64", "f32", "f64"}) {
    expect_refused(std::string("bench static --keys 10 --key-type ") + type, "-DESPALIER_BENCH_ALL_TYPES=ON");
    expect_refused(std::string("bench blink --keys 10 --value-type ") + type, "-DESPALIER_BENCH_ALL_TYPES=ON");
  }
}
#endif

TEST_F(cli, version_names_version_and_commit) {
  const outcome r = run("version");
  EXPECT_EQ(r.code, 0);
  EXPECT_EQ(r.out.rfind("espalier ", 0), 0u) << r.out;
  EXPECT_NE(r.out.find("commit"), std::string::npos);
  EXPECT_EQ(run("--version").out, r.out);
}

TEST_F(cli, info_tells_what_the_machine_offers) {
  const outcome text = run("info");
  EXPECT_EQ(text.code, 0);
  for (const char* word : {"CPU", "SIMD", "memory", "huge pages", "GPU", "build"}) {
    EXPECT_NE(text.out.find(word), std::string::npos) << word;
  }
  const auto j = json::parse(run("info --format json").out);
  EXPECT_GE(j["cores"].get<int>(), 1);
  EXPECT_GT(j["memory"].get<std::uint64_t>(), 0u);
  for (const char* name : {"cpu", "simd", "huge_pages", "compiler", "commit", "version"}) {
    EXPECT_TRUE(j[name].is_string()) << name;
  }
  EXPECT_TRUE(j["gpus"].is_array());
}

TEST_F(cli, result_file_carries_machine_commit_and_command) {
  const json j = bench("static", "--keys 1000 --queries 100 --ops find --peers none");
  for (const char* name : {"machine", "compiler", "commit", "command", "date", "rows"})
    EXPECT_TRUE(j.contains(name)) << name;
  EXPECT_EQ(
      j["command"],
      "espalier bench static --device cpu --repeat 1 --format json --keys 1000 --queries 100 --ops find --peers none");
  ASSERT_EQ(j["rows"].size(), 1u);
  EXPECT_EQ(j["rows"][0]["keys"], 1000);
  EXPECT_EQ(j["rows"][0]["queries"], 100);
}

/// Answers are checked in the process that gives them. Every operation goes with every peer, every distribution and
/// every value type with three operations that use keys, order and values: each row costs its 5 ms of measuring.
class every_key_type : public cli, public testing::WithParamInterface<std::string> {};

const std::vector<std::string> few_operations{"find", "range", "sum"};

TEST_P(every_key_type, answers_on_every_distribution) {
  std::string list;
  for (const auto& d : distributions) list += (list.empty() ? "" : ",") + d;
  const json j =
      bench("static", std::string("--keys 3000 --queries 200 --threads 2 --ops find,range,sum --distribution ") + list +
                          " --key-type " + GetParam());
  ASSERT_EQ(j["rows"].size(), few_operations.size() * distributions.size());
  std::size_t i = 0;
  for (const auto& d : distributions) {
    for (const auto& op : few_operations) {
      const json& row = j["rows"][i++];
      expect_row_schema(row);
      EXPECT_EQ(row["op"], op);
      EXPECT_EQ(row["distribution"], d);
      EXPECT_EQ(row["key_type"], GetParam());
      EXPECT_EQ(row["device"], "cpu");
      EXPECT_EQ(row["threads"], 2);
    }
  }
}

TEST_P(every_key_type, agrees_with_every_peer_for_every_value_type) {
  std::vector<std::string> values = built_types();
  values.emplace_back("none");
  for (const std::string& value : values) {
    const bool all = value == "none" || value == "u64";
    const json j =
        bench("static", "--keys 2000 --queries 64 --ops " + (all ? all_operations : "find,range,sum") +
                            " --distribution zipf --peers lower-bound,std-map,absl-btree,vector-scan,tbb-sort,reduce "
                            "--key-type " +
                            GetParam() + " --value-type " + value);
    const auto& asked = all ? operations : few_operations;
    ASSERT_EQ(j["rows"].size(), asked.size()) << value;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const json& row = j["rows"][i];
      expect_row_schema(row);
      EXPECT_EQ(row["op"], asked[i]);
      EXPECT_EQ(row["value_type"], value);
      EXPECT_GE(row["ratio"].size(), 1u) << row.dump(1);
      if (row["op"] == "find") {
        EXPECT_TRUE(row["ratio"].contains("std-map") && row["ratio"].contains("absl-btree") &&
                    row["ratio"].contains("lower-bound"));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(keys, every_key_type, testing::ValuesIn(built_types()),
                         [](const auto& type) { return type.param; });

TEST_F(cli, empty_index_and_empty_batch_work) {
  for (const char* sizes :
       {"--keys 0 --queries 100", "--keys 100 --queries 0", "--keys 1 --queries 1", "--keys 0 --queries 0"}) {
    const json j = bench("static", std::string(sizes) + " --ops " + all_operations);
    EXPECT_EQ(j["rows"].size(), operations.size()) << sizes;
  }
}

TEST_F(cli, lists_are_axes) {
  const json j = bench(
      "static", "--keys 100,2^10,1e3 --queries 10,20 --key-type u32,u64 --threads 1,2 --ops build,find --peers none");
  EXPECT_EQ(j["rows"].size(), 3u * 2u * 2u * (1u + 2u));
  EXPECT_EQ(j["rows"][0]["keys"], 100);
}

TEST_F(cli, misses_are_answered_as_well) {
  const json j = bench("static",
                       "--keys 5000 --queries 1000 --hit-rate 0.5 --ops find,find-sorted,contains,lower-bound --peers "
                       "lower-bound,std-map");
  EXPECT_EQ(j["rows"].size(), 4u);
}

TEST_F(cli, every_plan_and_node_search_answers) {
  for (const char* plan : {"automatic", "small", "scattered", "ordered", "sort_first", "partition_first"}) {
    const json j =
        bench("static", std::string("--keys 20000 --queries 5000 --ops find,find-sorted,lower-bound --plan ") + plan);
    EXPECT_EQ(j["rows"].size(), 3u) << plan;
    if (std::string(plan) != "automatic") {
      EXPECT_EQ(j["rows"][0]["plan"], plan);
    }
  }
  for (const char* search : {"linear", "hierarchical", "sequential"}) {
    EXPECT_EQ(
        bench("static", std::string("--keys 20000 --queries 5000 --ops find --node-search ") + search)["rows"].size(),
        1u);
  }
}

TEST_F(cli, peers_too_slow_for_the_size_are_left_out_with_a_note) {
  const json j = bench("static", "--keys 5000000 --queries 1000 --ops contains --peers std-map,lower-bound");
  EXPECT_FALSE(j["rows"][0]["ratio"].contains("std-map"));
  EXPECT_TRUE(j["rows"][0]["ratio"].contains("lower-bound"));
  ASSERT_TRUE(j["rows"][0].contains("notes"));
  EXPECT_NE(j["rows"][0]["notes"][0].get<std::string>().find("std-map"), std::string::npos);
}

TEST_F(cli, csv_has_a_header_and_one_line_per_row) {
  const outcome r =
      run("bench static --device cpu --repeat 1 --format csv --keys 1000 --queries 100 --ops build,find --peers "
          "lower-bound");
  ASSERT_EQ(r.code, 0) << r.err;
  std::istringstream lines(r.out);
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);) all.push_back(line);
  ASSERT_EQ(all.size(), 3u);
  const auto fields = [](const std::string& line) { return std::count(line.begin(), line.end(), ','); };
  EXPECT_EQ(all[0].rfind("index,device,op,keys,queries", 0), 0u);
  EXPECT_NE(all[0].find("ratio_lower-bound"), std::string::npos);
  EXPECT_EQ(all[2].rfind("static,cpu,find,1000,100,u32,u32,uniform,", 0), 0u) << all[2];
  EXPECT_EQ(fields(all[0]), fields(all[2]));
}

TEST_F(cli, table_is_for_people) {
  const outcome r =
      run("bench static --device cpu --repeat 1 --keys 1000 --queries 100 --ops find --peers lower-bound");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.out.find("vs lower-bound"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("find"), std::string::npos);
}

TEST_F(cli, out_writes_the_file_and_nothing_else) {
  const auto file = scratch_file("out.json");
  const outcome r =
      run("bench static --device cpu --repeat 1 --keys 1000 --queries 100 --ops find --format json --out '" +
          file.string() + "'");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(json::parse(contents(file))["rows"].size(), 1u);
  std::filesystem::remove(file);
}

TEST_F(cli, same_seed_same_answers_counted) {
  const auto elements = [](int seed) {
    return bench("static", "--keys 5000 --queries 50 --ops range --distribution zipf --peers none --seed " +
                               std::to_string(seed))["rows"][0]["range_elements"];
  };
  EXPECT_EQ(elements(7), elements(7));
  EXPECT_NE(elements(7), elements(8));
}

TEST_F(cli, demo_shows_the_four_questions) {
  const outcome r = run("demo --keys 20000");
  ASSERT_EQ(r.code, 0) << r.err;
  for (const char* word : {"find a key", "fetch a range", "count a range", "sum over a range", "std::map",
                           "binary search", "All answers agree"}) {
    EXPECT_NE(r.out.find(word), std::string::npos) << word << '\n' << r.out;
  }
}

}  // namespace
}  // namespace espalier::cli_test
