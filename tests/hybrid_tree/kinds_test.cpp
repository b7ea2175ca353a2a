// kinds_test.cpp - every kind of key that the other tests leave out, and values of every width, whoever walks.
//
// Two things depend on the types: how keys become words, and how wide an element is. So each kind of key is here once,
// and each width of values with words of 32 and of 64 bits. The model has its own order of keys (support/oracle.hpp):
// -0.0 < +0.0, and all NaNs are one key above all others.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "conformance/subject.hpp"  // bytes, pair_of_words, make_queries, expect_same
#include "espalier/hybrid_tree/hybrid_tree.hpp"
#include "support/hybrid_layouts.hpp"
#include "support/less_work.hpp"
#include "support/map_model.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

/// Each placement, and inner levels of which both have a part; straight from the caller's memory, and by way of ours.
const hybrid_query_options asked_ways[] = {{hybrid_placement::host_alone},
                                           {hybrid_placement::shared},
                                           {hybrid_placement::shared, 1, load_balance{0, 0.4}, host_copies::staged},
                                           {hybrid_placement::device_alone},
                                           {hybrid_placement::both, 2, {}, host_copies::staged}};
constexpr interval interval_kinds[] = {interval::closed, interval::right_open, interval::left_open, interval::open};

/// Room for copies of no leaf, of a few, and of all. The regular layout makes none, and has ways to write instead.
struct tree_variant {
  std::size_t leaf_cache;
  update_mode way;
};
constexpr tree_variant tree_variants[] = {
    {0, update_mode::automatic}, {500, update_mode::asynchronous}, {std::size_t{1} << 20, update_mode::synchronised}};
constexpr std::size_t many_keys = 4500 / less_work;  // of which two thirds may differ

/// One tree beside its model.
template <class Key, class Value>
class kind_subject {
  using tree_type = hybrid_tree<Key, Value>;
  using model_type = map_model<Key, Value>;
  using slot = typename model_type::slot;
  using mask = array<std::uint8_t>;
  using ranks = array<std::uint64_t>;
  static constexpr bool is_set = model_type::is_set;
  [[nodiscard]] static std::size_t values_for(std::size_t n) { return is_set ? 0 : n; }

 public:
  kind_subject(const setting& here, std::size_t n, hybrid_layout layout, const tree_variant& variant)
      : is_large_(n == many_keys),
        is_implicit_(layout == hybrid_layout::implicit),
        variant_(variant),
        keys_(keys_like(n)),
        tree_(build(here.dev, layout)) {
    renew_questions();
  }

  void check_reads() const {
    check_finds();
    check_neighbours();
    check_positions();
    check_ranges(0.1);
    for (const std::uint64_t limit : {1u, 8u, 40u}) check_rows(limit);
    if (expected_.size() > 1000) check_who_answered();  // smaller ones may have no inner levels
  }
  void check_writes() {
    // Keys that are there and others, some of them twice.
    const array<Key> more = make_queries(keys_, is_large_ ? 300 : 20);
    const array<slot> later = make_values<slot>(values_for(more.size() + 50));
    check_write(blink_op::insert_or_assign, more, array<slot>(later.span().last(values_for(more.size()))));
    // Every other key, or all if they are few; then some of them again, and some that are not there.
    const array<Key> there = model_.keys();
    const std::size_t step = is_large_ ? 2 : 1, gone = there.size() / step;
    array<Key> fewer(gone + queries_.size() / 8);
    for (std::size_t i = 0; i < fewer.size(); ++i) fewer[i] = i < gone ? there[i * step] : queries_[i - gone];
    random_words random(gone);
    shuffle(fewer, random);
    check_write(blink_op::erase, fewer, {});
  }

