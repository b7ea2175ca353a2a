// device_leaves_test.cpp - windows in many parts, all slots at once, and a device that fails in the middle of one.
#include "hybrid_tree/device_leaves.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "espalier/hybrid_tree/hybrid_tree.hpp"
#include "espalier/static_tree/static_tree.hpp"
#include "hybrid_tree/inner_levels.hpp"
#include "support/failing_pool.hpp"
#include "support/families.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

using detail::device_leaves;

/// Key i of n is 3 * i + 1, its value 7 * i + 1.
template <class Key>
struct elements {
  explicit elements(std::size_t n) : keys(n), values(n) {
    for (std::size_t i = 0; i < n; ++i) {
      keys[i] = static_cast<Key>(3 * i + 1);
      values[i] = static_cast<Key>(7 * i + 1);
    }
  }
  std::vector<Key> keys, values;
};

/// Questions of one window, and what came back.
template <class Key>
struct window_of {
  static constexpr std::uint64_t limit = 8;
  std::vector<Key> lo, hi, keys, values;
  std::vector<std::uint8_t> found;
  std::vector<std::uint64_t> counts;

  window_of(const elements<Key>& all, std::size_t n, random_words& random)
      : lo(n), hi(n), keys(n * limit), values(n * limit), found(n, 9), counts(n, 99) {
    for (std::size_t i = 0; i < n; ++i) {  // half of them from a few
      const std::size_t near = random.below(2) == 0 ? random.below(60) : random.below(all.keys.size());
      lo[i] = static_cast<Key>(3 * near + random.below(3));
      hi[i] = static_cast<Key>(lo[i] + random.below(30));
    }
  }
  void expect_found() const {
    for (std::size_t i = 0; i < lo.size(); ++i) {
      const bool there = lo[i] % 3 == 1;
      ASSERT_EQ(found[i], there ? 1 : 0) << "key " << lo[i];
      ASSERT_EQ(values[i], there ? static_cast<Key>((lo[i] - 1) / 3 * 7 + 1) : Key{}) << "key " << lo[i];
    }
  }
  void expect_rows(const elements<Key>& all) const {
    for (std::size_t i = 0; i < lo.size(); ++i) {
      const auto first = std::lower_bound(all.keys.begin(), all.keys.end(), lo[i]);
      const auto last = std::upper_bound(all.keys.begin(), all.keys.end(), hi[i]);
      const auto size = static_cast<std::uint64_t>(last - first);
      ASSERT_EQ(counts[i], std::min(size, limit)) << "range " << i << " from " << lo[i] << " to " << hi[i];
      for (std::uint64_t j = 0; j < counts[i]; ++j) {
        ASSERT_EQ(keys[i * limit + j], first[static_cast<std::ptrdiff_t>(j)]);
        ASSERT_EQ(values[i * limit + j], static_cast<Key>((keys[i * limit + j] - 1) / 3 * 7 + 1));
      }
    }
  }
};

class DeviceLeaves : public testing::TestWithParam<const setting*> {
 protected:
  template <class Key>
  void ask_in_parts(std::size_t cache) {
    const elements<Key> all(20000);
    const device& dev = GetParam()->dev;
    const device host = device::cpu(2);
    const auto tree = static_tree<Key, Key>::build(all.keys, all.values, {}, host);
    const auto levels = copy_inner_levels(dev, tree.untyped().upper(), detail::inner_room::exact);
    const auto leaves = make_device_leaves(dev, host, tree.untyped(), 100, cache);
    random_words random(cache + sizeof(Key));
    for (unsigned round = 0; round < 12; ++round) {
      std::vector<window_of<Key>> windows;
      for (unsigned s = 0; s < device_leaves::slots; ++s) windows.emplace_back(all, 1000 + 777 * s, random);
      const auto is_row = [&](unsigned s) { return (round + s) % 4 == 0; };
      for (unsigned s = 0; s < device_leaves::slots; ++s) {
        window_of<Key>& w = windows[s];
        if (is_row(s)) {
          leaves->start_rows(
              s, *levels,
              {w.lo.data(), w.hi.data(), {interval::closed, w.limit}, w.keys.data(), w.values.data(), w.counts.data()},
              w.lo.size(), host_copies::automatic);
        } else {
          leaves->start(s, *levels,
                        {w.lo.data(), w.lo.size(), w.values.data(), w.found.data(), host_copies::automatic});
        }
      }
      for (unsigned s = 0; s < device_leaves::slots; ++s) {
        SCOPED_TRACE("slot " + std::to_string(s) + " of round " + std::to_string(round));
        leaves->finish(s);
        is_row(s) ? windows[s].expect_rows(all) : windows[s].expect_found();
        if (HasFatalFailure()) return;
      }
    }
  }
};

TEST_P(DeviceLeaves, WindowsOfManyPartsInAllSlots) {
  for (const std::size_t cache : {std::size_t{0}, std::size_t{300}, std::size_t{20000}, std::size_t{1} << 24}) {
    SCOPED_TRACE("cache of " + std::to_string(cache));
    ask_in_parts<std::uint64_t>(cache);
    ask_in_parts<std::uint32_t>(cache);
    if (HasFatalFailure()) return;
  }
}

// Memory that a step needs while a window is on its way: the host answers what the device has not.
TEST_P(DeviceLeaves, ADeviceThatFailsInAWindowLosesNoAnswer) {
  const elements<std::uint64_t> all(20000);
  hybrid_options o;
  o.bucket = 300;
  o.window = 2500;
  o.threads = 2;
  o.leaf_cache = 0;  // where the device has all leaves, no step needs memory
  random_words random(5);
  for (const hybrid_placement p : {hybrid_placement::device_alone, hybrid_placement::both}) {
    for (const bool rows : {false, true}) {
      SCOPED_TRACE(to_string(p) + (rows ? ", rows" : ", finds"));
      bool failed = true;
      std::size_t k = 0;
      while (failed && ++k < 200) {
        const auto pool = std::make_shared<failing_pool>(GetParam()->dev.pool());
        {
          const auto tree = hybrid_tree<std::uint64_t, std::uint64_t>::build(all.keys, all.values, o,
                                                                             GetParam()->dev.with_pool(pool));
          const auto ask = [&] {
            window_of<std::uint64_t> w(all, 12000, random);
            if (rows) {
              tree.range_rows(w.lo, w.hi, w.keys, w.values, w.counts, {interval::closed, w.limit}, {p});
              w.expect_rows(all);
            } else {
              w.values.resize(w.lo.size());
              tree.find(w.lo, w.values, w.found, {p});
              w.expect_found();
            }
          };
          ask();  // makes what is kept
          ASSERT_TRUE(tree.stats().reads_leaves);
          pool->fail_at(k);
          ask();
          failed = tree.explain().find("failed") != std::string::npos;
          pool->fail_at(0);
          ask();
          if (HasFatalFailure()) return;
        }
        EXPECT_EQ(pool->live_blocks(), 0u);
      }
      EXPECT_GT(k, 1u) << "nothing was asked for";
      EXPECT_LT(k, 200u);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, DeviceLeaves, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
