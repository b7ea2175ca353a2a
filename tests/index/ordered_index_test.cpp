// ordered_index_test.cpp - the concepts of ordered_index.hpp, and one suite over all owners: a name has one meaning.
#include "espalier/index/ordered_index.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/hybrid_tree/hybrid_tree.hpp"
#include "espalier/radix_tree/radix_tree.hpp"
#include "espalier/static_tree/static_tree.hpp"
#include "support/families.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

using key = std::uint64_t;
using value = std::uint32_t;

static_assert(OrderedMap<static_tree<key, value>> && OrderedIndex<static_tree<key>> && !OrderedMap<static_tree<key>>);
static_assert(OrderedMap<blink_tree<key, value>> && OrderedIndex<blink_tree<key>>);
static_assert(OrderedMap<hybrid_tree<key, value>> && OrderedIndex<hybrid_tree<key>>);
static_assert(OrderedMap<radix_tree<value>> && OrderedIndex<radix_tree<>>);
static_assert(RankedIndex<static_tree<key, value>> && RankedIndex<hybrid_tree<key, value>> &&
              RankedIndex<radix_tree<value>>);
static_assert(!RankedIndex<blink_tree<key, value>>);
static_assert(!MutableIndex<static_tree<key, value>> && MutableIndex<blink_tree<key, value>> &&
              MutableIndex<blink_tree<key>> && MutableIndex<hybrid_tree<key, value>> &&
              MutableIndex<hybrid_tree<key>> && MutableIndex<radix_tree<value>> && MutableIndex<radix_tree<>>);
static_assert(AsyncIndex<static_tree<key, value>> && AsyncIndex<blink_tree<key, value>> &&
              AsyncIndex<radix_tree<value>> && !AsyncIndex<hybrid_tree<key, value>>);

// Keys of an owner, made from words in the same order.
template <class Tree>
struct keys_for {
  static std::vector<key> batch(const std::vector<key>& words) { return words; }
};
template <>
struct keys_for<radix_tree<value>> {
  static std::string one(key word) {
    if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
    std::string bytes(sizeof(word), '\0');
    std::memcpy(bytes.data(), &word, sizeof(word));
    return bytes;
  }
  static std::vector<std::string> batch(const std::vector<key>& words) {
    std::vector<std::string> out;
    for (const key w : words) out.push_back(one(w));
    return out;
  }
};

template <OrderedMap Tree>
class ordered_suite {
 public:
  ordered_suite(const setting& here, std::size_t n) {
    const auto words = make_keys<key>(n % 2 == 0 ? family::uniform : family::clustered, n);
    std::vector<value> values;
    for (std::size_t i = 0; i < words.size(); ++i) values.push_back(static_cast<value>(i * 2654435761u));
    std::vector<key> distinct;
    std::vector<value> of_distinct;
    for (std::size_t i = 0; i < words.size(); ++i) all_.try_emplace(words[i], values[i]);
    for (const auto& [k, v] : all_) {
      distinct.push_back(k);
      of_distinct.push_back(v);
    }
    if constexpr (std::is_same_v<Tree, static_tree<key, value>>) {
      tree_.emplace(Tree::build(distinct, of_distinct, {.keep = aggregates::all}, here.dev));
    } else {
      tree_.emplace(Tree::build(keys_for<Tree>::batch(distinct), of_distinct, {}, here.dev));
    }
    // Present and absent keys, the extremes, and ranges that are empty, reversed and whole.
    for (std::size_t i = 0; i < 200; ++i) {
      const key k = words.empty() ? i : words[i * 7919 % words.size()];
      lo_.push_back(k + i % 3 - 1);
      hi_.push_back(i % 11 == 0 ? k - 5 : words.empty() ? k : words[i * 104729 % words.size()]);
    }
    lo_.insert(lo_.end(), {0, 0, ~key{0}, 1});
    hi_.insert(hi_.end(), {~key{0}, 0, ~key{0}, 0});
  }

