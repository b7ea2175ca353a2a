// explain_test.cpp - the path of a batch: as asked for, else one that is named and explained.
#include <gtest/gtest.h>

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

INSTANTIATE_TEST_SUITE_P(, BlinkTreeExplain, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
