// radix_bench_test.cpp - `espalier bench radix` from outside: every operation on every data set, small, whose
// answers are checked there.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include "cli/cli_fixture.hpp"

namespace espalier::cli_test {
namespace {

const std::vector<std::string> radix_operations{"build",  "find",         "contains", "lower-bound",
                                                "range",  "count-prefix", "prefix",   "successor",
                                                "insert", "update",       "erase"};
const std::string all_radix_operations =
    "build,find,contains,lower-bound,range,count-prefix,prefix,successor,insert,update,erase";
bool has_peers(const json& row) { return row["op"] == "find" || row["op"] == "update"; }

class radix_bench : public cli {
 protected:
  static json radix(const std::string& arguments) { return bench("radix", arguments); }
};

void expect_radix_row(const json& row) {
  EXPECT_EQ(row["index"], "radix");
  EXPECT_EQ(row["device"], "cpu");
  EXPECT_EQ(row["location"], "host");
  EXPECT_EQ(row["key_type"], "bytes");
  EXPECT_EQ(row["value_type"], "u64");
  for (const char* name : {"key_length", "mean_key_length", "long_share", "threads", "queries"}) {
    ASSERT_TRUE(row.contains(name) && row[name].is_number()) << name << '\n' << row.dump(1);
  }
  EXPECT_GT(row["seconds"].get<double>(), 0);
  EXPECT_GT(row["rate"].get<double>(), 0);
  EXPECT_GE(row["bytes_per_key"].get<double>(), 8) << "a value at least";
  EXPECT_FALSE(row.contains("policy"));
}

TEST_F(radix_bench, bad_arguments_get_one_sentence_and_exit_code_2) {
  const std::string small = "bench radix --device cpu --keys 10 ";
  expect_refused(small + "--key-length long", "--key-length");
  expect_refused(small + "--key-length 70000", "70000");
  expect_refused(small + "--key-length 0", "uniform");
  expect_refused(small + "--key-length 20 --distribution uuids", "uuids");
  expect_refused(small + "--key-length 8 --distribution urls", "urls");
  expect_refused(small + "--key-length 8 --distribution triples", "triples");
  expect_refused(small + "--distribution zipf", "triples");
  expect_refused(small + "--batch 0", "--batch");
  expect_refused(small + "--batch few", "--batch");
  expect_refused(small + "--streams 1000", "--streams");
  expect_refused(small + "--location disk", "device, host");
  expect_refused(small + "--ops range --range-length 0", "--range-length");
  expect_refused(small + "--long-share some", "--long-share");
  expect_refused(small + "--long-share 1.5", "--long-share");
  expect_refused(small + "--long-keys nowhere", "in-host-memory");
  expect_refused("bench radix --device cpu --keys 257 --key-length 1", "256");
  expect_refused("bench radix --keys 2^32", "--keys");
  expect_refused("bench radix --device cpu --keys 256 --key-length 1 --hit-rate 0.5 --ops find", "--hit-rate");
}

TEST_F(radix_bench, operations_of_other_indexes_are_refused_and_its_own_named) {
  for (const char* op : {"sum", "visit", "insert-bulk", "ycsb-a", "find-sorted"}) {
    expect_refused(
        std::string("bench radix --ops ") + op,
        "build, find, contains, lower-bound, range, count-prefix, prefix, successor, insert, update, erase.");
  }
  for (const char* op : {"prefix", "count-prefix"}) {
    expect_refused(std::string("bench static --ops ") + op, op);
    expect_refused(std::string("bench blink --ops ") + op, op);
  }
  expect_refused("bench static --ops successor", "successor");
}

TEST_F(radix_bench, options_of_other_indexes_are_refused_and_its_own_by_those) {
  for (const char* option : {"--plan small", "--node-search linear", "--aggregates sum"}) {
    expect_refused(std::string("bench radix ") + option, "which is for static");
  }
  for (const char* option : {"--policy link", "--upper classic", "--slots 8"}) {
    expect_refused(std::string("bench radix ") + option, "which is for blink;");
  }
  for (const char* option : {"--requests zipf", "--fill 0.5"}) {
    expect_refused(std::string("bench radix ") + option, "which is for blink, hybrid;");
  }
  for (const char* option : {"--key-type u64", "--value-type u32"}) {
    expect_refused(std::string("bench radix ") + option, "which is for static, blink, hybrid;");
  }
  for (const char* option : {"--path bulk", "--path per-key"}) {
    expect_refused(std::string("bench radix --keys 10 ") + option, "automatic, in-place, rebuild");
  }
  expect_refused("bench blink --keys 10 --path in-place", "automatic, per-key, bulk");
  for (const char* option : {"--path rebuild", "--batch 10"}) {
    expect_refused(std::string("bench static --keys 10 ") + option, "which is for blink, radix;");
  }
  for (const char* option :
       {"--key-length 16", "--long-share 0.5", "--long-keys host-replica", "--location host", "--streams 2"}) {
    expect_refused(std::string("bench static --keys 10 ") + option, "which is for radix;");
    expect_refused(std::string("bench blink --keys 10 ") + option, "which is for radix;");
  }
}

TEST_F(radix_bench, help_tells_about_it) {
  const outcome r = run("bench radix --help");
  for (const char* word : {"radix", "--key-length", "--long-share", "count-prefix", "uuids", "triples", "--location",
                           "--streams", "in-place", "successor"}) {
    EXPECT_NE(r.out.find(word), std::string::npos) << word;
  }
}

TEST_F(radix_bench, ways_of_long_keys_are_an_axis) {
  const json j = radix(
      "--keys 2000 --queries 500 --distribution urls --ops find --peers none --long-keys "
      "on-device,in-host-memory,host-replica");
  ASSERT_EQ(j["rows"].size(), 3u);
  EXPECT_EQ(j["rows"][0]["plan"], "on-device");
  EXPECT_EQ(j["rows"][1]["plan"], "in-host-memory");
  EXPECT_EQ(j["rows"][2]["plan"], "host-replica");
}

struct radix_case {
  const char* name;
  const char* distribution;
  const char* more;
  unsigned key_length;
};

class every_byte_data : public radix_bench, public testing::WithParamInterface<radix_case> {};

TEST_P(every_byte_data, does_every_operation_beside_both_maps) {
  const radix_case& c = GetParam();
  const json j =
      radix(std::string("--keys 3000 --queries 700 --threads 2 --distribution ") + c.distribution + " " + c.more);
  ASSERT_EQ(j["rows"].size(), radix_operations.size()) << "all operations are the default";
  for (std::size_t i = 0; i < radix_operations.size(); ++i) {
    const json& row = j["rows"][i];
    expect_radix_row(row);
    EXPECT_EQ(row["op"], radix_operations[i]);
    EXPECT_EQ(row["distribution"], c.distribution);
    EXPECT_EQ(row["key_length"], c.key_length);
    EXPECT_EQ(row["keys"], 3000);
    EXPECT_EQ(row["queries"], i == 0 ? 0 : 700);
    EXPECT_EQ(row["threads"], 2);
    if (c.key_length != 0 && row["long_share"] == 0) {
      EXPECT_EQ(row["mean_key_length"], c.key_length);
    } else {
      EXPECT_GT(row["mean_key_length"].get<double>(), c.key_length);
    }
    for (const char* peer : {"std-map", "absl-btree"}) {
      ASSERT_EQ(row["ratio"].contains(peer), has_peers(row)) << row.dump(1);
      if (has_peers(row)) {
        EXPECT_GT(row["ratio"][peer].get<double>(), 0);
      }
    }
  }
}

TEST_P(every_byte_data, answers_misses) {
  const radix_case& c = GetParam();
  const json j = radix(std::string("--keys 2000 --queries 3000 --hit-rate 0.4 --ops ") + all_radix_operations +
                       " --distribution " + c.distribution + " " + c.more);
  EXPECT_EQ(j["rows"].size(), radix_operations.size());
}

TEST_P(every_byte_data, other_radix_trees_answer_alike) {
  const radix_case& c = GetParam();
  const json j = radix(std::string("--keys 3000 --queries 2000 --hit-rate 0.6 --threads 2 --ops find,update,find "
                                   "--batch 700 --peers pointer-art,grt-like,fixed-table --distribution ") +
                       c.distribution + " " + c.more);
  for (const auto& row : j["rows"]) {
    EXPECT_GT(row["ratio"]["pointer-art"].get<double>(), 0) << row.dump(1);
    EXPECT_GT(row["ratio"]["grt-like"].get<double>(), 0) << row.dump(1);
    EXPECT_GT(row["ratio"]["fixed-table"].get<double>(), 0) << row.dump(1);
  }
}

INSTANTIATE_TEST_SUITE_P(
    data, every_byte_data,
    testing::Values(radix_case{"uniform", "uniform", "", 16}, radix_case{"uniform_8", "uniform", "--key-length 8", 8},
                    radix_case{"uniform_long", "uniform", "--key-length 100", 100},
                    radix_case{"uniform_mixed", "uniform", "--long-share 0.3", 16},
                    radix_case{"sequential", "sequential", "", 16},
                    radix_case{"sequential_3", "sequential", "--key-length 3", 3}, radix_case{"uuids", "uuids", "", 16},
                    radix_case{"uuids_text", "uuids", "--key-length 36", 36}, radix_case{"urls", "urls", "", 0},
                    radix_case{"urls_32", "urls", "--key-length 32", 32}, radix_case{"triples", "triples", "", 32},
                    radix_case{"triples_natural", "triples", "--key-length 0", 0}),
    [](const auto& c) { return std::string(c.param.name); });

TEST_F(radix_bench, lengths_data_sizes_and_threads_are_axes) {
  const json j = radix(
      "--keys 500,600 --queries 50,60 --key-length 16,36 --distribution uniform,uuids --threads 1,2 --ops build,find "
      "--peers none");
  ASSERT_EQ(j["rows"].size(), 2u * 2u * 2u * 2u * (1u + 2u));
  EXPECT_EQ(j["rows"].front()["key_length"], 16);
  EXPECT_EQ(j["rows"].back()["key_length"], 36);
  EXPECT_EQ(j["rows"].back()["distribution"], "uuids");
  EXPECT_EQ(j["rows"].back()["keys"], 600);
  EXPECT_EQ(j["rows"].back()["queries"], 60);
  EXPECT_EQ(j["rows"].back()["threads"], 2);
}

TEST_F(radix_bench, tiny_trees_keys_and_batches_work) {
  for (const char* sizes : {"--keys 0 --queries 100", "--keys 0 --queries 0", "--keys 1 --queries 1",
                            "--keys 100 --queries 0", "--keys 256 --queries 50 --key-length 1"}) {
    const json j = radix(std::string(sizes) + " --peers std-map,pointer-art,grt-like,fixed-table");
    EXPECT_EQ(j["rows"].size(), radix_operations.size()) << sizes;
  }
  const json j = radix("--keys 100,300 --queries keys --ops find --peers none");
  EXPECT_EQ(j["rows"][0]["queries"], 100);
  EXPECT_EQ(j["rows"][1]["queries"], 300);
}

TEST_F(radix_bench, finds_go_in_batches_by_several_callers) {
  for (const char* data : {"uniform", "urls"}) {
    const json j = radix(std::string("--keys 3000 --queries 1000 --hit-rate 0.7 --ops find,contains --batch 1,300,5000 "
                                     "--streams 0,1,3 --distribution ") +
                         data);
    ASSERT_EQ(j["rows"].size(), 2u * 3u * 3u);
    const json& one = j["rows"][3];
    EXPECT_EQ(one["batch"], 300);
    EXPECT_EQ(one["streams"], 1) << "as many as are useful";
    EXPECT_EQ(one["queries"], 1000);
    EXPECT_TRUE(one["ratio"].contains("std-map"));
    EXPECT_EQ(j["rows"][8]["streams"], 3);
    EXPECT_EQ(j["rows"][8]["batch"], 1000) << "no more than there are";
  }
}

TEST_F(radix_bench, writes_take_batches_and_paths) {
  const json j = radix("--keys 3000 --ops update,insert,erase --batch 10,400,2000 --path automatic,in-place,rebuild");
  ASSERT_EQ(j["rows"].size(), 3u + 9u + 9u);
  for (const auto& row : j["rows"]) {
    EXPECT_EQ(row["batch"], row["queries"]);
    ASSERT_EQ(row.contains("path"), row["op"] != "update") << row.dump(1);
    ASSERT_EQ(row.contains("share_of_find"), row["op"] == "update") << row.dump(1);
    ASSERT_EQ(row.contains("share_of_enqueued_find"), row["op"] == "update") << row.dump(1);
    EXPECT_FALSE(row.contains("streams"));
  }
  EXPECT_EQ(j["rows"][2]["batch"], 2000);
  EXPECT_GT(j["rows"][2]["share_of_find"].get<double>(), 0);
  EXPECT_EQ(j["rows"][4]["path"], "in-place");
  EXPECT_EQ(j["rows"][20]["op"], "erase");
  EXPECT_EQ(j["rows"][20]["path"], "rebuild");
}

TEST_F(radix_bench, writes_that_find_too_few_keys_say_so) {
  const json j = radix("--keys 500 --ops insert,update,erase --batch 600 --distribution sequential --key-length 2");
  EXPECT_EQ(j["rows"][1]["queries"], 600);
  EXPECT_EQ(j["rows"][2]["queries"], 500);
  EXPECT_NE(j["rows"][2]["notes"].dump().find("500 of 600"), std::string::npos) << j["rows"][2].dump(1);
  const json all = radix("--keys 250 --ops insert --batch 10 --key-length 1");
  EXPECT_NE(all["rows"][0]["notes"].dump().find("6 of 10"), std::string::npos) << all["rows"][0].dump(1);
}

TEST_F(radix_bench, questions_after_writes_see_the_data_again) {
  const json j = radix("--keys 2000 --queries 500 --ops erase,find,update,range,insert,successor,update,find");
  EXPECT_EQ(j["rows"].size(), 8u);
}

TEST_F(radix_bench, lists_are_as_long_as_asked) {
  const json j = radix("--keys 5000 --queries 100 --ops range,prefix,successor --range-length 10");
  EXPECT_GT(j["rows"][0]["range_elements"], 900);
  EXPECT_LE(j["rows"][0]["range_elements"], 1000);
  EXPECT_GE(j["rows"][1]["range_elements"], 100);
  EXPECT_LT(j["rows"][1]["range_elements"], 2000);
  EXPECT_LE(j["rows"][2]["range_elements"], 100);
}

TEST_F(radix_bench, table_shows_batches_and_paths_only_where_they_differ) {
  const std::string common = "bench radix --device cpu --repeat 1 --keys 1000 --peers none ";
  const outcome one = run(common + "--queries 100 --ops find");
  const outcome many = run(common + "--ops update,insert --batch 10,100 --path in-place,rebuild");
  EXPECT_EQ(one.out.find("batch"), std::string::npos) << one.out;
  for (const char* word : {"batch", "path", "rebuild", "of find", " %"}) {
    EXPECT_NE(many.out.find(word), std::string::npos) << word << '\n' << many.out;
  }
}

TEST_F(radix_bench, its_peers_do_not_stand_beside_other_trees) {
  for (const char* index : {"static", "blink"}) {
    const json j = bench(index, "--keys 100 --queries 10 --ops find --peers pointer-art,grt-like");
    EXPECT_NE(j["rows"][0]["notes"].dump().find("pointer-art: skipped"), std::string::npos) << j["rows"][0].dump(1);
    EXPECT_EQ(j["rows"][0]["ratio"].size(), 0u);
  }
}

TEST_F(radix_bench, peers_that_do_not_apply_are_mentioned_if_named) {
  const json j = radix("--keys 1000 --queries 100 --ops find,contains --peers lower-bound,std-map");
  EXPECT_TRUE(j["rows"][0]["ratio"].contains("std-map"));
  EXPECT_FALSE(j["rows"][0]["ratio"].contains("lower-bound"));
  EXPECT_NE(j["rows"][0]["notes"].dump().find("lower-bound: skipped"), std::string::npos);
  EXPECT_EQ(j["rows"][1]["inapplicable_peers"], json::array({"std-map"}));
}

TEST_F(radix_bench, table_and_csv_have_lengths) {
  const std::string common =
      "bench radix --device cpu --repeat 1 --threads 1 --keys 1000 --queries 100 --ops find --distribution "
      "urls,triples --peers std-map ";
  const outcome table = run(common), csv = run(common + "--format csv");
  ASSERT_EQ(table.code, 0) << table.err;
  ASSERT_EQ(csv.code, 0) << csv.err;
  for (const char* word : {"bytes/u64", "length", "urls", "triples", "~", " 32 ", "vs std-map", "B/key"}) {
    EXPECT_NE(table.out.find(word), std::string::npos) << word << '\n' << table.out;
  }
  const outcome other = run("bench static --device cpu --repeat 1 --keys 1000 --queries 100 --ops find --peers none");
  EXPECT_EQ(other.out.find("length"), std::string::npos) << other.out;
  std::vector<std::string> lines;
  std::istringstream text(csv.out);
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(
      lines[0].find(",key_length,mean_key_length,long_share,batch,path,streams,share_of_find,ratio_std-map,notes"),
      std::string::npos)
      << lines[0];
  const auto commas = [](const std::string& line) { return std::count(line.begin(), line.end(), ','); };
  EXPECT_EQ(commas(lines[0]), commas(lines[1])) << lines[1];
  EXPECT_EQ(commas(lines[0]), commas(lines[2])) << lines[2];
}

TEST_F(radix_bench, suite_writes_a_table_and_a_plot_for_each_figure) {
  const auto folder = scratch_file("cuart");
  const outcome r = run("bench papers cuart --device cpu --max-keys 2^11 --repeat 1 --out '" + folder.string() + "'");
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_NE(r.err.find("figure 17"), std::string::npos) << "long work says where it is";
  std::size_t beside_art = 0, beside_grt = 0;
  for (const char* figure : {"7", "8", "9", "10", "11", "12", "15", "16", "17"}) {
    const json results = json::parse(contents(folder / (std::string(figure) + "-cpu.json")), nullptr, false);
    ASSERT_TRUE(results.contains("rows")) << figure;
    for (const auto& row : results["rows"]) {
      EXPECT_EQ(row["index"], "radix");
      EXPECT_LE(row["keys"], 2048);
      beside_art += row["ratio"].contains("pointer-art");
      beside_grt += row["ratio"].contains("grt-like");
    }
  }
  EXPECT_EQ(beside_art, 4u + 5u) << "figures 7 and 17";
  EXPECT_EQ(beside_grt, 7u + 6u + 1u + 12u + 5u + 5u) << "figures 8 to 12 and 17";
  const std::string tables = contents(folder / "tables.md");
  for (const char* word : {"No GPU was measured", "The paper:", "espalier, CPU, 32 bytes", "pointer-art, CPU",
                           "grt-like, CPU", "triples", "| 2^10 |", "| 64 |", "Command:"}) {
    EXPECT_NE(tables.find(word), std::string::npos) << word;
  }
  for (const char* figure : {"7", "8", "9", "10", "11", "12", "15", "16", "17"}) {
    const std::string name = std::string("figure-") + figure + ".svg";
    const std::string svg = contents(folder / name);
    EXPECT_EQ(svg.rfind("<svg ", 0), 0u) << name;
    EXPECT_NE(svg.find("</svg>"), std::string::npos) << name;
    EXPECT_NE(svg.find(">espalier, CPU"), std::string::npos) << name;
    EXPECT_EQ(svg.find("nan"), std::string::npos) << name;
    EXPECT_NE(r.out.find(name), std::string::npos) << r.out;
    EXPECT_NE(tables.find(name), std::string::npos) << name;
  }
  std::filesystem::remove_all(folder);
}

TEST_F(radix_bench, suite_refuses_what_it_does_not_take) {
  expect_refused("bench papers cuart --keys 100", "--keys");
  expect_refused("bench papers cuart --max-keys 100", "--max-keys");
  expect_refused("bench papers cuart --max-keys 2^30", "--max-keys");
  expect_refused("bench papers cuart --device cpu --threads 1,2", "--threads");
  expect_refused("bench papers cuart --out /proc/nowhere", "/proc/nowhere");
  expect_refused("bench papers cuart --parts 7,13", "'13': choose from 7, 8, 9, 10, 11, 12, 15, 16, 17.");
}

}  // namespace
}  // namespace espalier::cli_test
