// range_shapes_test.cpp - ranges of all lengths in one batch: none, one and all elements, equal keys, and thousands of
// empty ranges between two that are not. A GPU divides their elements into pieces that ignore where ranges end.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "conformance/subject.hpp"  // expect_same
#include "espalier/static_tree/aggregate.hpp"
#include "espalier/static_tree/static_tree.hpp"
#include "espalier/team/scalar_team.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

template <class Word>
class ranges_of_shapes {
 public:
  /// Keys 10, 20, ..., and `equal` times the key in their middle. Values are numbers in input order.
  ranges_of_shapes(const setting& s, std::size_t distinct, std::size_t equal)
      : here_(s), keys_(distinct + equal), values_(distinct + equal) {
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      keys_[i] = static_cast<Word>(10 * (i < distinct ? i + 1 : distinct / 2));
      values_[i] = static_cast<std::uint32_t>(i);
    }
    lent<Word> keys(s, keys_);
    lent<std::uint32_t> values(s, values_);
    tree_.emplace(tree_type::build(keys.in(), values.in(), {}, s.dev));
    std::vector<std::size_t> order(keys_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys_[a] < keys_[b]; });
    const array<Word> given = keys_;
    for (std::size_t i = 0; i < order.size(); ++i) {
      keys_[i] = given[order[i]];
      values_[i] = static_cast<std::uint32_t>(order[i]);
    }
  }
  [[nodiscard]] std::size_t size() const { return keys_.size(); }
  [[nodiscard]] Word key_at(std::size_t rank) const { return keys_[rank]; }

  void add(Word lo, Word hi) {
    lo_.push_back(lo);
    hi_.push_back(hi);
  }
  /// Adds a range of `length` keys, all of which exist once if they are not in the middle.
  void add_at(std::size_t rank, std::size_t length) { add(key_at(rank), key_at(rank + length - 1)); }
  void add_empty(std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) i % 2 == 0 ? add(15, 14) : add(static_cast<Word>(10 * (i % 90) + 11), 12);
  }

  /// Asks for the ranges that were added, and forgets them.
  void check(const std::string& what) {
    SCOPED_TRACE(what);
    for (const interval ends : {interval::closed, interval::open}) {
      for (const std::uint64_t limit : {~std::uint64_t{0}, std::uint64_t{3}}) {
        check({.ends = ends, .limit = limit});
      }
    }
    lo_.clear();
    hi_.clear();
  }

 private:
  using tree_type = static_tree<Word, std::uint32_t>;

  void check(const range_options& options) {
    const std::size_t n = lo_.size();
    array<std::uint64_t> offsets(n + 1);
    std::vector<std::size_t> ranks;
    for (std::size_t i = 0; i < n; ++i) {
      const bool closed = options.ends == interval::closed;
      const auto first = closed ? std::lower_bound(keys_.begin(), keys_.end(), lo_[i])
                                : std::upper_bound(keys_.begin(), keys_.end(), lo_[i]);
      const auto last = closed ? std::upper_bound(keys_.begin(), keys_.end(), hi_[i])
                               : std::lower_bound(keys_.begin(), keys_.end(), hi_[i]);
      std::uint64_t count = first < last ? static_cast<std::uint64_t>(last - first) : 0;
      count = std::min(count, options.limit);
      for (std::uint64_t j = 0; j < count; ++j) ranks.push_back(static_cast<std::size_t>(first - keys_.begin()) + j);
      offsets[i + 1] = offsets[i] + count;
    }
    array<Word> keys(ranks.size());
    array<std::uint32_t> values(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      keys[i] = keys_[ranks[i]];
      values[i] = values_[ranks[i]];
    }
    array<Word> lows(n), highs(n);
    std::copy(lo_.begin(), lo_.end(), lows.begin());
    std::copy(hi_.begin(), hi_.end(), highs.begin());
    lent<Word> lo(here_, lows), hi(here_, highs);
    const auto got = tree_->range(lo.in(), hi.in(), options);
    expect_same("range offsets", to_host(here_, got.offsets), offsets);
    expect_same("range keys", to_host(here_, got.keys), keys);
    expect_same("range values", to_host(here_, got.values), values);

    lent<std::uint64_t> ends(here_, n + 1);
    lent<Word> out_keys(here_, ranks.size());
    lent<std::uint32_t> out_values(here_, ranks.size());
    tree_->range_offsets_async(lo.in(), hi.in(), ends.span(), options, here_.own);
    tree_->range_fill_async(lo.in(), ends.in(), out_keys.span(), out_values.span(), options, here_.own);
    here_.own.synchronize();
    expect_same("range_offsets_async", ends.get(), offsets);
    expect_same("range_fill_async keys", out_keys.get(), keys);
    expect_same("range_fill_async values", out_values.get(), values);
  }

  const setting& here_;
  array<Word> keys_;
  array<std::uint32_t> values_;
  std::optional<tree_type> tree_;
  std::vector<Word> lo_, hi_;
};

class StaticTreeRangeShapes : public testing::TestWithParam<const setting*> {
 protected:
  static const setting& here() { return *GetParam(); }