  void check() {
    EXPECT_EQ(tree_->size(), all_.size());
    EXPECT_EQ(tree_->empty(), all_.empty());
    EXPECT_TRUE(tree_->validate().ok);
    points();
    omitted_outputs();
    neighbours();
    for (const interval ends : {interval::closed, interval::right_open, interval::left_open, interval::open}) {
      ranges(ends);
    }
    if constexpr (RankedIndex<Tree>) ranks();
    if constexpr (MutableIndex<Tree>) writes();
  }

 private:
  using iterator = std::map<key, value>::const_iterator;

  auto low() const { return keys_for<Tree>::batch(lo_); }
  auto high() const { return keys_for<Tree>::batch(hi_); }
  std::size_t asked() const { return lo_.size(); }

  void points() {
    std::vector<value> values(asked());
    std::vector<std::uint8_t> found(asked()), contained(asked());
    tree_->find(low(), values, found);
    tree_->contains(low(), contained);
    for (std::size_t i = 0; i < asked(); ++i) {
      const auto at = all_.find(lo_[i]);
      ASSERT_EQ(found[i], at != all_.end() ? 1 : 0);
      ASSERT_EQ(contained[i], found[i]);
      ASSERT_EQ(values[i], at != all_.end() ? at->second : 0);
    }
  }

  // An optional output that is an empty span is not written, even if the span has an address.
  void omitted_outputs() {
    std::vector<value> values(asked(), 77), untouched = values;
    std::vector<std::uint8_t> found(asked(), 9), unmarked = found;
    const auto no_values = std::span(values).first(0);
    const auto no_mask = std::span(found).first(0);
    std::vector<value> other_values(asked());
    std::vector<std::uint8_t> other_mask(asked());
    tree_->find(low(), no_values, other_mask);
    tree_->find(low(), other_values, no_mask);
    tree_->min(low(), high(), other_values, no_mask);
    if constexpr (detail::WritesNeighbours<Tree>) {
      std::vector<key> keys(asked(), 5);
      tree_->lower_bound(low(), std::span(keys).first(0), no_values, other_mask);
      ASSERT_EQ(keys, std::vector<key>(asked(), 5));
      tree_->lower_bound(low(), keys, other_values, no_mask);
    }
    ASSERT_EQ(values, untouched);
    ASSERT_EQ(found, unmarked);
  }

  // call(keys, out_keys, values, found) or call(keys), as the owner has it, against at(query).
  template <class Write, class Return, class At>
  void expect_elements(const char* what, Write write, Return list, At at) {
    SCOPED_TRACE(what);
    std::vector<key> keys(asked());
    std::vector<value> values(asked());
    std::vector<std::uint8_t> found(asked());
    if constexpr (detail::WritesNeighbours<Tree>) {
      write(std::span(keys), std::span(values), std::span(found));
    } else {
      take(list(), keys, values, found);
    }
    for (std::size_t i = 0; i < asked(); ++i) {
      const iterator want = at(lo_[i]);
      ASSERT_EQ(found[i], want != all_.end() ? 1 : 0) << "query " << i;
      ASSERT_EQ(keys[i], want != all_.end() ? want->first : 0) << "query " << i;
      ASSERT_EQ(values[i], want != all_.end() ? want->second : 0) << "query " << i;
    }
  }

  void neighbours() {
    const auto q = low();
    const auto& t = *tree_;
    expect_elements(
        "lower_bound", [&](auto k, auto v, auto f) { t.lower_bound(q, k, v, f); }, [&] { return call_lower_bound(q); },
        [&](key k) { return all_.lower_bound(k); });
    expect_elements(
        "upper_bound", [&](auto k, auto v, auto f) { t.upper_bound(q, k, v, f); }, [&] { return call_upper_bound(q); },
        [&](key k) { return all_.upper_bound(k); });
    expect_elements(
        "successor", [&](auto k, auto v, auto f) { t.successor(q, k, v, f); }, [&] { return call_successor(q); },
        [&](key k) { return all_.upper_bound(k); });
    expect_elements(
        "predecessor", [&](auto k, auto v, auto f) { t.predecessor(q, k, v, f); }, [&] { return call_predecessor(q); },
        [&](key k) {
          const auto at = all_.lower_bound(k);
          return at == all_.begin() ? all_.end() : std::prev(at);
        });
  }
  template <class Q>
  auto call_lower_bound(const Q& q) const {
    if constexpr (detail::ReturnsNeighbours<Tree>) return tree_->lower_bound(q);
  }
  template <class Q>
  auto call_upper_bound(const Q& q) const {
    if constexpr (detail::ReturnsNeighbours<Tree>) return tree_->upper_bound(q);
  }
  template <class Q>
  auto call_successor(const Q& q) const {
    if constexpr (detail::ReturnsNeighbours<Tree>) return tree_->successor(q);
  }
  template <class Q>
  auto call_predecessor(const Q& q) const {
    if constexpr (detail::ReturnsNeighbours<Tree>) return tree_->predecessor(q);
  }

