// bench_trace_test.cpp - `espalier bench INDEX --trace` for each index: the file replays, and its trees hold what its
// operations say.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "cli/cli_fixture.hpp"
#include "espalier/inspect/replay.hpp"
#include "explorer/read_trace.hpp"

namespace espalier::cli_test {
namespace {

using number_set = std::set<std::uint64_t>;

number_set keys_in_leaves(const trace_state& state) {
  number_set keys;
  for (const auto& [name, node] : state.nodes) {
    if (!name.inner && !node.dead) keys.insert(node.keys.begin(), node.keys.end());
  }
  return keys;
}

/// The operations of a trace, as its begin and end events tell them.
struct told_operations {
  std::map<trace_op, unsigned> count, done;
  number_set keys;  ///< of the tree, after all of them

  explicit told_operations(const recorded_trace& trace) : keys(keys_in_leaves(trace.start)) {
    std::map<std::uint32_t, std::uint64_t> asked;
    for (const trace_event& e : trace.events) {
      const auto op = static_cast<trace_op>(e.what);
      if (e.kind == trace_kind::begin) asked[e.team] = e.key;
      // Where a pool of nodes was full, the key comes again.
      if (e.kind != trace_kind::end || static_cast<trace_result>(e.at) == trace_result::out_of_nodes) continue;
      ++count[op];
      if (static_cast<trace_result>(e.at) != trace_result::done) continue;
      ++done[op];
      if (op == trace_op::insert) keys.insert(asked.at(e.team));
      if (op == trace_op::erase) keys.erase(asked.at(e.team));
    }
  }
};

class bench_trace : public cli {
 protected:
  void TearDown() override { std::filesystem::remove(file_); }
  [[nodiscard]] recorded_trace record(const std::string& index, const std::string& arguments) const {
    (void)bench(index, "--peers none --queries 2^10 --threads 2 " + arguments + " --trace " + file_.string());
    return explorer::read_trace_file(file_.string());
  }

  std::filesystem::path file_ = scratch_file("bench.trace");
};

/// Each of `ops` with 512 keys, all of which it finds, brings or takes; forwards to the final tree and back.
void expect_whole(const recorded_trace& trace, const std::set<trace_op>& ops) {
  EXPECT_EQ(trace.lost, 0u);
  const told_operations told(trace);
  for (const trace_op op : {trace_op::find, trace_op::insert, trace_op::update, trace_op::erase}) {
    const unsigned expected = ops.contains(op) ? 512 : 0;
    EXPECT_EQ(told.count.contains(op) ? told.count.at(op) : 0, expected) << static_cast<int>(op);
    EXPECT_EQ(told.done.contains(op) ? told.done.at(op) : 0, expected) << static_cast<int>(op);
  }
  trace_replay replay(trace);
  replay.go(trace.events.size());
  EXPECT_TRUE(replay.state() == trace.final);
  EXPECT_EQ(keys_in_leaves(replay.state()), told.keys);
  replay.go(0);
  EXPECT_TRUE(replay.state() == trace.start);
}

TEST_F(bench_trace, of_a_radix_tree) {
  for (const std::string data : {"uniform --key-length 16", "sequential"}) {
    const recorded_trace trace =
        record("radix", "--keys 2^13 --ops build,insert,find,update,erase,range,prefix --distribution " + data);
    EXPECT_EQ(trace.header.index, "radix");
    EXPECT_EQ(keys_in_leaves(trace.start).size(), 4096u);
    expect_whole(trace, {trace_op::insert, trace_op::find, trace_op::update, trace_op::erase});
    EXPECT_EQ(told_operations(trace).count[trace_op::range], 16u);
    EXPECT_NE(trace.left_out.find("not recorded: build, prefix"), std::string::npos) << trace.left_out;
    EXPECT_NE(trace.left_out.find("keys of 8 bytes"), std::string::npos) << trace.left_out;
  }
}

TEST_F(bench_trace, of_a_radix_tree_with_the_keys_of_its_data) {
  const recorded_trace trace = record("radix", "--distribution sequential --keys 1000 --ops insert");
  number_set first, all;
  for (std::uint64_t k = 0; k < 1512; ++k) {
    if (k < 1000) first.insert(k);
    all.insert(k);
  }
  EXPECT_EQ(keys_in_leaves(trace.start), first);
  EXPECT_EQ(keys_in_leaves(trace.final), all);
}

TEST_F(bench_trace, of_a_hybrid_tree) {
  const recorded_trace regular =
      record("hybrid", "--layout regular --keys 2^12 --key-type u64 --ops find,insert,update,erase,range");
  EXPECT_EQ(regular.header.index, "hybrid");
  EXPECT_EQ(regular.header.protocol, "link");
  expect_whole(regular, {trace_op::insert, trace_op::find, trace_op::update, trace_op::erase});
  const recorded_trace implicit = record("hybrid", "--keys 2^12 --ops find,range,update");
  EXPECT_EQ(implicit.header.protocol, "none");
  expect_whole(implicit, {trace_op::find});
  EXPECT_NE(implicit.left_out.find("not recorded: update"), std::string::npos) << implicit.left_out;
  EXPECT_NE(implicit.left_out.find("host memory"), std::string::npos) << implicit.left_out;
}

TEST_F(bench_trace, of_a_static_tree) {
  const recorded_trace trace = record("static", "--keys 2^12 --ops find,range,sum --range-length 5");
  EXPECT_EQ(trace.header.index, "static");
  expect_whole(trace, {trace_op::find});
  unsigned of_five = 0;
  for (const trace_event& e : trace.events) {
    if (e.kind == trace_kind::end && static_cast<trace_op>(e.what) == trace_op::range) of_five += e.key2 == 5 ? 1 : 0;
  }
  EXPECT_GE(of_five, 15u) << "of 16 ranges, one may be at the end of the tree";
  EXPECT_NE(trace.left_out.find("not recorded: sum"), std::string::npos) << trace.left_out;
}

TEST_F(bench_trace, of_a_tree_that_begins_empty) {
  const recorded_trace trace = record("blink", "--keys 2^12 --ops insert-empty,find");
  EXPECT_TRUE(keys_in_leaves(trace.start).empty());
  expect_whole(trace, {trace_op::insert, trace_op::find});
}

TEST_F(bench_trace, has_no_more_operations_than_queries_were_asked_for) {
  (void)bench("blink", "--peers none --queries 20 --threads 1 --keys 64 --ops insert --trace " + file_.string());
  EXPECT_EQ(told_operations(explorer::read_trace_file(file_.string())).count[trace_op::insert], 20u);
}

TEST_F(bench_trace, refusals_say_what_can_be_recorded_and_leave_no_file) {
  const std::string end = " --keys 1000 --trace " + file_.string();
  expect_refused("bench radix --distribution urls" + end, "uniform or sequential");
  expect_refused("bench radix --ops build,lower-bound" + end, "find, contains, range, insert, update, erase");
  expect_refused("bench static --device cpu --ops sum,visit" + end, "find, contains, range");
  expect_refused("bench hybrid --ops update,erase" + end, "find, contains, range");
  expect_refused("bench blink --ops sum" + end, "find-after-insert");
  EXPECT_FALSE(std::filesystem::exists(file_));
}

}  // namespace
}  // namespace espalier::cli_test
