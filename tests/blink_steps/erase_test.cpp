// erase_test.cpp - keys go, and leaves are merged, while somebody scans them or is on the way to them.
#include "blink_steps/questions.hpp"

namespace espalier::test {
namespace {

/// one() scans leaves 1 and 2; other() erases some of their keys.
template <class Policy>
struct erase_during_scan {
  using tree_type = planted<Policy>;
  tree_type tree;
  std::set<std::uint32_t> gone{tree.key(1, 2), tree.key(1, tree_type::slots - 1), tree.key(2, 0)};
  std::set<std::uint32_t> stays = keys_without(tree.expected(), gone);
  scan_question<tree_type> question;
  unsigned erased = 0;

  void one() { question.ask(tree.ref(), 0); }
  void other() {
    for (const std::uint32_t k : gone) {
      if (tree.ref().erase(stepped_team{}, k) == write_result::erased) ++erased;
      tree.expected().erase(k);
    }
  }
  [[nodiscard]] bool saw(std::uint32_t key) const {
    for (const auto& [k, value] : question.seen) {
      if (k == key) return true;
    }
    return false;
  }
  [[nodiscard]] std::string wrong() const {
    if (erased != gone.size()) return "a key that was there was not erased";
    const std::string answer = question.wrong(0, stays);
    if (!answer.empty()) return answer;
    for (const auto& [k, value] : question.seen) {
      if (!stays.contains(k) && !gone.contains(k)) return "a scan met a key that was never there";
    }
    return tree.wrong();
  }
};

template <class Policy>
class BlinkStepsErase : public testing::Test {};
TYPED_TEST_SUITE(BlinkStepsErase, all_kinds, kind_name);

TYPED_TEST(BlinkStepsErase, DuringAScanThatHasReadTheHeader) {
  erase_during_scan<TypeParam> race;
  operation reader([&] { race.one(); }), writer([&] { race.other(); });
  ASSERT_TRUE(reader.until(past_the_header_of(race.tree.leaf(1))));
  ASSERT_TRUE(writer.finish());
  ASSERT_TRUE(reader.finish());
  EXPECT_EQ(race.wrong(), "");
  for (const std::uint32_t k : race.gone) EXPECT_FALSE(race.saw(k)) << "the count it had read was not used";
}

TYPED_TEST(BlinkStepsErase, DuringAScanThatIsBetweenTwoLeaves) {
  erase_during_scan<TypeParam> race;
  operation reader([&] { race.one(); }), writer([&] { race.other(); });
  ASSERT_TRUE(reader.until(at_the_door_of(race.tree.leaf(2))));
  ASSERT_TRUE(writer.finish());
  ASSERT_TRUE(reader.finish());
  EXPECT_EQ(race.wrong(), "");
  EXPECT_TRUE(race.saw(race.tree.key(1, 2))) << "that leaf was seen as it was before";
  EXPECT_FALSE(race.saw(race.tree.key(2, 0)));
}

TYPED_TEST(BlinkStepsErase, AScanWaitsForAWriterInTheMiddleOfIt) {
  erase_during_scan<TypeParam> race;
  operation reader([&] { race.one(); }), writer([&] { race.other(); });
  // Slots have begun to move down.
  ASSERT_TRUE(writer.until([&](const point& now) {
    return now.what == point::kind::store && *(race.tree.leaf(1).keys() + 2) == race.tree.key(1, 3);
  }));
  EXPECT_FALSE(reader.finish());
  ASSERT_TRUE(writer.finish());
  ASSERT_TRUE(reader.finish());
  EXPECT_EQ(race.wrong(), "");
}

TYPED_TEST(BlinkStepsErase, DuringAScanExplored) { explore<erase_during_scan<TypeParam>>(); }

// ---- merges: leaf 1 takes in leaf 2. The protocol couple does not merge -------------------------------------------
/// Leaf 1 is about to have too few elements, and leaf 2 has so few that they fit together.
template <class Policy>
class sparse : public planted<Policy> {
 public:
  using shape = node_shape<std::uint32_t, 4, planted<Policy>::slots>;
  sparse() {
    this->leave(2, shape::few + 1);
    this->leave(1, shape::few);
  }
};

/// one() asks for a key of leaf 2, or what is next to it; other() erases from leaf 1, which takes in leaf 2.
template <class Policy, class Question>
struct merge_under_a_reader {
  sparse<Policy> tree;
  std::uint32_t erased = tree.key(1, 1);
  std::set<std::uint32_t> stays = keys_without(tree.expected(), {erased});
  Question question;
  write_result outcome = write_result::out_of_nodes;

  [[nodiscard]] std::uint32_t asked() const { return tree.key(2, 1); }
  void one() { question.ask(tree.ref(), asked()); }
  void other() {
    outcome = tree.ref().erase(stepped_team{}, erased);
    tree.expected().erase(erased);
  }
  [[nodiscard]] std::string wrong() const {
    if (outcome != write_result::erased) return "a key that was there was not erased";
    if (!tree.is_dead(2)) return "leaf 2 was not merged";
    const std::string answer = question.wrong(asked(), stays);
    return answer.empty() ? tree.wrong() : answer;
  }
};

/// other() as above; one() writes to leaf 2. If it has the leaf, there is no merge.
enum class change { insert, erase };
template <class Policy, change Change>
struct merge_under_a_writer {
  sparse<Policy> tree;
  write_result outcome[2] = {write_result::out_of_nodes, write_result::out_of_nodes};