 private:
  /// Special ones many times, some spread over all words and, of many, some crowded in the middle: small floats.
  [[nodiscard]] static array<Key> keys_like(std::size_t n) {
    array<Key> keys = make_keys<Key>(family::extremes, n);
    const array<Key> crowded = make_keys<Key>(family::nested, n == many_keys ? n : 0);
    for (std::size_t i = 0; i < crowded.size(); i += 3) keys[i] = crowded[i];
    return keys;
  }
  [[nodiscard]] tree_type build(const device& dev, hybrid_layout layout) const {
    const hybrid_options o{
        .layout = layout, .bucket = 100, .window = 300, .leaf_cache = variant_.leaf_cache, .threads = 2};
    if constexpr (is_set) {
      return tree_type::build(keys_, o, dev);
    } else {
      return tree_type::build(keys_, values_, o, dev);
    }
  }
  /// Ranges: of one key; of any two, often against the order; of some that follow each other; and of everything.
  void renew_questions() {
    expected_ = model_.expected();  // queries stay the same: keys of the build, and so those that were erased, or came
    queries_ = make_queries(keys_, is_large_ ? 400 / less_work : 10);
    lo_ = hi_ = array<Key>(is_large_ ? 160 / less_work : 16);
    random_words random(keys_.size() + 3);
    for (std::size_t i = 0; i < lo_.size(); ++i) {
      lo_[i] = queries_[random.below(queries_.size())];
      hi_[i] = i % 4 == 0 ? lo_[i] : queries_[random.below(queries_.size())];
      if (i % 4 < 2 || expected_.size() == 0) continue;
      const std::uint64_t rank = random.below(expected_.size());
      lo_[i] = expected_.keys()[rank];
      hi_[i] = expected_.keys()[std::min<std::uint64_t>(rank + random.below(60), expected_.size() - 1)];
    }
    lo_[3] = lowest_key<Key>();
    hi_[3] = highest_key<Key>();
  }
  /// What is expected, or room for what comes: with something else in it.
  struct answer {
    array<Key> keys;
    array<slot> values;
    mask found;
    explicit answer(std::size_t n) : keys(n), values(values_for(n)), found(std::vector<std::uint8_t>(n, 9)) {
      std::fill(keys.begin(), keys.end(), highest_key<Key>());
      std::fill(values.begin(), values.end(), make_value<slot>(77));
    }
  };
  /// The elements with these ranks. Where there is none: zero bytes.
  [[nodiscard]] answer elements_at(const ranks& at) const {
    answer a(at.size());
    for (std::size_t i = 0; i < at.size(); ++i) {
      const bool there = at[i] < expected_.size();
      a.found[i] = there ? 1 : 0;
      a.keys[i] = there ? expected_.keys()[at[i]] : zero_bytes<Key>();
      if constexpr (!is_set) a.values[i] = there ? expected_.values()[at[i]] : zero_bytes<slot>();
    }
    return a;
  }
  void check_finds() const {
    ranks at(queries_.size());
    for (std::size_t i = 0; i < at.size(); ++i)
      at[i] = expected_.contains(queries_[i]) ? expected_.lower(queries_[i]) : expected_.size();
    const answer want = elements_at(at);
    for (const hybrid_query_options& way : asked_ways) {
      SCOPED_TRACE(to_string(way.placement));
      answer got(at.size());
      mask contained(std::vector<std::uint8_t>(at.size(), 9));
      tree_.find(queries_, got.values, got.found, way);
      tree_.contains(queries_, contained, way);
      expect_same("found", got.found, want.found);
      expect_same("values found", got.values, want.values);
      expect_same("contains", contained, want.found);
    }
  }
  /// Else all of this might be a test of the host alone.
  void check_who_answered() const {
    for (const hybrid_query_options& way : asked_ways) {
      const bool leaves = way.placement == hybrid_placement::device_alone || way.placement == hybrid_placement::both;
      tree_.find(queries_, {}, {}, way);
      EXPECT_EQ(tree_.stats().last, leaves && !is_implicit_ ? hybrid_placement::shared : way.placement);
    }
    EXPECT_LE(tree_.stats().leaf_cache_bytes, variant_.leaf_cache);
    EXPECT_EQ(tree_.stats().leaf_cache_bytes != 0, is_implicit_ && variant_.leaf_cache != 0);
  }
  void check_neighbours() const {
    ranks lower(queries_.size()), before(queries_.size()), upper(queries_.size());
    for (std::size_t i = 0; i < queries_.size(); ++i) {
      lower[i] = expected_.lower(queries_[i]);
      before[i] = lower[i] - 1;  // of the first one: the rank of none
      upper[i] = expected_.upper(queries_[i]);
    }
    answer got(queries_.size());
    tree_.lower_bound(queries_, got.keys, got.values, got.found);
    expect_elements("lower_bound", got, elements_at(lower));
    tree_.upper_bound(queries_, got.keys, got.values, got.found);
    expect_elements("upper_bound", got, elements_at(upper));
    tree_.successor(queries_, got.keys, got.values, got.found);
    expect_elements("successor", got, elements_at(upper));
    tree_.predecessor(queries_, got.keys, got.values, got.found);
    expect_elements("predecessor", got, elements_at(before));
  }
  void check_positions() const {
    ranks lower(queries_.size()), upper(queries_.size()), got_lower(queries_.size()), got_upper(queries_.size());
    for (std::size_t i = 0; i < queries_.size(); ++i) {
      lower[i] = expected_.lower(queries_[i]);
      upper[i] = expected_.upper(queries_[i]);
    }
    tree_.rank(queries_, got_lower);
    tree_.rank(queries_, got_upper, bound_type::upper);
    expect_same("rank", got_lower, lower);
    expect_same("rank of the upper bound", got_upper, upper);
    ranks every(expected_.size() + 3);
    for (std::size_t i = 0; i < every.size(); ++i) every[i] = (i * 7) % every.size();
    every[every.size() - 1] = ~std::uint64_t{0};
    answer got(every.size());
    tree_.select(every, got.keys, got.values, got.found);
    expect_elements("select", got, elements_at(every));
    mask found(std::vector<std::uint8_t>(every.size(), 9));
    tree_.select(every, {}, {}, found);
    expect_same("select, found alone", found, elements_at(every).found);
  }
  static void expect_elements(const char* what, const answer& got, const answer& want) {
    expect_same(what, got.found, want.found);
    expect_same(what, got.keys, want.keys);
    expect_same(what, got.values, want.values);
  }
  /// Are the elements from place `at` on those of these ranks?
  [[nodiscard]] bool are_listed(const rank_range& r, std::uint64_t at, const Key* keys, const slot* values) const {
    if (!std::equal(keys + at, keys + at + r.count(), expected_.keys().begin() + r.first, same<Key>)) return false;
    return is_set || std::equal(values + at, values + at + r.count(), expected_.values().begin() + r.first, same<slot>);
  }
  /// Estimates are exact in the implicit layout and up to 64 leaves, of which none is empty; else off by a part.
  void check_ranges(double part) const {
    for (const interval ends : interval_kinds) {
      SCOPED_TRACE(to_string(ends));
      ranks counts(std::vector<std::uint64_t>(lo_.size(), 99999));
      tree_.count(lo_, hi_, counts, {ends});
      const std::size_t few = 12;
      const auto listed = tree_.range(lo_.span().first(few), hi_.span().first(few), {ends});
      const std::uint64_t* const offsets = listed.offsets.data();
      for (std::size_t i = 0; i < lo_.size(); ++i) {
        const rank_range want = expected_.range(lo_[i], hi_[i], ends);
        ASSERT_EQ(counts[i], want.count()) << "range " << i;
        const double count = static_cast<double>(want.count());
        if (ends == interval::closed) {
          ASSERT_NEAR(static_cast<double>(tree_.estimate_count(lo_[i], hi_[i])), count,
                      is_implicit_ || count <= 64 ? 0 : part * count);
        }
        if (i >= few) continue;
        ASSERT_EQ(offsets[i + 1] - offsets[i], want.count()) << "elements of range " << i;
        ASSERT_TRUE(are_listed(want, offsets[i], listed.keys.data(), listed.values.data())) << "range " << i;
      }
    }
  }
  void check_rows(std::uint64_t limit) const {
    for (const interval ends : interval_kinds) {
      for (const hybrid_query_options& way : asked_ways) {
        SCOPED_TRACE("rows of " + std::to_string(limit) + ", " + to_string(ends) + ", " + to_string(way.placement));
        answer got(lo_.size() * limit);
        ranks counts(std::vector<std::uint64_t>(lo_.size(), 99)), alone = counts;
        tree_.range_rows(lo_, hi_, got.keys, got.values, counts, {ends, limit}, way);
        tree_.range_rows(lo_, hi_, {}, {}, alone, {ends, limit}, way);
        for (std::size_t i = 0; i < lo_.size(); ++i) {
          rank_range want = expected_.range(lo_[i], hi_[i], ends);
          want.last = std::min(want.last, want.first + limit);
          ASSERT_EQ(counts[i], want.count()) << "row " << i;
          ASSERT_EQ(alone[i], want.count()) << "row " << i << ", elements not asked for";
          ASSERT_TRUE(are_listed(want, i * limit, got.keys.data(), got.values.data())) << "row " << i;
        }
      }
    }
  }
  void check_write(blink_op op, const array<Key>& keys, const array<slot>& values) {
    SCOPED_TRACE(op == blink_op::erase ? "erase" : "insert_or_assign");
    mask done(std::vector<std::uint8_t>(keys.size(), 9)), want(keys.size());
    for (std::size_t i = 0; i < keys.size(); ++i)
      want[i] = model_.apply(op, keys[i], values.empty() ? slot{} : values[i]) ? 1 : 0;
    if (op == blink_op::erase) {
      tree_.erase(keys, done, variant_.way);
    } else if constexpr (is_set) {
      tree_.insert(keys, done, variant_.way);
    } else {
      tree_.insert_or_assign(keys, values, done, variant_.way);
    }
    expect_same("done", done, want);
    renew_questions();
    ASSERT_EQ(tree_.size(), expected_.size());
    ASSERT_EQ(tree_.validate().problem, "");
    check_finds();
    check_neighbours();
    check_positions();
    check_ranges(0.25);  // of some leaves the lane may know nothing yet
    check_rows(8);
  }