  template <class Word>
  static void check_few_long_ones() {
    ranges_of_shapes<Word> ranges(here(), 20001, 0);
    ranges.add(0, ~Word{0});
    ranges.check("everything");
    for (unsigned i = 0; i < 3; ++i) ranges.add(0, ~Word{0});
    ranges.check("everything, three times");
    ranges.add_at(3, 1);
    ranges.add_at(1, 20000);
    ranges.add_at(5, 2);
    ranges.check("a long range between short ones");
  }
  template <class Word>
  static void check_empty_ones() {
    ranges_of_shapes<Word> ranges(here(), 3001, 0);
    ranges.add_empty(1);
    ranges.check("one empty range");
    ranges.add_empty(5000);
    ranges.check("empty ranges only");
    for (const std::size_t length : {1u, 40u, 2000u}) {
      const std::string name = "a range of " + std::to_string(length) + ' ';
      ranges.add_at(100, length);
      ranges.add_empty(5000);
      ranges.check(name + "before empty ones");
      ranges.add_empty(5000);
      ranges.add_at(100, length);
      ranges.check(name + "behind empty ones");
    }
    for (std::size_t i = 0; i < 300; ++i) {
      ranges.add_empty(i % 70);
      ranges.add_at(i * 9, 1 + i % 3);
    }
    ranges.check("short ranges between empty ones");
  }
  template <class Word>
  static void check_many() {
    ranges_of_shapes<Word> ranges(here(), 6000, 0);
    for (std::size_t i = 0; i < 4000; ++i) ranges.add_at(1234, 7);
    ranges.check("equal ranges");
    for (std::size_t i = 0; i < 900; ++i) ranges.add_at(6 * i, 6);
    ranges.check("ranges in order that meet");
    for (std::size_t i = 0; i < 900; ++i) ranges.add_at(6 * (900 - i), 17);
    ranges.check("ranges against the order that overlap");
    constexpr std::size_t lengths[] = {1, 31, 32, 33, 2, 255, 256, 257, 511, 512, 513, 3, 1023, 1024, 1025, 64, 2048};
    for (std::size_t i = 0; i < 85; ++i) ranges.add_at(i * 41 % 3000, lengths[i % std::size(lengths)]);
    ranges.check("lengths around powers of two");
  }
  template <class Word>
  static void check_equal_keys() {
    ranges_of_shapes<Word> ranges(here(), 2000, 60000);
    const auto middle = static_cast<Word>(10 * 1000);
    ranges.add(middle, middle);
    ranges.add(static_cast<Word>(middle - 10), middle);
    ranges.add(middle, static_cast<Word>(middle + 10));
    ranges.add(static_cast<Word>(middle + 1), static_cast<Word>(middle + 9));
    ranges.add(static_cast<Word>(middle - 1), static_cast<Word>(middle + 1));
    ranges.check("60,001 equal keys");
    for (std::size_t i = 0; i < 40; ++i) ranges.add(static_cast<Word>(middle - 1 - 10 * i), middle);
    ranges.check("ranges that end in equal keys");
  }
};

TEST_P(StaticTreeRangeShapes, FewLongRanges) {
  check_few_long_ones<std::uint32_t>();
  check_few_long_ones<std::uint64_t>();
}
TEST_P(StaticTreeRangeShapes, SmallEmptyRangesBeforeBetweenAndBehindOthers) {
  check_empty_ones<std::uint32_t>();
  check_empty_ones<std::uint64_t>();
}
TEST_P(StaticTreeRangeShapes, ManyRanges) {
  check_many<std::uint32_t>();
  check_many<std::uint64_t>();
}
TEST_P(StaticTreeRangeShapes, RangesOfEqualKeys) {
  check_equal_keys<std::uint32_t>();
  check_equal_keys<std::uint64_t>();
}

INSTANTIATE_TEST_SUITE_P(, StaticTreeRangeShapes, testing::ValuesIn(all_settings()), setting_name{});

// What each lane of a GPU does at its end of a range, here by the calling thread.
template <class Word, unsigned ValueBytes, class Element>
void expect_sums_before_slots(const tree_view<Word, ValueBytes>& t, const std::vector<Element>& elements) {
  using aggregates = aggregator<Word, ValueBytes>;
  typename aggregates::sum_type expected = 0;
  for (std::uint64_t rank = 0; rank < t.size; ++rank) {
    const std::uint64_t line = rank / aggregates::slots;
    const auto summands = aggregates::summands_of(scalar_team{}, t, line);
    const auto sum = aggregates::sum_before(scalar_team{}, t, line, static_cast<unsigned>(rank % aggregates::slots),
                                            summands, aggregates::prefix_of_block(t, line));
    ASSERT_TRUE(sum == expected) << "rank " << rank;
    expected += static_cast<typename aggregates::sum_type>(elements[rank]);
  }
}

TEST(StaticTreeSumsBefore, ASlotAreThoseOfTheElementsThere) {
  const auto check = [](auto key) {
    using key_type = decltype(key);
    std::vector<key_type> keys;
    for (int i = 0; i < 3000; ++i) keys.push_back(static_cast<key_type>(7 * i - 9000));
    std::sort(keys.begin(), keys.end());
    const build_options sums{.keep = aggregates::sum};
    const auto set = static_tree<key_type>::build(keys, sums, device::cpu());
    expect_sums_before_slots(set.ref().layout(), keys);
    std::vector<std::int32_t> values;
    for (int i = 0; i < 3000; ++i) values.push_back(i % 5 == 0 ? -i : i);
    const auto pairs = static_tree<key_type, std::int32_t>::build(keys, values, sums, device::cpu());
    expect_sums_before_slots(pairs.ref().layout(), values);
  };
  check(std::int64_t{});
  check(std::uint64_t{});
  check(std::int32_t{});
  check(std::uint32_t{});
}

}  // namespace
}  // namespace espalier::test
