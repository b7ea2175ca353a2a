// radix_calls_test.cpp - traces of radix trees through the library's own calls (inspect/radix_trace.hpp).
#include "inspect/radix_calls.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "espalier/team/scalar_team.hpp"
#include "explorer/read_trace.hpp"

namespace espalier::test {
namespace {

TEST(RadixCalls, DoWhatAMapDoesAndAreReplayed) {
  for (const unsigned teams : {1u, 2u, 4u}) expect_traced_calls(device::cpu(2), teams);
}

TEST(RadixCalls, BeginAnEmptyTree) {
  radix_tree<double> tree(device::cpu(1));
  recorded_trace trace = begin_trace(tree);
  trace_recorder recorder(tree.get_device(), 1 << 12);
  traced_radix_calls work(tree, recorder);
  EXPECT_EQ(work.erase(keys_of_numbers({1})).unchanged, 1u);
  EXPECT_EQ(work.insert(keys_of_numbers({1, 1}), std::vector<double>{0.5, 2}).done, 1u);
  end_trace(trace, tree, recorder);
  std::vector<double> value(1);
  tree.find(keys_of_numbers({1}), value);
  EXPECT_EQ(value[0], 0.5) << "of equal keys that are inserted the first one's value stays";
  std::stringstream file;
  write_trace(file, trace);
  EXPECT_EQ(explorer::read_trace(file).events.size(), trace.events.size());
}

TEST(RadixCalls, ARefTellsWhereATracedTeamGoes) {
  const auto keys = keys_of_numbers({1, 2, 300});
  const auto tree = radix_tree<std::uint64_t>::build(keys, number_list{7, 8, 9}, {}, device::cpu(1));
  recorded_trace trace = begin_trace(tree);
  trace_recorder recorder(tree.get_device(), 1 << 8);
  const auto ref = tree.ref();
  std::uint64_t value = 0;
  EXPECT_TRUE(ref.find(traced_team(scalar_team{}, recorder.ring(), 0), ref.key(keys[2]), value));
  end_trace(trace, tree, recorder);
  ASSERT_FALSE(trace.events.empty());
  EXPECT_EQ(trace.events.back().kind, trace_kind::reach);
  const trace_node_state* leaf = trace.final.find({trace.events.back().node, false});
  ASSERT_NE(leaf, nullptr);
  EXPECT_EQ(leaf->keys, number_list{300});
}

TEST(RadixCalls, RefuseKeysThatTracesDoNotKnow) {
  auto tree = radix_tree<std::uint64_t>::build(keys_of_numbers({1, 2}), number_list{1, 2}, {}, device::cpu(1));
  trace_recorder recorder(tree.get_device(), 1 << 8);
  traced_radix_calls work(tree, recorder, 2);
  EXPECT_THROW(work.insert({"12345678", "short"}, number_list{3, 4}), error);
  EXPECT_THROW(work.find({"123456789"}), error);
  EXPECT_EQ(tree.size(), 2u);
  EXPECT_TRUE(recorder.take().empty());
  tree.insert({"short"}, number_list{5});
  EXPECT_THROW((void)begin_trace(tree), error);
  EXPECT_THROW((void)state_of(tree), error);
}

TEST(RadixCalls, AreForTreesThatHaveHooks) {
  const auto tree =
      radix_tree<std::uint32_t>::build(keys_of_numbers({1}), std::vector<std::uint32_t>{1}, {}, device::cpu(1));
  EXPECT_EQ(begin_trace(tree).start.nodes.size(), 2u);
  const auto keys = keys_of_numbers({1});
  EXPECT_THROW(
      (void)detail::run_traced(tree.untyped(), {trace_op::find, byte_string_batch(keys).raw(), nullptr, 0, 1, {}, 0}),
      error);
}

}  // namespace
}  // namespace espalier::test
