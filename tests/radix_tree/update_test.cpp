// update_test.cpp - elements that are late with their writes: what a batch of updates leaves behind is its last values
// all the same. Threads meet that way too seldom to rely on; so here every element that wrote writes once more before
// disputes are settled, the lowest last, which is as late as they may be.
#include "radix_tree/update.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "radix_tree/build.hpp"
#include "radix_tree/cpu_executor.hpp"
#include "support/families.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

using detail::most_stamped_pieces;
using detail::radix_builder;
using detail::radix_updater;
using detail::resolve_conflicts;

/// With one thread elements come in their order, so that all of them write.
class late_context : public detail::radix_cpu_executor {
 public:
  late_context() : radix_cpu_executor(device::cpu(1), {}) {}
  using radix_cpu_executor::for_each;
  template <unsigned V>
  void for_each(std::size_t n, const resolve_conflicts<V>& settle) {
    for (std::size_t i = links.size(); i-- > 0;)
      if (!links[i].is_nothing()) settle.update.put(i, links[i]);
    radix_cpu_executor::for_each(n, settle);
  }
  std::vector<radix_link> links;  ///< of the batch's elements
};

/// Keys of 8, 16 and 32 bytes and longer ones: leaves with stamps of their own, and without.
struct some_keys {
  explicit some_keys(std::uint32_t n) {
    for (std::uint32_t i = 0; i < n; ++i) {
      const std::size_t length = std::size_t{5} + 9 * (i % 6);
      for (std::size_t b = 0; b < length; ++b)
        bytes.push_back(static_cast<std::uint8_t>(b < 4 ? i >> (24 - 8 * b) : 'k'));
      offsets.push_back(bytes.size());
    }
    bytes.resize(bytes.size() + 8);
  }
  [[nodiscard]] byte_batch batch() const { return {bytes.data(), offsets.data(), 0}; }
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint64_t> offsets{0};
};

/// Values of V bytes, the one of element i in round r.
template <unsigned V>
std::vector<std::uint64_t> values_of(std::size_t n, std::uint64_t r) {
  std::vector<std::uint64_t> values(n * V / 8);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t w = 0; w < V / 8; ++w) values[i * V / 8 + w] = (r << 32 | i) ^ (w == 0 ? 0 : ~std::uint64_t{0});
  return values;
}

/// Five batches of n updates of so many keys; the third has the last number, so that the next two have those of the
/// first again, with stamps and counters cleared in between.
template <unsigned V>
void last_one_wins(std::uint32_t keys, std::size_t n) {
  SCOPED_TRACE(std::to_string(V) + " bytes, " + std::to_string(n) + " updates of " + std::to_string(keys) + " keys");
  late_context context;
  const some_keys all(keys);
  const auto first_values = values_of<V>(keys, 0);
  auto tree = radix_builder<late_context, V>(context, {scalar_kind::u32, scalar_kind::opaque, V}, {})(
      all.batch(), first_values.data(), keys);
  std::vector<radix_link> leaves(keys);
  context.ask(radix_locate_job<V>{tree.view, all.batch(), leaves.data()}, keys);
  random_words random(17);
  for (std::uint64_t round = 1; round <= 5; ++round) {
    if (round == 3) tree.stamped_pieces = most_stamped_pieces - 1;
    context.links.assign(n, {});
    std::vector<std::size_t> last(keys, n);
    for (std::size_t i = 0; i < n; ++i) {
      if (random.below(16) == 0) continue;  // its key is not there
      const std::uint64_t k = random.below(keys);
      context.links[i] = leaves[k];
      last[k] = i;
    }
    const auto values = values_of<V>(n, round);
    radix_updater<late_context, V> update(context, tree, V);
    update.prepare(n);
    update(context.links.data(), n, values.data());
    for (std::uint32_t k = 0; k < keys; ++k) {
      if (last[k] == n) continue;
      const auto* const got = reinterpret_cast<const std::uint64_t*>(tree.view.value_of(leaves[k]));
      for (std::size_t w = 0; w < V / 8; ++w)
        ASSERT_EQ(got[w], values[last[k] * V / 8 + w]) << "round " << round << ", key " << k;
    }
  }
}

TEST(RadixTreeLateUpdates, SmallBatchesHaveTheLastOneWin) {
  for (const std::uint32_t keys : {1u, 5u, 300u})
    for (const std::size_t n : {1u, 2u, 255u, 256u, 257u, 2048u, 5000u}) {
      last_one_wins<8>(keys, n);
      last_one_wins<16>(keys, n);
      if (HasFatalFailure()) return;
    }
}

// One after the other the places of a list are settled by the same thread.
TEST(RadixTreeLateUpdates, LargeBatchesHaveTheLastOneWin) {
  constexpr std::size_t most = resolve_conflicts<8>::most;
  for (const std::uint32_t keys : {1u, 6u, 50000u})
    for (const std::size_t n : {most - 1, most + 1, 3 * most + 777}) {
      last_one_wins<8>(keys, n);
      last_one_wins<16>(keys, n);
      if (HasFatalFailure() || less_work > 1) return;
    }
}

}  // namespace
}  // namespace espalier::test
