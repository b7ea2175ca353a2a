// partition_batches.hpp - batches for the plan partition_first, and the comparison of its answers with those of the
// caller's order.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/families.hpp"
#include "support/oracle.hpp"

namespace espalier::test {

/// How the keys of a batch are distributed. Half of the random ones are in the tree.
enum class order_of_batch { random, equal, two_far, few, sorted, reversed };
inline constexpr order_of_batch all_orders[] = {order_of_batch::random, order_of_batch::equal,  order_of_batch::two_far,
                                         order_of_batch::few,    order_of_batch::sorted, order_of_batch::reversed};

template <class Key>
[[nodiscard]] array<Key> batch_of(order_of_batch order, std::size_t n, const array<Key>& tree) {
  array<Key> keys(n);
  random_words random(n + static_cast<std::size_t>(order));
  const Key one = tree[random.below(tree.size())];
  for (std::size_t i = 0; i < n; ++i) {
    const auto word = static_cast<word_of<Key>>(random());
    keys[i] = order == order_of_batch::equal     ? one
              : order == order_of_batch::two_far ? from_word<Key>(i % 997 == 0 ? ~word_of<Key>{0} : word_of<Key>{1})
              : order == order_of_batch::few     ? tree[word % 5 % tree.size()]
              : i % 2 == 0                       ? tree[random.below(tree.size())]
                                                 : from_word<Key>(word);
  }
  if (order == order_of_batch::sorted || order == order_of_batch::reversed)
    std::sort(keys.begin(), keys.end(), precedes<Key>);
  if (order == order_of_batch::reversed) std::reverse(keys.begin(), keys.end());
  return keys;
}

/// Calls ask(answers, partitioned) for both, with arrays of the given bytes per query that are not aligned to more
/// than `aligned` bytes. Memory behind the answers must stay as it was.
template <class Ask>
void compare_plans(const char* what, std::size_t n, const std::vector<unsigned>& bytes, Ask ask,
                    std::size_t aligned = 16) {
  std::vector<std::vector<std::uint8_t>> by_plan[2];
  for (const bool partitioned : {false, true}) {
    auto& answers = by_plan[partitioned];
    std::vector<void*> to;
    for (const unsigned b : bytes) answers.emplace_back(n * b + 32 + aligned, std::uint8_t{0xa5});
    for (auto& a : answers) to.push_back(a.data() + aligned);
    ask(to, partitioned);
  }
  for (std::size_t a = 0; a < bytes.size(); ++a) {
    const auto& want = by_plan[0][a];
    const auto differ = std::mismatch(want.begin(), want.end(), by_plan[1][a].begin()).first - want.begin();
    ASSERT_EQ(static_cast<std::size_t>(differ), want.size())
        << what << ": array " << a << " differs at query " << (static_cast<std::size_t>(differ) - aligned) / bytes[a]
        << " of " << n;
  }
}

}  // namespace espalier::test