  void ranges(interval ends) {
    SCOPED_TRACE(static_cast<int>(ends));
    const std::size_t n = asked();
    std::vector<std::uint64_t> counts(n), few(n);
    std::vector<typename Tree::sum_type> sums(n);
    std::vector<value> least(n), most(n);
    std::vector<std::uint8_t> has_least(n), has_most(n);
    std::vector<double> means(n);
    const auto lo = low();
    const auto hi = high();
    tree_->count(lo, hi, counts, {ends});
    tree_->count(lo, hi, few, {ends, 3});
    tree_->sum(lo, hi, sums, ends);
    tree_->min(lo, hi, least, has_least, ends);
    tree_->max(lo, hi, most, has_most, ends);
    tree_->avg(lo, hi, means, ends);
    const auto listed = tree_->range(lo, hi, {ends, 50});
    const auto offsets = listed.offsets.to_vector();
    const auto values = listed.values.to_vector();
    for (std::size_t i = 0; i < n; ++i) {
      const bool with_lo = ends == interval::closed || ends == interval::right_open;
      const bool with_hi = ends == interval::closed || ends == interval::left_open;
      iterator from = with_lo ? all_.lower_bound(lo_[i]) : all_.upper_bound(lo_[i]);
      const iterator to = with_hi ? all_.upper_bound(hi_[i]) : all_.lower_bound(hi_[i]);
      if (lo_[i] > hi_[i] || (from != all_.end() && to != all_.end() && to->first < from->first) ||
          from == all_.end()) {
        from = to;
      }
      std::uint64_t size = 0, sum = 0;
      value lowest = ~value{0}, highest = 0;
      for (auto it = from; it != to; ++it, ++size) {
        sum += it->second;
        lowest = std::min(lowest, it->second);
        highest = std::max(highest, it->second);
        if (size < 50) {
          ASSERT_EQ(values[offsets[i] + size], it->second) << "query " << i;
        }
      }
      ASSERT_EQ(offsets[i + 1] - offsets[i], std::min<std::uint64_t>(size, 50)) << "query " << i;
      ASSERT_EQ(counts[i], size) << "query " << i;
      ASSERT_EQ(few[i], std::min<std::uint64_t>(size, 3)) << "query " << i;
      ASSERT_EQ(sums[i], sum) << "query " << i;
      ASSERT_EQ(has_least[i], size != 0 ? 1 : 0) << "query " << i;
      ASSERT_EQ(has_most[i], has_least[i]) << "query " << i;
      ASSERT_EQ(least[i], size != 0 ? lowest : 0) << "query " << i;
      ASSERT_EQ(most[i], size != 0 ? highest : 0) << "query " << i;
      if (size == 0) {
        ASSERT_TRUE(std::isnan(means[i])) << "query " << i;
      } else {
        ASSERT_EQ(means[i], static_cast<double>(sum) / static_cast<double>(size)) << "query " << i;
      }
    }
  }

  void ranks() {
    std::vector<std::uint64_t> below(asked()), through(asked());
    tree_->rank(low(), below);
    tree_->rank(low(), through, bound_type::upper);
    for (std::size_t i = 0; i < asked(); ++i) {
      const auto position = [&](iterator at) { return static_cast<std::uint64_t>(std::distance(all_.cbegin(), at)); };
      ASSERT_EQ(below[i], position(all_.lower_bound(lo_[i]))) << "query " << i;
      ASSERT_EQ(through[i], position(all_.upper_bound(lo_[i]))) << "query " << i;
    }
    select();
  }

