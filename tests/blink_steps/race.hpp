// race.hpp - small trees for races, points to stop at, and the exploration of all schedules with one or two switches.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "blink_steps/operation.hpp"
#include "blink_steps/stepped_team.hpp"
#include "espalier/blink_tree/blink_tree.hpp"
#include "support/less_work.hpp"
#include "support/watchdog.hpp"

namespace espalier::test {

using link_policy = blink_policy<protocol::blink, inner_index::inner_nodes>;
using lane_policy = blink_policy<protocol::blink, inner_index::express_lane, 8>;
using couple_policy = blink_policy<protocol::latch_coupling, inner_index::inner_nodes>;

using all_kinds = testing::Types<link_policy, lane_policy, couple_policy>;
using kinds_with_links = testing::Types<link_policy, lane_policy>;
using kinds_with_inner_nodes = testing::Types<link_policy, couple_policy>;
struct kind_name {
  template <class Policy>
  static std::string GetName(int) {
    return Policy::inner == inner_index::express_lane ? "lane"
           : Policy::protocol == protocol::blink      ? "link"
                                                      : "couple";
  }
};

[[nodiscard]] inline std::uint32_t value_of(std::uint32_t key) { return key * 7 + 3; }

/// A tree whose leaves are full, and what it has to hold when the race is over. Leaf j of the build has number j.
template <class Policy>
class planted {
 public:
  using tree_type = blink_tree<std::uint32_t, std::uint32_t, Policy>;
  using ref_type = typename tree_type::ref_type;
  static constexpr unsigned slots = Policy::slots == 0 ? 12 : Policy::slots;
  static constexpr unsigned gap = 10;  // room for new keys between two
  static constexpr bool has_lane = Policy::inner == inner_index::express_lane;
  static constexpr unsigned usual_leaves = has_lane ? 64 : 4;  // a smaller tree gets no lane

  explicit planted(unsigned leaves = usual_leaves)
      : keys_(keys_of(leaves)),
        tree_(tree_type::build(keys_.keys, keys_.values, {.fill = 1}, get_device())),
        ref_(tree_.ref(2 * slots)) {
    for (const std::uint32_t k : keys_.keys) expected_[k] = value_of(k);
  }

  [[nodiscard]] static std::uint32_t key(unsigned leaf, unsigned i) { return (leaf * slots + i + 1) * gap; }
  [[nodiscard]] const ref_type& ref() const { return ref_; }
  [[nodiscard]] const tree_type& tree() const { return tree_; }
  [[nodiscard]] std::map<std::uint32_t, std::uint32_t>& expected() { return expected_; }

  // ---- nodes ---------------------------------------------------------------------------------------------
  [[nodiscard]] auto leaf(node_id id) const { return ref_.layout().leaf(id); }
  [[nodiscard]] auto root() const { return ref_.layout().inner(0); }
  [[nodiscard]] auto right_of(node_id id) const { return leaf(*leaf(id).right()); }
  [[nodiscard]] bool is_dead(node_id id) const {
    node_head<std::uint32_t> h;
    h.set_info(*leaf(id).info());
    return h.dead;
  }

  // ---- before the race -----------------------------------------------------------------------------------
  void insert(std::uint32_t k) {
    EXPECT_EQ(ref_.insert(scalar_team{}, k, value_of(k)), write_result::inserted);
    expected_[k] = value_of(k);
  }
  /// The last ones of a leaf go.
  void leave(unsigned leaf, unsigned count) {
    for (unsigned i = slots; i-- > count;) {
      EXPECT_EQ(ref_.erase(scalar_team{}, key(leaf, i)), write_result::erased);
      expected_.erase(key(leaf, i));
    }
  }

  // ---- after it ------------------------------------------------------------------------------------------
  /// Empty: the structure is sound, and every expected element is there and no other.
  [[nodiscard]] std::string wrong() const {
    const validation v = tree_.validate();
    if (!v.ok) return v.problem;
    std::map<std::uint32_t, std::uint32_t> content;
    bool ascends = true;
    ref_.range(scalar_team{}, 0, ~std::uint32_t{0}, [&](std::uint32_t k, std::uint32_t value) {
      ascends = ascends && (content.empty() || content.rbegin()->first < k);
      content.emplace_hint(content.end(), k, value);
      return true;
    });
    if (!ascends) return "the tree's keys do not ascend";
    if (content != expected_) return "the tree does not hold what it should";
    for (const auto& [k, value] : expected_) {
      std::uint32_t found = 0;
      if (!ref_.find(scalar_team{}, k, found) || found != value) return "key " + std::to_string(k) + " is not found";
    }
    return {};
  }

