// explain_test.cpp - the path of a batch: as asked for, else one that is named and explained.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/blink_subject.hpp"

namespace espalier::test {
namespace {

class BlinkTreeExplain : public testing::TestWithParam<const setting*> {};

TEST_P(BlinkTreeExplain, APathThatIsAskedForIsTaken) {
  const blink_subject<std::uint32_t, std::uint32_t> s(*GetParam(), make_keys<std::uint32_t>(family::uniform, 3000));
  for (const write_op op : {write_op::insert, write_op::insert_or_assign, write_op::update, write_op::erase}) {
    for (const std::size_t n : {0u, 1u, 100000u}) {
      for (const batch_semantics semantics : all_semantics) {
        EXPECT_EQ(s.tree().explain(op, n, {semantics, write_path::per_key}).chosen, write_path::per_key);
        EXPECT_EQ(s.tree().explain(op, n, {semantics, write_path::bulk}).chosen, write_path::bulk);
      }
    }
  }
}

TEST_P(BlinkTreeExplain, TheChoiceIsThePathThatIsPredictedToBeFaster) {
  const blink_subject<std::uint32_t, std::uint32_t> s(*GetParam(), make_keys<std::uint32_t>(family::uniform, 3000));
  for (const std::size_t n : {1u, 100u, 10000u, 10000000u}) {
    const write_explanation why = s.tree().explain(write_op::insert, n);
    EXPECT_NE(why.chosen, write_path::automatic);
    EXPECT_EQ(why.chosen == write_path::bulk, why.bulk_seconds < why.per_key_seconds) << n << " keys\n" << why.text;
    EXPECT_NE(why.text.find(espalier::to_string(why.chosen)), std::string::npos) << why.text;
  }
  EXPECT_EQ(s.tree().explain(write_op::insert, 1).chosen, write_path::per_key) << "one key needs no sort";
  const bool on_gpu = GetParam()->dev.kind() == device_kind::cuda;
  EXPECT_EQ(s.tree().explain_apply(100000).chosen, on_gpu ? write_path::bulk : write_path::per_key);
  EXPECT_EQ(s.tree().explain_apply(10).chosen, write_path::per_key);
  EXPECT_EQ(s.tree().explain_apply(10, {batch_semantics::ordered}).chosen, write_path::bulk);
  EXPECT_EQ(s.tree().explain_apply(100000, {batch_semantics::ordered, write_path::per_key}).chosen,
            write_path::per_key);
  EXPECT_NE(s.tree().explain_apply(10, {batch_semantics::concurrent, write_path::bulk}).text.find("caller"),
            std::string::npos);
}

TEST_P(BlinkTreeExplain, ReadsNameTheirPlanAndTheReason) {
  const bool on_gpu = GetParam()->dev.kind() == device_kind::cuda;
  const auto keys = make_keys<std::uint64_t>(family::uniform, std::size_t{1} << 18);
  const auto tree = blink_tree<std::uint64_t, std::uint64_t>::build(keys.span(), keys.span(), {}, GetParam()->dev);
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{10000}, std::size_t{1} << 24}) {
    const explanation e = tree.explain(n);
    EXPECT_NE(e.text.find(espalier::to_string(e.chosen)), std::string::npos) << e.text;
    EXPECT_EQ(e.candidates.empty(), on_gpu) << "times are predicted on a CPU";
    EXPECT_EQ(tree.explain(n, {batch_order::unknown, query_plan::partition_first}).chosen, query_plan::partition_first);
    EXPECT_NE(tree.explain(n, {batch_order::unknown, query_plan::scattered}).chosen, query_plan::partition_first);
    EXPECT_NE(tree.explain(n, {batch_order::ascending, query_plan::automatic}).chosen, query_plan::partition_first);
  }
  EXPECT_NE(tree.explain(1).chosen, query_plan::partition_first) << "one query needs no buckets";
  if (on_gpu) return;
  const explanation many = tree.explain(std::size_t{1} << 20);
  EXPECT_EQ(many.chosen, query_plan::partition_first) << many.text;
  ASSERT_EQ(many.candidates.size(), 2u);
  EXPECT_LT(many.candidates[1].seconds, many.candidates[0].seconds) << many.text;

  // Of a batch that is given, a sample is taken.
  std::vector<std::uint64_t> batch(std::size_t{1} << 18, keys[77]);
  EXPECT_NE(tree.explain(batch).chosen, query_plan::partition_first) << tree.explain(batch).text;
  for (std::size_t i = 0; i < batch.size(); ++i) batch[i] = keys[i * 7919 % keys.size()];
  EXPECT_EQ(tree.explain(batch).chosen, query_plan::partition_first) << tree.explain(batch).text;
  std::sort(batch.begin(), batch.end());
  EXPECT_NE(tree.explain(batch).chosen, query_plan::partition_first) << tree.explain(batch).text;
  std::reverse(batch.begin(), batch.end());
  EXPECT_NE(tree.explain(batch).chosen, query_plan::partition_first) << tree.explain(batch).text;
}

TEST_P(BlinkTreeExplain, ReadsOfATreeWithoutALaneOrWithARefHaveNoBuckets) {
  const auto keys = make_keys<std::uint64_t>(family::uniform, std::size_t{1} << 18);
  using classic = blink_policy<protocol::blink, inner_index::inner_nodes>;
  const auto nodes =
      blink_tree<std::uint64_t, std::uint64_t, classic>::build(keys.span(), keys.span(), {}, GetParam()->dev);
  const query_options asked{batch_order::unknown, query_plan::partition_first};
  EXPECT_EQ(nodes.explain(std::size_t{1} << 24, asked).chosen, query_plan::scattered);
  auto tree = blink_tree<std::uint64_t, std::uint64_t>::build(keys.span(), keys.span(), {}, GetParam()->dev);
  static_cast<void>(tree.ref());
  EXPECT_EQ(tree.explain(std::size_t{1} << 24, asked).chosen, query_plan::scattered);
  tree.maintain();
  EXPECT_EQ(tree.explain(std::size_t{1} << 24, asked).chosen, query_plan::partition_first);
}

INSTANTIATE_TEST_SUITE_P(, BlinkTreeExplain, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