  void one() {
    const std::uint32_t k = tree.key(2, 1) + (Change == change::insert ? 5 : 0);
    if (Change == change::insert) {
      outcome[0] = tree.ref().insert(stepped_team{}, k, value_of(k));
      tree.expected()[k] = value_of(k);
    } else {
      outcome[0] = tree.ref().erase(stepped_team{}, k);
      tree.expected().erase(k);
    }
  }
  void other() {
    outcome[1] = tree.ref().erase(stepped_team{}, tree.key(1, 1));
    tree.expected().erase(tree.key(1, 1));
  }
  [[nodiscard]] std::string wrong() const {
    if (outcome[0] != (Change == change::insert ? write_result::inserted : write_result::erased) ||
        outcome[1] != write_result::erased)
      return "a write was not done";
    return tree.wrong();
  }
};

template <class Policy>
class BlinkStepsMerge : public testing::Test {};
TYPED_TEST_SUITE(BlinkStepsMerge, kinds_with_links, kind_name);

TYPED_TEST(BlinkStepsMerge, UnderAReaderThatHasOnlyTheNumberOfTheLeafThatDies) {
  merge_under_a_reader<TypeParam, find_question> race;
  operation reader([&] { race.one(); }), writer([&] { race.other(); });
  ASSERT_TRUE(reader.until(at_the_door_of(race.tree.leaf(2))));
  ASSERT_TRUE(writer.finish());
  ASSERT_TRUE(reader.finish());
  EXPECT_EQ(race.wrong(), "");
  EXPECT_EQ(reader.prefetch_address(race.tree.leaf(1).p), 1u) << "the dead leaf leads to where its keys went";
}

TYPED_TEST(BlinkStepsMerge, UnderAReaderThatHasReadTheHeaderOfTheLeafThatDies) {
  merge_under_a_reader<TypeParam, find_question> race;
  operation reader([&] { race.one(); }), writer([&] { race.other(); });
  ASSERT_TRUE(reader.until(past_the_header_of(race.tree.leaf(2))));
  ASSERT_TRUE(writer.finish());
  ASSERT_TRUE(reader.finish());
  EXPECT_EQ(race.wrong(), "");
}

TYPED_TEST(BlinkStepsMerge, UnderAScanThatIsBetweenTheTwo) {
  merge_under_a_reader<TypeParam, scan_question<planted<TypeParam>>> race;
  operation reader([&] { race.one(); }), writer([&] { race.other(); });
  ASSERT_TRUE(reader.until(at_the_door_of(race.tree.leaf(2))));
  ASSERT_TRUE(writer.finish());
  ASSERT_TRUE(reader.finish());
  EXPECT_EQ(race.wrong(), "") << "leaf 1 is scanned again, and what was seen of it is not";
}

TYPED_TEST(BlinkStepsMerge, IsLeftOutWhereAWriterHasTheOtherLeaf) {
  merge_under_a_writer<TypeParam, change::insert> race;
  operation inserter([&] { race.one(); }), eraser([&] { race.other(); });
  ASSERT_TRUE(inserter.until(holding(race.tree.leaf(2))));
  ASSERT_TRUE(eraser.finish()) << "it tries for the latch and does not wait: nobody waits holding one";
  EXPECT_FALSE(race.tree.is_dead(2));
  ASSERT_TRUE(inserter.finish());
  EXPECT_EQ(race.wrong(), "");
}

TYPED_TEST(BlinkStepsMerge, UnderAWriterThatHasOnlyTheNumberOfTheLeafThatDies) {
  merge_under_a_writer<TypeParam, change::insert> once;
  operation counted([&] { once.one(); });
  ASSERT_TRUE(counted.until(holding(once.tree.leaf(2))));
  merge_under_a_writer<TypeParam, change::insert> race;
  operation inserter([&] { race.one(); }), eraser([&] { race.other(); });
  ASSERT_FALSE(inserter.run(counted.passed() - 1));  // the next step is the latch
  ASSERT_TRUE(eraser.finish());
  ASSERT_TRUE(race.tree.is_dead(2));
  ASSERT_TRUE(inserter.finish());
  EXPECT_EQ(race.wrong(), "");
  ASSERT_TRUE(counted.finish());
}

TYPED_TEST(BlinkStepsMerge, ExploredWithFind) { explore<merge_under_a_reader<TypeParam, find_question>>(); }
TYPED_TEST(BlinkStepsMerge, ExploredWithLowerBound) {
  explore<merge_under_a_reader<TypeParam, lower_bound_question>>();
}
TYPED_TEST(BlinkStepsMerge, ExploredWithPredecessor) {
  explore<merge_under_a_reader<TypeParam, predecessor_question>>();
}
TYPED_TEST(BlinkStepsMerge, ExploredWithScan) {
  explore<merge_under_a_reader<TypeParam, scan_question<planted<TypeParam>>>>();
}
TYPED_TEST(BlinkStepsMerge, ExploredBesideAnInsert) { explore<merge_under_a_writer<TypeParam, change::insert>>(); }
TYPED_TEST(BlinkStepsMerge, ExploredBesideAnErase) { explore<merge_under_a_writer<TypeParam, change::erase>>(); }

}  // namespace
}  // namespace espalier::test