  void select() {
    const std::size_t size = all_.size();
    std::vector<std::uint64_t> ranks{size, 0, ~std::uint64_t{0}, size / 2, size / 2, size - 1};
    for (std::size_t i = 0; i < size; i += 1 + size / 100) ranks.push_back(size - 1 - i);
    std::vector<key> keys(ranks.size());
    std::vector<value> values(ranks.size());
    std::vector<std::uint8_t> found(ranks.size());
    if constexpr (detail::WritesSelected<Tree>) {
      tree_->select(ranks, keys, values, found);
    } else {
      const auto got = tree_->select(ranks);
      take(got, keys, values, found);
    }
    std::vector<std::pair<key, value>> in_order(all_.begin(), all_.end());
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const bool exists = ranks[i] < size;
      ASSERT_EQ(found[i], exists ? 1 : 0) << "rank " << ranks[i];
      ASSERT_EQ(keys[i], exists ? in_order[ranks[i]].first : 0) << "rank " << ranks[i];
      ASSERT_EQ(values[i], exists ? in_order[ranks[i]].second : 0) << "rank " << ranks[i];
    }
  }

  /// Copies a result with at most one element per query to arrays.
  template <class Result>
  static void take(const Result& got, std::span<key> keys, std::span<value> values, std::span<std::uint8_t> found) {
    const auto offsets = got.offsets.to_vector();
    const auto strings = got.keys();
    const auto got_values = got.values.to_vector();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      found[i] = offsets[i + 1] > offsets[i] ? 1 : 0;
      if (found[i] == 0) continue;
      values[i] = got_values[offsets[i]];
      for (const char c : strings[offsets[i]]) keys[i] = keys[i] << 8 | static_cast<unsigned char>(c);
    }
  }

  void writes() {
    std::vector<key> fresh, gone;
    for (std::size_t i = 0; i < 300; ++i) fresh.push_back(key{i} * 0x9e3779b97f4a7c15u);
    for (std::size_t i = 0; i < asked(); i += 2) gone.push_back(lo_[i]);
    std::sort(gone.begin(), gone.end());
    gone.erase(std::unique(gone.begin(), gone.end()), gone.end());
    std::vector<value> values(fresh.size());
    for (std::size_t i = 0; i < fresh.size(); ++i) values[i] = static_cast<value>(i);
    std::vector<std::uint8_t> done(fresh.size()), erased(gone.size());
    tree_->insert_or_assign(keys_for<Tree>::batch(fresh), values, done);
    for (std::size_t i = 0; i < fresh.size(); ++i) {
      ASSERT_EQ(done[i], all_.insert_or_assign(fresh[i], values[i]).second ? 1 : 0);
    }
    tree_->erase(keys_for<Tree>::batch(gone), erased);
    for (std::size_t i = 0; i < gone.size(); ++i) ASSERT_EQ(erased[i], all_.erase(gone[i]));
    ASSERT_EQ(tree_->size(), all_.size());
    ASSERT_TRUE(tree_->validate().ok);
    points();
    neighbours();
    ranges(interval::closed);
  }

  std::map<key, value> all_;
  std::vector<key> lo_, hi_;
  std::optional<Tree> tree_;
};

class EveryOrderedIndex : public testing::TestWithParam<const setting*> {
 protected:
  template <class Tree>
  static void check() {
    for (const std::size_t n : {0, 1, 2, 300, 4001, 20000}) {
      SCOPED_TRACE(std::to_string(n) + " keys");
      ordered_suite<Tree>(*GetParam(), n).check();
      if (HasFatalFailure()) return;
    }
  }
};

TEST_P(EveryOrderedIndex, StaticTree) { check<static_tree<key, value>>(); }
TEST_P(EveryOrderedIndex, BlinkTree) { check<blink_tree<key, value>>(); }
TEST_P(EveryOrderedIndex, HybridTree) { check<hybrid_tree<key, value>>(); }
TEST_P(EveryOrderedIndex, RadixTree) { check<radix_tree<value>>(); }

INSTANTIATE_TEST_SUITE_P(, EveryOrderedIndex, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
