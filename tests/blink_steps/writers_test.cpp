// writers_test.cpp - two writers come to one full leaf.
#include "blink_steps/race.hpp"

namespace espalier::test {
namespace {

/// Two inserts into leaf 1; one of its halves is for each, or both go to the same. The first value of a key stays.
template <class Policy, unsigned Mine, unsigned Yours>
struct two_inserts {
  using tree_type = planted<Policy>;
  static constexpr bool same_key = Mine == Yours;
  tree_type tree;
  write_result outcome[2] = {write_result::out_of_nodes, write_result::out_of_nodes};

  [[nodiscard]] std::uint32_t key(unsigned which) const { return tree.key(1, which == 0 ? Mine : Yours) + 5; }
  void insert(unsigned which) {
    outcome[which] = tree.ref().insert(stepped_team{}, key(which), value_of(key(which)) + which);
    if (!same_key || outcome[which] == write_result::inserted) tree.expected()[key(which)] = value_of(key(which)) + which;
  }
  void one() { insert(0); }
  void other() { insert(1); }
  [[nodiscard]] std::string wrong() const {
    unsigned done = 0;
    for (const write_result o : outcome) {
      if (o == write_result::out_of_nodes) return "there was room";
      done += o == write_result::inserted ? 1 : 0;
    }
    if (done != (same_key ? 1u : 2u)) return std::to_string(done) + " inserts brought a new key";
    return tree.wrong();
  }
};

/// An insert that splits the leaf, beside an erase of a key that moves, or an assignment to it.
enum class neighbour { erase, assign };
template <class Policy, neighbour Change>
struct insert_beside {
  using tree_type = planted<Policy>;
  tree_type tree;
  write_result inserted = write_result::out_of_nodes, changed = write_result::out_of_nodes;

  [[nodiscard]] std::uint32_t target() const { return tree.key(1, tree_type::slots - 2); }
  void one() {
    const std::uint32_t k = tree.key(1, 1) + 5;
    inserted = tree.ref().insert(stepped_team{}, k, value_of(k));
    tree.expected()[k] = value_of(k);
  }
  void other() {
    if (Change == neighbour::erase) {
      changed = tree.ref().erase(stepped_team{}, target());
      tree.expected().erase(target());
    } else {
      changed = tree.ref().update(stepped_team{}, target(), 1u);
      tree.expected()[target()] = 1;
    }
  }
  [[nodiscard]] std::string wrong() const {
    if (inserted != write_result::inserted) return "an insert of a new key was not done";
    if (changed != (Change == neighbour::erase ? write_result::erased : write_result::assigned)) return "the other key was there all the time";
    return tree.wrong();
  }
};

template <class Policy>
class BlinkStepsWriters : public testing::Test {
 protected:
  static constexpr unsigned high = planted<Policy>::slots - 2;
  using to_both_halves = two_inserts<Policy, 1, high>;
  using to_one_half = two_inserts<Policy, high - 1, high>;
  using of_one_key = two_inserts<Policy, high, high>;
};
TYPED_TEST_SUITE(BlinkStepsWriters, all_kinds, kind_name);

TYPED_TEST(BlinkStepsWriters, TheSecondAtAFullLeafWaitsAndThenFindsItSplit) {
  typename TestFixture::to_both_halves race;
  operation first([&] { race.one(); }), second([&] { race.other(); });
  ASSERT_TRUE(first.until(cutting(race.tree.leaf(1))));
  EXPECT_FALSE(second.finish()) << "the leaf has a writer";
  ASSERT_TRUE(first.finish());
  ASSERT_TRUE(second.finish());
  EXPECT_EQ(race.wrong(), "");
  EXPECT_EQ(*race.tree.right_of(1).right(), 2u) << "one split made room for both";
}

TYPED_TEST(BlinkStepsWriters, BothAreAtTheFullLeafBeforeEitherLatchesIt) {
  typename TestFixture::to_both_halves race;
  operation first([&] { race.one(); }), second([&] { race.other(); });
  // A step before the latch: link tries for it blindly, couple after a look at its version.
  ASSERT_TRUE(second.until(holding(race.tree.leaf(1))));
  const std::uint64_t latched_at = second.passed();
  typename TestFixture::to_both_halves again;
  operation a([&] { again.one(); }), b([&] { again.other(); });
  ASSERT_FALSE(b.run(latched_at - 1));
  ASSERT_EQ(*again.tree.leaf(1).version() & 1, 0u);
  ASSERT_TRUE(a.finish());
  ASSERT_NE(*again.tree.leaf(1).right(), 2u) << "split";
  ASSERT_TRUE(b.finish());
  EXPECT_EQ(again.wrong(), "");
  EXPECT_EQ(*again.tree.right_of(1).right(), 2u) << "one split made room for both";
  ASSERT_TRUE(settle(first, second));
  EXPECT_EQ(race.wrong(), "");
}

TYPED_TEST(BlinkStepsWriters, TheSameKeyComesInOnce) {
  typename TestFixture::of_one_key race;
  operation first([&] { race.one(); }), second([&] { race.other(); });
  ASSERT_TRUE(second.until(holding(race.tree.leaf(1))));
  EXPECT_FALSE(first.finish());
  ASSERT_TRUE(second.finish());
  ASSERT_TRUE(first.finish());
  EXPECT_EQ(race.outcome[1], write_result::inserted);
  EXPECT_EQ(race.outcome[0], write_result::exists);
  EXPECT_EQ(race.wrong(), "");
}

TYPED_TEST(BlinkStepsWriters, ExploredWithKeysOfBothHalves) { explore<typename TestFixture::to_both_halves>(); }
TYPED_TEST(BlinkStepsWriters, ExploredWithKeysOfOneHalf) { explore<typename TestFixture::to_one_half>(); }
TYPED_TEST(BlinkStepsWriters, ExploredWithTheSameKey) { explore<typename TestFixture::of_one_key>(); }
TYPED_TEST(BlinkStepsWriters, ExploredBesideAnErase) { explore<insert_beside<TypeParam, neighbour::erase>>(); }
TYPED_TEST(BlinkStepsWriters, ExploredBesideAnUpdate) { explore<insert_beside<TypeParam, neighbour::assign>>(); }

}  // namespace
}  // namespace espalier::test
