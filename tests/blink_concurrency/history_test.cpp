// history_test.cpp - what threads saw of a few keys, recorded and checked: some order of the operations of each key
// explains every answer, and agrees with the clock.
//
// The keys in question lie scattered among others that come and go, so that their leaves split and merge meanwhile.
#include "blink_concurrency/common.hpp"
#include "support/linearizability.hpp"

namespace espalier::test {
namespace {

template <class Kind>
class BlinkTreeHistory : public testing::Test {
 protected:
  using key_type = typename Kind::key;
  using ref_type = typename Kind::tree::ref_type;
  static constexpr key_type recorded = 12, distance = 16;

  /// One operation on a recorded key. Ticks of one clock lie before and after it.
  static recorded_op act(ref_type& ref, blink_op what, std::uint64_t which, std::uint64_t argument,
                         std::atomic<std::uint64_t>& clock) {
    const key_type k = static_cast<key_type>(which * distance);
    const key_type value = static_cast<key_type>(argument);
    const scalar_team team;
    recorded_op op{which, argument, 0, clock.fetch_add(1), 0, what, 0};
    switch (what) {
      case blink_op::find: {
        key_type found{};
        op.done = ref.find(team, k, found) ? 1 : 0;
        op.answer = op.done != 0 ? found : 0;
        break;
      }
      case blink_op::insert:
        op.done = ref.insert(team, k, value) == write_result::inserted ? 1 : 0;
        break;
      case blink_op::insert_or_assign:
        op.done = ref.insert_or_assign(team, k, value) == write_result::inserted ? 1 : 0;
        break;
      case blink_op::update:
        op.done = ref.update(team, k, value) == write_result::assigned ? 1 : 0;
        break;
      case blink_op::erase:
        op.done = ref.erase(team, k) == write_result::erased ? 1 : 0;
        break;
    }
    op.responded = clock.fetch_add(1);
    return op;
  }

  /// Brings or takes away a neighbour of a recorded key.
  static void disturb(ref_type& ref, random_words& random) {
    const key_type k = static_cast<key_type>(random.below(recorded) * distance + 1 + random.below(distance - 1));
    if (random.below(2) == 0) {
      (void)ref.insert(scalar_team{}, k, k);
    } else {
      (void)ref.erase(scalar_team{}, k);
    }
  }
};
TYPED_TEST_SUITE(BlinkTreeHistory, shared_trees, tree_kind_name);

TYPED_TEST(BlinkTreeHistory, IsLinearizablePerKey) {
  using key = typename TypeParam::key;
  constexpr unsigned rounds = 40 / std::min(less_work, 4u), each = 400;
  for (unsigned round = 0; round < rounds; ++round) {
    typename TypeParam::tree tree(device::cpu(2));
    auto ref = tree.ref(3 * each * many_threads);
    std::atomic<std::uint64_t> clock{1};
    std::vector<std::vector<recorded_op>> histories(many_threads);
    in_threads(many_threads, [&](unsigned t) {
      random_words random(round * many_threads + t);
      for (unsigned i = 0; i < each; ++i) {
        const auto what = static_cast<blink_op>(random.below(5));
        const std::uint64_t argument = 1 + i * many_threads + t;  // tells who wrote it
        histories[t].push_back(this->act(ref, what, random.below(TestFixture::recorded), argument, clock));
        this->disturb(ref, random);
      }
    });
    std::vector<recorded_op> history;
    for (const auto& mine : histories) history.insert(history.end(), mine.begin(), mine.end());
    for (key which = 0; which < TestFixture::recorded; ++which) {  // what is left in the end
      history.push_back(this->act(ref, blink_op::find, which, 0, clock));
    }
    ASSERT_EQ(first_violation(history, [](std::uint64_t) { return map_register{}; }), "") << "round " << round;
    const validation v = tree.validate();
    ASSERT_TRUE(v.ok) << v.problem;
  }
}

}  // namespace
}  // namespace espalier::test
