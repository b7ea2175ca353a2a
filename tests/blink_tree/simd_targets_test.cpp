// simd_targets_test.cpp - point queries and counts of a tree on a CPU agree with a map on each SIMD target that they
// were compiled for and this CPU has, and in the code for the baseline; all other tests use the best target.
#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "blink_tree/cpu_kernels.hpp"
#include "espalier/blink_tree/blink_tree.hpp"
#include "support/blink_subject.hpp"
#include "support/less_work.hpp"

namespace espalier::test {
namespace {

/// Makes Highway choose one target; the best one again when it goes.
class blink_only_target {
 public:
  explicit blink_only_target(std::int64_t target) { choose(target); }
  ~blink_only_target() { choose(0); }
  blink_only_target(const blink_only_target&) = delete;
  blink_only_target& operator=(const blink_only_target&) = delete;

 private:
  static void choose(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);  // 0: whatever the CPU has
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

/// The target of the kernels in use; 0 if it is the code for the baseline.
template <class Word, unsigned V>
[[nodiscard]] std::int64_t blink_target_in_use() {
  const auto* table = detail::blink_simd_kernels<Word, V>();
  return table == nullptr ? 0 : table->simd_target;
}

template <class Key, class Value>
class tree_with_map {
  using slot = std::conditional_t<std::is_void_v<Value>, unsigned char, Value>;
  using tree_type = blink_tree<Key, Value>;
  using element = std::optional<std::pair<Key, slot>>;

 public:
  /// With `stale`, leaves were split behind the lane that names them, and others are empty.
  tree_with_map(family f, std::size_t n, bool stale)
      : tree_(device::cpu(2)), keys_(distinct(make_keys<Key>(f, n))), values_(make_values<slot>(keys_.size())) {
    const std::size_t half = stale ? keys_.size() / 2 : keys_.size();
    insert(0, half, write_path::bulk);
    insert(half, keys_.size() - half, write_path::per_key);
    if (!stale) return;
    const std::size_t gone = keys_.size() / 4;
    tree_.erase(keys_.span().first(gone), {}, per_key());
    for (std::size_t i = 0; i < gone; ++i) model_.erase(keys_[i]);
  }

  void check() const {
    std::vector<Key> queries = {std::numeric_limits<Key>::lowest(), std::numeric_limits<Key>::max(), Key{0}};
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const Key k = keys_[i];
      queries.push_back(k);
      if (i % 3 == 0 && k != std::numeric_limits<Key>::max()) queries.push_back(static_cast<Key>(k + 1));
      if (i % 3 == 1 && k != std::numeric_limits<Key>::lowest()) queries.push_back(static_cast<Key>(k - 1));
    }
    check_finds(queries);
    check_seek(
        "lower_bound", queries, [](auto&... all) { return [&](const tree_type& t) { t.lower_bound(all...); }; },
        [&](Key k) { return at(model_.lower_bound(k)); });
    check_seek(
        "successor", queries, [](auto&... all) { return [&](const tree_type& t) { t.successor(all...); }; },
        [&](Key k) { return at(model_.upper_bound(k)); });
    check_seek(
        "predecessor", queries, [](auto&... all) { return [&](const tree_type& t) { t.predecessor(all...); }; },
        [&](Key k) {
          const auto i = model_.lower_bound(k);
          return i == model_.begin() ? element{} : at(std::prev(i));
        });
    check_counts(queries);
  }

 private:
  [[nodiscard]] static write_options per_key() {
    write_options options;
    options.path = write_path::per_key;
    return options;
  }
  void insert(std::size_t first, std::size_t n, write_path path) {
    write_options options;
    options.path = path;
    if constexpr (std::is_void_v<Value>) {
      tree_.insert(keys_.span().subspan(first, n), {}, options);
    } else {
      tree_.insert(keys_.span().subspan(first, n), values_.span().subspan(first, n), {}, options);
    }
    for (std::size_t i = first; i < first + n; ++i) model_[keys_[i]] = values_[i];
  }
  template <class Iterator>
  [[nodiscard]] element at(Iterator i) const {
    return i == model_.end() ? element{} : element(std::in_place, i->first, i->second);
  }
  static bool same(const slot& a, const slot& b) { return std::memcmp(&a, &b, sizeof a) == 0; }

