// split_test.cpp - a leaf splits, and its right half splits again, while somebody is on the way to it.
#include "blink_steps/questions.hpp"

namespace espalier::test {
namespace {

/// one() asks for the last key of leaf 1, or for what is next to it; other() makes the leaf split `Splits` times, and
/// each time that key moves on to a new leaf.
template <class Policy, class Question, unsigned Splits>
struct split_race {
  using tree_type = planted<Policy>;
  static constexpr unsigned last = tree_type::slots - 1;
  static constexpr unsigned inserts = Splits == 1 ? 1 : tree_type::slots / 2 + 1;
  tree_type tree;
  std::set<std::uint32_t> stays = keys_without(tree.expected());
  Question question;
  unsigned inserted = 0;

  [[nodiscard]] std::uint32_t asked() const { return tree.key(1, last); }
  void one() { question.ask(tree.ref(), asked()); }
  void other() {
    for (unsigned i = 0; i < inserts; ++i) {
      const std::uint32_t k = tree.key(1, last) - 2 - i;  // the slot in front of the last key has room for these
      if (tree.ref().insert(stepped_team{}, k, value_of(k)) == write_result::inserted) ++inserted;
      tree.expected()[k] = value_of(k);
    }
  }
  [[nodiscard]] std::string wrong() const {
    if (inserted != inserts) return "an insert of a new key was not done";
    const std::string answer = question.wrong(asked(), stays);
    return answer.empty() ? tree.wrong() : answer;
  }
};

template <class Policy>
class BlinkStepsSplit : public testing::Test {
 protected:
  using once = split_race<Policy, find_question, 1>;
  using twice = split_race<Policy, find_question, 2>;
};
TYPED_TEST_SUITE(BlinkStepsSplit, all_kinds, kind_name);

TYPED_TEST(BlinkStepsSplit, UnderAReaderThatHasOnlyTheNumberOfTheLeaf) {
  typename TestFixture::once race;
  operation reader([&] { race.one(); }), writer([&] { race.other(); });
  ASSERT_TRUE(reader.until(at_the_door_of(race.tree.leaf(1))));
  ASSERT_TRUE(writer.finish());
  ASSERT_TRUE(reader.finish());
  EXPECT_EQ(race.wrong(), "");
  EXPECT_EQ(reader.prefetch_address(race.tree.right_of(1).p), 1u) << "that is where the key went";
}

TYPED_TEST(BlinkStepsSplit, UnderAReaderThatHasReadTheHeader) {
  typename TestFixture::once race;
  operation reader([&] { race.one(); }), writer([&] { race.other(); });
  ASSERT_TRUE(reader.until(past_the_header_of(race.tree.leaf(1))));
  ASSERT_TRUE(writer.finish());
  ASSERT_TRUE(reader.finish());
  EXPECT_EQ(race.wrong(), "");
  EXPECT_EQ(reader.prefetch_address(race.tree.right_of(1).p), 1u) << "what was read of the old leaf was not used";
}

TYPED_TEST(BlinkStepsSplit, AReaderWaitsForAWriterInTheMiddleOfIt) {
  typename TestFixture::once race;
  operation reader([&] { race.one(); }), writer([&] { race.other(); });
  ASSERT_TRUE(writer.until(cutting(race.tree.leaf(1))));
  EXPECT_FALSE(reader.finish()) << "half of the leaf is in two places: nobody may read it";
  ASSERT_TRUE(writer.finish());
  ASSERT_TRUE(reader.finish());
  EXPECT_EQ(race.wrong(), "");
}

TYPED_TEST(BlinkStepsSplit, AReaderOfAnotherLeafDoesNotWait) {
  typename TestFixture::once race;
  operation writer([&] { race.other(); });
  ASSERT_TRUE(writer.until(cutting(race.tree.leaf(1))));
  std::uint32_t value = 0;
  bool found = false;
  operation reader([&] { found = race.tree.ref().find(stepped_team{}, race.tree.key(3, 2), value); });
  // The protocol couple latches the parent too: then everybody waits who comes by.
  ASSERT_EQ(reader.finish(), TypeParam::protocol == protocol::blink);
  ASSERT_TRUE(writer.finish());
  ASSERT_TRUE(reader.finish());
  EXPECT_TRUE(found);
  EXPECT_EQ(value, value_of(race.tree.key(3, 2)));
  race.one();
  EXPECT_EQ(race.wrong(), "");
}

TYPED_TEST(BlinkStepsSplit, OfASplitUnderAReaderThatHasOnlyTheNumberOfTheLeaf) {
  typename TestFixture::twice race;
  operation reader([&] { race.one(); }), writer([&] { race.other(); });
  ASSERT_TRUE(reader.until(at_the_door_of(race.tree.leaf(1))));
  ASSERT_TRUE(writer.finish());
  ASSERT_TRUE(reader.finish());
  EXPECT_EQ(race.wrong(), "");
  const node_id first_half = *race.tree.leaf(1).right();
  EXPECT_EQ(reader.prefetch_address(race.tree.right_of(first_half).p), 1u) << "that is where the key went in the end";
  if (TypeParam::protocol == protocol::blink) {
    EXPECT_EQ(reader.prefetch_address(race.tree.leaf(first_half).p), 1u) << "two links lead there";
  }
}

TYPED_TEST(BlinkStepsSplit, OfASplitUnderAReaderThatFollowsTheFirst) {
  typename TestFixture::twice race;
  operation reader([&] { race.one(); }), writer([&] { race.other(); });
  ASSERT_TRUE(reader.until(at_the_door_of(race.tree.leaf(1))));
  ASSERT_TRUE(writer.until([&](const point&) { return *race.tree.leaf(1).right() != 2; }));
  ASSERT_TRUE(writer.until([&](const point&) { return race.inserted == 1; }));
  const auto half = race.tree.right_of(1);
  ASSERT_TRUE(reader.until(at_the_door_of(half)));
  ASSERT_TRUE(writer.finish());
  ASSERT_NE(race.tree.right_of(1).p, race.tree.leaf(2).p);
  ASSERT_TRUE(reader.finish());
  EXPECT_EQ(race.wrong(), "");
  const node_id first_half = *race.tree.leaf(1).right();
  EXPECT_EQ(reader.prefetch_address(race.tree.right_of(first_half).p), 1u);
}

TYPED_TEST(BlinkStepsSplit, ExploredWithFind) { explore<split_race<TypeParam, find_question, 1>>(); }
TYPED_TEST(BlinkStepsSplit, ExploredWithLowerBound) { explore<split_race<TypeParam, lower_bound_question, 1>>(); }
TYPED_TEST(BlinkStepsSplit, ExploredWithPredecessor) { explore<split_race<TypeParam, predecessor_question, 1>>(); }
TYPED_TEST(BlinkStepsSplit, ExploredWithScan) {
  explore<split_race<TypeParam, scan_question<planted<TypeParam>>, 1>>();
}
TYPED_TEST(BlinkStepsSplit, OfASplitExploredWithFind) { explore<split_race<TypeParam, find_question, 2>>(); }

}  // namespace
}  // namespace espalier::test