  bool is_large_, is_implicit_;
  tree_variant variant_;
  array<Key> keys_, queries_, lo_, hi_;
  array<slot> values_ = make_values<slot>(values_for(keys_.size()));
  tree_type tree_;
  model_type model_{keys_, values_};
  test::oracle<Key, Value> expected_{{}, {}};  // of what the model holds
};

class HybridKinds : public testing::TestWithParam<const setting*> {
 protected:
  template <class Key, class Value = void>
  static void check() {
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{7}, many_keys}) {
      for (const hybrid_layout layout : layouts) {
        for (const tree_variant& v : tree_variants) {
          SCOPED_TRACE(std::to_string(n) + ", " + to_string(layout) + ", cache of " + std::to_string(v.leaf_cache));
          kind_subject<Key, Value> tested(*GetParam(), n, layout, v);
          tested.check_reads();
          tested.check_writes();
          if (HasFailure()) return;
        }
      }
    }
  }
};

using timestamp = std::chrono::sys_time<std::chrono::microseconds>;
// Words of 32 bits.
TEST_P(HybridKinds, U8Set) { check<std::uint8_t>(); }
TEST_P(HybridKinds, I8) { check<std::int8_t, std::uint8_t>(); }
TEST_P(HybridKinds, U16) { check<std::uint16_t, bytes<3>>(); }
TEST_P(HybridKinds, I16) { check<std::int16_t, bytes<12>>(); }
TEST_P(HybridKinds, F32) { check<float, pair_of_words>(); }
TEST_P(HybridKinds, Bool) { check<bool, std::uint64_t>(); }
// Words of 64 bits.
TEST_P(HybridKinds, F64Set) { check<double>(); }
TEST_P(HybridKinds, F64) { check<double, bytes<12>>(); }
TEST_P(HybridKinds, Days) { check<std::chrono::sys_days, bytes<3>>(); }
TEST_P(HybridKinds, DaysWithWords) { check<std::chrono::sys_days, std::uint64_t>(); }
TEST_P(HybridKinds, Timestamps) { check<timestamp, pair_of_words>(); }
TEST_P(HybridKinds, TimestampsWithBytes) { check<timestamp, std::int8_t>(); }

INSTANTIATE_TEST_SUITE_P(, HybridKinds, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