  void check_finds(const std::vector<Key>& queries) const {
    for (const query_plan plan : {query_plan::scattered, query_plan::partition_first}) {
      std::vector<slot> values(queries.size());
      std::vector<std::uint8_t> found(queries.size());
      const std::span<const Key> asked(queries);
      tree_.find(asked, std::span<slot>(values), std::span(found), query_options{batch_order::unknown, plan});
      for (std::size_t i = 0; i < queries.size(); ++i) {
        const auto e = model_.find(queries[i]);
        ASSERT_EQ(found[i] != 0, e != model_.end()) << "find, query " << i << ", plan " << espalier::to_string(plan);
        if (std::is_void_v<Value>) continue;
        ASSERT_TRUE(same(values[i], e == model_.end() ? slot{} : e->second)) << "value of find, query " << i;
      }
    }
  }
  template <class Ask, class Expect>
  void check_seek(const char* name, const std::vector<Key>& queries, Ask ask, Expect expect) const {
    std::vector<Key> keys(queries.size());
    std::vector<slot> values(queries.size());
    std::vector<std::uint8_t> found(queries.size());
    const std::span<const Key> asked(queries);
    const std::span<Key> out_keys(keys);
    const std::span<slot> out_values(values);
    const std::span<std::uint8_t> mask(found);
    ask(asked, out_keys, out_values, mask)(tree_);
    for (std::size_t i = 0; i < queries.size(); ++i) {
      const element e = expect(queries[i]);
      ASSERT_EQ(found[i] != 0, e.has_value()) << name << ", query " << i;
      ASSERT_EQ(keys[i], e ? e->first : Key{}) << name << ", query " << i;
      if (std::is_void_v<Value>) continue;
      ASSERT_TRUE(same(values[i], e ? e->second : slot{})) << name << ", query " << i;
    }
  }
  void check_counts(const std::vector<Key>& lo) const {
    std::vector<Key> hi(lo);
    for (std::size_t i = 0; i < hi.size(); ++i) hi[i] = lo[(i * 7 + 3) % lo.size()];
    std::vector<Key> sorted;
    for (const auto& e : model_) sorted.push_back(e.first);
    for (const interval ends : {interval::closed, interval::open}) {
      std::vector<std::uint64_t> counts(lo.size());
      range_options options;
      options.ends = ends;
      tree_.count(std::span<const Key>(lo), std::span<const Key>(hi), std::span(counts), options);
      for (std::size_t i = 0; i < lo.size(); ++i) {
        const bool closed = ends == interval::closed;
        const auto rank = [&](Key k, bool with) {
          return (with ? std::upper_bound(sorted.begin(), sorted.end(), k)
                       : std::lower_bound(sorted.begin(), sorted.end(), k)) -
                 sorted.begin();
        };
        const auto expected = rank(hi[i], closed) - rank(lo[i], !closed);
        ASSERT_EQ(counts[i], static_cast<std::uint64_t>(expected < 0 ? 0 : expected)) << "count, query " << i;
      }
    }
  }

  tree_type tree_;
  array<Key> keys_;
  array<slot> values_;
  std::map<Key, slot> model_;
};

template <class Key, class Value, unsigned V>
void check_blink_on_every_target() {
  using word = word_of<Key>;
  const auto targets = detail::blink_simd_targets<word>();
  ASSERT_FALSE(targets.empty());
  const std::int64_t best = blink_target_in_use<word, V>();
#if !ESPALIER_SHARED_ATOMIC
  EXPECT_EQ(best, targets.front() == HWY_AVX2 ? HWY_AVX2 : 0) << "without a choice of ours";
#endif
  for (const family f : {family::uniform, family::clustered, family::nested, family::extremes}) {
    if (less_work > 1 && f != family::clustered) continue;
    for (const std::size_t n : {1, 500, 6007}) {
      for (const bool stale : {false, true}) {
        const tree_with_map<Key, Value> both(f, n, stale);
        for (const std::int64_t target : targets) {
          SCOPED_TRACE(std::string(hwy::TargetName(target)) + ", " + to_string(f) + " x " + std::to_string(n) +
                       (stale ? ", stale lane" : ""));
          const blink_only_target chosen(target);
          const std::int64_t used = blink_target_in_use<word, V>();
          ASSERT_TRUE(used == target || used == 0) << hwy::TargetName(used);
          both.check();
          if (testing::Test::HasFatalFailure()) return;
        }
      }
    }
  }
  EXPECT_EQ((blink_target_in_use<word, V>()), best);
}

TEST(BlinkTreeSimdTargets, PairsOfU32) { check_blink_on_every_target<std::uint32_t, std::uint32_t, 4>(); }
TEST(BlinkTreeSimdTargets, PairsOfU64) { check_blink_on_every_target<std::uint64_t, std::uint64_t, 8>(); }
TEST(BlinkTreeSimdTargets, SignedKeysAndSmallValues) { check_blink_on_every_target<std::int64_t, std::uint32_t, 4>(); }
TEST(BlinkTreeSimdTargets, SmallKeysAndLargeValues) { check_blink_on_every_target<std::int32_t, pair_of_words, 16>(); }
TEST(BlinkTreeSimdTargets, Sets) {
  check_blink_on_every_target<std::uint32_t, void, 0>();
  check_blink_on_every_target<std::uint64_t, void, 0>();
}

}  // namespace
}  // namespace espalier::test
