// neighbours_test.cpp - what ordered point queries promise beside writers, and what not: each leaf is seen as it was at
// one moment, but two leaves are seen at two moments.
#include "blink_steps/questions.hpp"

namespace espalier::test {
namespace {

template <class Policy>
class BlinkStepsNeighbours : public testing::Test {};
TYPED_TEST_SUITE(BlinkStepsNeighbours, all_kinds, kind_name);

/// The reader has seen that leaf 1 has nothing for it, and is on its way to leaf 2. Then a key comes to leaf 1, and
/// only then the first one of leaf 2 goes: the answer was right at no single moment, and is right for each leaf at its
/// own.
TYPED_TEST(BlinkStepsNeighbours, ALowerBoundOfTwoLeavesIsOfTwoMoments) {
  using planted_tree = planted<TypeParam>;
  planted_tree tree;
  constexpr unsigned last = planted_tree::slots - 1;
  tree.leave(1, last);
  const std::uint32_t asked = tree.key(1, last), first = tree.key(2, 0), second = tree.key(2, 1);
  bool found = false;
  std::uint32_t at = 0, value = 0;
  operation reader([&] { found = tree.ref().lower_bound(stepped_team{}, asked, at, value); });
  ASSERT_TRUE(reader.until(at_the_door_of(tree.leaf(2))));
  tree.insert(asked);
  ASSERT_EQ(tree.ref().erase(scalar_team{}, first), write_result::erased);
  tree.expected().erase(first);
  ASSERT_TRUE(reader.finish());
  EXPECT_TRUE(found);
  EXPECT_EQ(at, second) << "neither the key that was first, nor the one that came before it went";
  EXPECT_EQ(value, value_of(second));
  EXPECT_EQ(tree.wrong(), "");
}

}  // namespace
}  // namespace espalier::test