 private:
  struct pairs {
    std::vector<std::uint32_t> keys, values;
  };
  [[nodiscard]] static pairs keys_of(unsigned leaves) {
    pairs p;
    for (unsigned i = 0; i < leaves * slots; ++i) {
      p.keys.push_back(key(0, i));
      p.values.push_back(value_of(key(0, i)));
    }
    return p;
  }
  /// Lives until the process ends, since a device must not be torn down after main() has returned.
  [[nodiscard]] static const device& get_device() {
    static const auto* const one = new device(device::cpu(1));
    return *one;
  }

  pairs keys_;
  tree_type tree_;
  ref_type ref_;
  std::map<std::uint32_t, std::uint32_t> expected_;
};

// ---- where to stop -----------------------------------------------------------------------------------------
/// About to read a node: whoever gets here has only its number.
template <class Node>
[[nodiscard]] auto at_the_door_of(Node node) {
  return [p = node.p](const point& now) { return now.what == point::kind::look && now.at == p; };
}
/// It has read the header of a node, and none of the keys.
template <class Node>
[[nodiscard]] auto past_the_header_of(Node node) {
  return [p = node.keys()](const point& now) {
    return (now.what == point::kind::key || now.what == point::kind::load) && now.at == p;
  };
}
/// Some writer, and that can only be the one that runs, has the latch of a node.
template <class Node>
[[nodiscard]] auto holding(Node node) {
  return [word = node.version()](const point&) { return (*word & 1) != 0; };
}
/// About to change the first slot, after the latch.
template <class Node>
[[nodiscard]] auto cutting(Node node) {
  return [word = node.version(), p = node.keys()](const point& now) {
    return (*word & 1) != 0 && now.what == point::kind::store && now.at == p;
  };
}

// ---- all schedules with one or two switches ----------------------------------------------------------------
/// Both to their ends. False: neither can go on.
inline bool settle(operation& a, operation& b) {
  for (unsigned round = 0; round < 8 && !(a.ended() && b.ended()); ++round) {
    a.finish();
    b.finish();
  }
  return a.ended() && b.ended();
}

inline constexpr std::uint64_t stride = less_work > 1 ? 37 : 11, first_stride = less_work;

/// A Race is made anew for each schedule; it has two operations, one() and other(), and wrong() judges their answers
/// and the tree afterwards. Each goes first once; it passes k points, for all k (or every `first_stride`-th); then the
/// other one goes to its end, or passes j points; then both end. Of all j each k tries every `stride`-th, and the next
/// k the ones beside them.
template <class Race>
class exploration {
 public:
  std::uint64_t run() {
    for (first_ = 0; first_ < 2 && right_; ++first_) {
      const std::uint64_t most = length_of_second();
      for (std::uint64_t k = 0; right_ && !with(k, operation::min_idle_buckets); k += first_stride) {
        for (std::uint64_t j = 1 + k % stride; right_ && j < most; j += stride) with(k, j);
      }
    }
    return schedules_;
  }

 private:
  std::function<void()> work(Race& race, unsigned which) const {
    return [&race, which] { which == 0 ? race.one() : race.other(); };
  }
  [[nodiscard]] std::uint64_t length_of_second() const {
    Race race;
    operation alone(work(race, 1 - first_));
    EXPECT_TRUE(alone.finish());
    return alone.passed();
  }
  /// True: the first one ended within k points, so that there are no more schedules.
  bool with(std::uint64_t k, std::uint64_t j) {
    Race race;
    operation a(work(race, first_)), b(work(race, 1 - first_));
    const bool ended = a.run(k);
    b.run(j);
    ++schedules_;
    const std::string wrong = settle(a, b) ? race.wrong() : "neither goes on";
    right_ = wrong.empty();
    EXPECT_TRUE(right_) << wrong << "; " << (first_ == 0 ? "one" : "other") << "() passes " << k
                        << " points, then the other one " << j << ", then both end";
    return ended;
  }

  unsigned first_ = 0;
  bool right_ = true;
  std::uint64_t schedules_ = 0;
};

template <class Race>
void explore() {
  within(std::chrono::seconds(300), [] {
    const std::uint64_t schedules = exploration<Race>().run();
    EXPECT_GT(schedules, 300u / less_work);  // two operations of a hundred points each, and what lies between
    testing::Test::RecordProperty("schedules", std::to_string(schedules));
  });
}

}  // namespace espalier::test
