// common.hpp - threads that start together, and the trees that many of them may use at once.
//
// These tests run under ThreadSanitizer too, with less work. None of them looks at the clock: readers go on until the
// writers are done, writers do a fixed amount.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/team/scalar_team.hpp"
#include "support/array.hpp"
#include "support/families.hpp"
#include "support/less_work.hpp"
#include "support/watchdog.hpp"

namespace espalier::test {

inline constexpr std::chrono::seconds generous{120};
inline constexpr unsigned many_threads = 4;  // more than there are cores here: preempted in the middle of a write

/// work(t) in `n` threads that start at once; ends the process if they do not end.
inline void in_threads(unsigned n, const std::function<void(unsigned)>& work) {
  within(generous, [&] {
    std::barrier start(n);
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < n; ++t) {
      threads.emplace_back([&, t] {
        start.arrive_and_wait();
        try {
          work(t);
        } catch (const std::exception& e) {
          ADD_FAILURE() << "thread " << t << ": " << e.what();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
}

/// One kind of tree that is made for several writers.
template <class Key, class Policy>
struct tree_kind {
  using key = Key;
  using tree = blink_tree<Key, Key, Policy>;
};
using shared_trees =
    testing::Types<tree_kind<std::uint32_t, blink_policy<>>, tree_kind<std::uint64_t, blink_policy<>>,
                   tree_kind<std::uint32_t, blink_policy<protocol::blink, inner_index::express_lane, 8>>,
                   tree_kind<std::uint64_t, blink_policy<protocol::blink, inner_index::inner_nodes>>,
                   tree_kind<std::uint32_t, blink_policy<protocol::latch_coupling, inner_index::inner_nodes>>>;
struct tree_kind_name {
  template <class Kind>
  static std::string GetName(int i) {
    static constexpr const char* names[] = {"u32", "u64", "u32_narrow", "u64_classic", "u32_couple"};
    return names[i];
  }
};

/// The value that belongs to a key, where writers do not change values.
template <class Key>
[[nodiscard]] Key value_of(Key key) {
  return key * 7 + 3;
}

/// What the tree holds, by one range query; fails if the structure is broken.
template <class Tree>
[[nodiscard]] auto content_of(const Tree& tree) {
  using key = typename Tree::key_type;
  const validation v = tree.validate();
  EXPECT_TRUE(v.ok) << v.problem;
  const key lo = from_word<key>(0), hi = from_word<key>(largest_word<key>());
  const auto all = tree.range({&lo, 1}, {&hi, 1});
  EXPECT_EQ(all.keys.size(), tree.size());
  return std::pair(all.keys.to_vector(), all.values.to_vector());
}

}  // namespace espalier::test
