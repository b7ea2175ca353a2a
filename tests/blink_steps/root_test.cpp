// root_test.cpp - the root of the inner nodes grows a level while others descend through it, or want to post to it.
#include "blink_steps/questions.hpp"

namespace espalier::test {
namespace {

/// A tree whose root is the only inner node and full: one more leaf, and it grows. It keeps its number. The protocol
/// couple leaves no full node behind: there it is the next leaf that fills it, and the insert that brought it sees to
/// the rest.
template <class Policy>
class full_root : public planted<Policy> {
 public:
  using planted<Policy>::slots;
  static constexpr unsigned leaves = slots * 3 / 4;  // what a build puts into one inner node
  static constexpr unsigned fullest = Policy::protocol == protocol::latch_coupling ? slots - 1 : slots;
  full_root() : planted<Policy>(leaves) {
    for (unsigned leaf = leaves - 1; children() < fullest; --leaf) this->insert(this->key(leaf, 0) + 5);
    EXPECT_EQ(level(), 1u);
  }
  [[nodiscard]] unsigned level() const { return head().level; }
  [[nodiscard]] unsigned children() const { return head().count; }

 private:
  [[nodiscard]] node_head<std::uint32_t> head() const {
    node_head<std::uint32_t> h;
    h.set_info(*this->root().info());
    return h;
  }
};

/// other() makes leaf 1 split and the root grow; one() asks for a key, of a leaf that the root's right half leads to.
template <class Policy, class Question>
struct growth_under_a_reader {
  full_root<Policy> tree;
  std::set<std::uint32_t> stays = keys_without(tree.expected());
  Question question;
  write_result outcome = write_result::out_of_nodes;

  static constexpr unsigned far_leaf = 5;
  [[nodiscard]] std::uint32_t asked() const { return tree.key(far_leaf, 3); }
  void one() { question.ask(tree.ref(), asked()); }
  void other() {
    const std::uint32_t k = tree.key(1, 4) + 5;
    outcome = tree.ref().insert(stepped_team{}, k, value_of(k));
    tree.expected()[k] = value_of(k);
  }
  [[nodiscard]] std::string wrong() const {
    if (outcome != write_result::inserted) return "an insert of a new key was not done";
    if (tree.level() != 2) return "the root has not grown";
    const std::string answer = question.wrong(asked(), stays);
    return answer.empty() ? tree.wrong() : answer;
  }
};

/// Two leaves split, and each has to be posted to a root that is full.
template <class Policy>
struct growth_under_a_writer {
  full_root<Policy> tree;
  write_result outcome[2] = {write_result::out_of_nodes, write_result::out_of_nodes};

  void insert(unsigned which, std::uint32_t k) {
    outcome[which] = tree.ref().insert(stepped_team{}, k, value_of(k));
    tree.expected()[k] = value_of(k);
  }
  void one() { insert(0, tree.key(4, 4) + 5); }
  void other() { insert(1, tree.key(1, 4) + 5); }
  [[nodiscard]] std::string wrong() const {
    for (const write_result o : outcome) {
      if (o != write_result::inserted) return "an insert of a new key was not done";
    }
    return tree.level() == 2 ? tree.wrong() : "the root has not grown";
  }
};

template <class Policy>
class BlinkStepsRoot : public testing::Test {};
TYPED_TEST_SUITE(BlinkStepsRoot, kinds_with_inner_nodes, kind_name);

TYPED_TEST(BlinkStepsRoot, GrowsUnderAReaderThatHasReadItsHeader) {
  growth_under_a_reader<TypeParam, find_question> race;
  operation reader([&] { race.one(); }), writer([&] { race.other(); });
  ASSERT_TRUE(reader.until(past_the_header_of(race.tree.root())));
  ASSERT_TRUE(writer.finish());
  ASSERT_TRUE(reader.finish());
  EXPECT_EQ(race.wrong(), "");
  EXPECT_EQ(reader.prefetch_address(race.tree.root().p), 2u) << "what was read of the old root was not used";
}

TYPED_TEST(BlinkStepsRoot, GrowsUnderAReaderThatHasPassedIt) {
  growth_under_a_reader<TypeParam, find_question> race;
  operation reader([&] { race.one(); }), writer([&] { race.other(); });
  ASSERT_TRUE(reader.until(at_the_door_of(race.tree.leaf(race.far_leaf))));
  ASSERT_TRUE(writer.finish());
  ASSERT_TRUE(reader.finish());
  EXPECT_EQ(race.wrong(), "");
  EXPECT_EQ(reader.prefetch_address(race.tree.root().p), 1u) << "its leaf is where it was";
}

TYPED_TEST(BlinkStepsRoot, AReaderWaitsWhileItGrows) {
  growth_under_a_reader<TypeParam, find_question> race;
  operation reader([&] { race.one(); }), writer([&] { race.other(); });
  ASSERT_TRUE(writer.until(cutting(race.tree.root())));
  EXPECT_FALSE(reader.finish()) << "the root names no child now";
  ASSERT_TRUE(writer.finish());
  ASSERT_TRUE(reader.finish());
  EXPECT_EQ(race.wrong(), "");
}

// A writer has split its leaf and is about to post it to the lowest inner node, which is the root: then that is a level
// higher.
TYPED_TEST(BlinkStepsRoot, GrowsUnderAWriterThatComesToPost) {
  growth_under_a_writer<TypeParam> race;
  operation writer([&] { race.one(); }), grower([&] { race.other(); });
  const auto once = [](const point& now) { return now.what == point::kind::once; };
  if (TypeParam::protocol == protocol::blink) {
    ASSERT_TRUE(writer.until([&](const point&) { return *race.tree.leaf(4).right() != 5; }));
    ASSERT_TRUE(writer.until(at_the_door_of(race.tree.root())));
    ASSERT_TRUE(writer.until(once));  // what it read of the root is valid: a node of the level it looks for
    writer.run(1);
    ASSERT_TRUE(writer.until(once));  // about to latch it
  } else {
    ASSERT_TRUE(writer.until(past_the_header_of(race.tree.root())));
  }
  ASSERT_EQ(*race.tree.root().version() & 1, 0u);
  ASSERT_TRUE(grower.finish());
  ASSERT_EQ(race.tree.level(), 2u);
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(race.wrong(), "");
}

TYPED_TEST(BlinkStepsRoot, AWriterWaitsWhileItGrows) {
  growth_under_a_writer<TypeParam> race;
  operation writer([&] { race.one(); }), grower([&] { race.other(); });
  ASSERT_TRUE(grower.until(cutting(race.tree.root())));
  EXPECT_FALSE(writer.finish());
  ASSERT_TRUE(grower.finish());
  ASSERT_TRUE(writer.finish());
  EXPECT_EQ(race.wrong(), "");
}

TYPED_TEST(BlinkStepsRoot, GrowthExploredWithFind) { explore<growth_under_a_reader<TypeParam, find_question>>(); }
TYPED_TEST(BlinkStepsRoot, GrowthExploredWithPredecessor) {
  explore<growth_under_a_reader<TypeParam, predecessor_question>>();
}
TYPED_TEST(BlinkStepsRoot, GrowthExploredWithTwoWriters) { explore<growth_under_a_writer<TypeParam>>(); }

}  // namespace
}  // namespace espalier::test
