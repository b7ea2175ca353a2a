// outputs_test.cpp - where answers may be written: memory aligned as the value's type asks and no more, and room for
// fewer or more elements than there are.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "espalier/static_tree/static_tree.hpp"
#include "support/families.hpp"
#include "support/oracle.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

struct two_words {
  std::uint64_t first, second;
};
struct two_floats {
  float x, y;
};
static_assert(alignof(two_words) < sizeof(two_words) && alignof(two_floats) < sizeof(two_floats));

/// Room for n elements at an address that is a multiple of alignof(T) and not of sizeof(T), between two canaries.
template <class T>
class barely_aligned {
  using unit = std::conditional_t<alignof(T) == 8, std::uint64_t, std::uint32_t>;
  static constexpr std::size_t units = sizeof(T) / sizeof(unit);

 public:
  barely_aligned(const setting& s, std::size_t n) : memory_(s, n * units + 2), n_(n) {}
  barely_aligned(const setting& s, const array<T>& input) : memory_(s, shifted(input)), n_(input.size()) {}

  [[nodiscard]] std::span<T> span() {
    T* start = reinterpret_cast<T*>(memory_.span().data() + 1);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(start) % sizeof(T), alignof(T));
    return {start, n_};
  }
  [[nodiscard]] std::span<const T> in() { return span(); }

  [[nodiscard]] array<T> get() {
    const array<unit>& bytes = memory_.get();
    EXPECT_EQ(bytes[0], canary()) << "something was written before the output";
    EXPECT_EQ(bytes[bytes.size() - 1], canary()) << "something was written after the output";
    array<T> result(n_);
    std::memcpy(static_cast<void*>(result.data()), bytes.data() + 1, n_ * sizeof(T));
    return result;
  }

 private:
  static unit canary() {
    unit u;
    std::memset(&u, 0xa5, sizeof(u));
    return u;
  }
  static array<unit> shifted(const array<T>& input) {
    array<unit> all(input.size() * units + 2);
    all[0] = all[all.size() - 1] = canary();
    std::memcpy(all.data() + 1, input.data(), input.size() * sizeof(T));
    return all;
  }

  lent<unit> memory_;
  std::size_t n_;
};

class StaticTreeOutputs : public testing::TestWithParam<const setting*> {
 protected:
  static const setting& here() { return *GetParam(); }
};

/// Every operation that gives values, on a tree whose values came from such an address too.
template <class Key, class Value>
class aligned_as_asked {
 public:
  aligned_as_asked(const setting& s, std::size_t n)
      : here_(s), expected_(make_keys<Key>(family::zipf, n), make_values<Value>(n)), tree_(build(s, n)) {
    queries_ = array<Key>(257);
    random_words random(3);
    for (std::size_t i = 0; i < queries_.size(); ++i) {
      const auto word = key_codec<Key>::encode(expected_.keys()[random.below(n)]);
      queries_[i] = from_word<Key>(i % 3 == 0 ? word ^ 1 : word);
    }
  }

  void find() {
    for (const query_plan how : {query_plan::automatic, query_plan::small, query_plan::scattered, query_plan::ordered,
                                 query_plan::sort_first, query_plan::partition_first}) {
      SCOPED_TRACE(espalier::to_string(how));
      lent<Key> in(here_, queries_);
      barely_aligned<Value> values(here_, queries_.size());
      tree_.find(in.in(), values.span(), {}, {batch_order::unknown, how});
      expect_values("find", values.get(),
                    [&](Key key) { return expected_.contains(key) ? expected_.lower(key) : expected_.size(); });
    }
  }
  void neighbours() {
    lent<Key> in(here_, queries_);
    barely_aligned<Value> next(here_, queries_.size()), last(here_, queries_.size());
    tree_.successor(in.in(), {}, next.span(), {});
    tree_.predecessor(in.in(), {}, last.span(), {});
    expect_values("successor", next.get(), [&](Key key) { return expected_.upper(key); });
    expect_values("predecessor", last.get(),
                  [&](Key key) { return expected_.lower(key) == 0 ? expected_.size() : expected_.lower(key) - 1; });
  }
  void select() {
    array<std::uint64_t> ranks(expected_.size() + 2);
    for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = i;
    lent<std::uint64_t> in(here_, ranks);
    barely_aligned<Value> values(here_, ranks.size());
    tree_.select(in.in(), {}, values.span(), {});
    const array<Value> got = values.get();
    for (std::size_t i = 0; i < ranks.size(); ++i) ASSERT_TRUE(same(got[i], value_at(i))) << "select " << i;
  }
  void range_fill() {
    const array<Key> lo{expected_.keys()[0], expected_.keys()[expected_.size() / 2]};
    const array<Key> hi{expected_.keys()[expected_.size() / 3], expected_.keys()[expected_.size() - 1]};
    std::vector<std::uint64_t> want;
    for (std::size_t i = 0; i < lo.size(); ++i) {
      const rank_range r = expected_.range(lo[i], hi[i], interval::closed);
      for (std::uint64_t rank = r.first; rank < r.last; ++rank) want.push_back(rank);
    }
    lent<Key> low(here_, lo), high(here_, hi);
    lent<std::uint64_t> offsets(here_, lo.size() + 1);
    barely_aligned<Value> values(here_, want.size());
    tree_.range_offsets_async(low.in(), high.in(), offsets.span(), {}, here_.own);
    tree_.range_fill_async(low.in(), offsets.in(), {}, values.span(), {}, here_.own);
    here_.own.synchronize();
    const array<Value> got = values.get();
    for (std::size_t i = 0; i < want.size(); ++i) ASSERT_TRUE(same(got[i], value_at(want[i]))) << "element " << i;
  }

 private:
  static static_tree<Key, Value> build(const setting& s, std::size_t n) {
    lent<Key> keys(s, make_keys<Key>(family::zipf, n));
    barely_aligned<Value> values(s, make_values<Value>(n));
    return static_tree<Key, Value>::build(keys.in(), values.in(), {}, s.dev);
  }
  [[nodiscard]] Value value_at(std::uint64_t rank) const {
    return rank < expected_.size() ? expected_.values()[rank] : zero_bytes<Value>();
  }
  template <class Rank>
  void expect_values(const char* what, const array<Value>& got, Rank rank_of) const {
    for (std::size_t i = 0; i < queries_.size(); ++i) {
      ASSERT_TRUE(same(got[i], value_at(rank_of(queries_[i])))) << what << ", query " << i;
    }
  }

  const setting& here_;
  oracle<Key, Value> expected_;
  static_tree<Key, Value> tree_;
  array<Key> queries_;
};

template <class Key, class Value>
void write_to_barely_aligned_memory(const setting& s) {
  aligned_as_asked<Key, Value> outputs(s, 3001);
  outputs.find();
  outputs.neighbours();
  outputs.select();
  outputs.range_fill();
}

TEST_P(StaticTreeOutputs, SmallSixteenByteValuesNeedTheAlignmentOfTheirTypeOnly) {
  write_to_barely_aligned_memory<std::uint32_t, two_words>(here());
  write_to_barely_aligned_memory<std::uint64_t, two_words>(here());
}
TEST_P(StaticTreeOutputs, SmallEightByteValuesNeedTheAlignmentOfTheirTypeOnly) {
  write_to_barely_aligned_memory<std::uint32_t, two_floats>(here());
  write_to_barely_aligned_memory<double, two_floats>(here());
}

/// range_fill_async over everything in two ranges, into rooms of any size.
class StaticTreeRangeFill : public StaticTreeOutputs {
 protected:
  using tree_type = static_tree<std::uint32_t, std::uint32_t>;
  static constexpr std::uint32_t n = 3001, middle = 1500;
  static constexpr std::uint32_t untouched = 0xa5a5a5a5u;

  void SetUp() override {
    array<std::uint32_t> keys(n), values(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      keys[i] = 10 * i;
      values[i] = key_of(i) ^ 0x5555u;
    }
    tree_.emplace(tree_type::build(keys.span(), values.span(), {}, here().dev));
    low_.emplace(here(), array<std::uint32_t>{0, 10 * middle});
    const array<std::uint32_t> high{10 * middle - 1, 10 * n};
    lent<std::uint32_t> hi(here(), high);
    offsets_.emplace(here(), 3);
    tree_->range_offsets_async(low_->in(), hi.in(), offsets_->span(), {}, here().own);
    here().own.synchronize();
    ASSERT_EQ(offsets_->get()[2], n);
  }
  static std::uint32_t key_of(std::uint32_t rank) { return 10 * rank; }

  void fill(std::span<std::uint32_t> keys, std::span<std::uint32_t> values) {
    tree_->range_fill_async(low_->in(), offsets_->in(), keys, values, {}, here().own);
    here().own.synchronize();
  }
  /// Into the first `room` elements of larger memory.
  void fill_room(std::size_t room, bool with_keys, bool with_values) {
    SCOPED_TRACE("room for " + std::to_string(room) + (with_keys ? ", keys" : "") + (with_values ? ", values" : ""));
    constexpr std::size_t beyond = 100;
    lent<std::uint32_t> keys(here(), room + beyond), values(here(), room + beyond);
    fill(with_keys ? keys.span().first(room) : std::span<std::uint32_t>{},
         with_values ? values.span().first(room) : std::span<std::uint32_t>{});
    const auto &got_keys = keys.get(), &got_values = values.get();
    for (std::uint32_t i = 0; i < room + beyond; ++i) {
      const bool written = i < room && i < n;
      ASSERT_EQ(got_keys[i], written && with_keys ? key_of(i) : untouched) << "key " << i;
      ASSERT_EQ(got_values[i], written && with_values ? key_of(i) ^ 0x5555u : untouched) << "value " << i;
    }
  }

  std::optional<tree_type> tree_;
  std::optional<lent<std::uint32_t>> low_;
  std::optional<lent<std::uint64_t>> offsets_;
};

TEST_P(StaticTreeRangeFill, SmallOutputsOfUnequalSizeAreAnError) {
  lent<std::uint32_t> keys(here(), n), values(here(), n);
  EXPECT_THROW(fill(keys.span(), values.span().first(n - 1)), error);
  EXPECT_THROW(fill(keys.span(), values.span().first(1)), error);
  EXPECT_THROW(fill(keys.span().first(n - 1), values.span()), error);
  for (const std::uint32_t key : keys.get()) ASSERT_EQ(key, untouched);
  for (const std::uint32_t value : values.get()) ASSERT_EQ(value, untouched);
  EXPECT_NO_THROW(fill(keys.span(), values.span()));
}

TEST_P(StaticTreeRangeFill, SmallTooLittleRoomTakesTheFirstElementsAndNothingMore) {
  for (const std::size_t room : {1u, 7u, 8u, 9u, middle - 1, middle, middle + 1, 1600u, n - 1, n}) {
    fill_room(room, true, true);
  }
}

TEST_P(StaticTreeRangeFill, SmallKeysOrValuesMayBeLeftOut) {
  for (const std::size_t room : {1u, middle + 1, n}) {
    fill_room(room, false, true);
    fill_room(room, true, false);
  }
  fill_room(0, false, false);
}

TEST_P(StaticTreeRangeFill, SmallTooMuchRoomIsLeftAsItIs) {
  for (const std::size_t room : {n + 1, n + 5000}) fill_room(room, true, true);
}

INSTANTIATE_TEST_SUITE_P(, StaticTreeOutputs, testing::ValuesIn(all_settings()), setting_name{});
INSTANTIATE_TEST_SUITE_P(, StaticTreeRangeFill, testing::ValuesIn(all_settings()), setting_name{});

// There are no values, so what is written beside the keys is the mask.
TEST(StaticTreeSet, FindTakesAMask) {
  const std::vector<std::uint32_t> keys{5, 3, 9}, ask{3, 4, 9};
  const auto set = static_tree<std::uint32_t>::build(keys, {}, device::cpu(1));
  std::vector<std::uint8_t> found(3, 9);
  set.find(ask, found);
  EXPECT_EQ(found, (std::vector<std::uint8_t>{1, 0, 1}));
}

// Offsets come from range_offsets_async, or from anywhere: no element beyond the tree is read, and none is made up.
TEST_P(StaticTreeOutputs, SmallOffsetsOfOtherRangesNameNoElementBeyondTheTree) {
  const setting* const s = GetParam();
  constexpr std::uint32_t n = 1000;
  array<std::uint32_t> keys(n);
  for (std::uint32_t i = 0; i < n; ++i) keys[i] = 2 * i;
  lent<std::uint32_t> given(*s, keys);
  const auto tree = static_tree<std::uint32_t, std::uint32_t>::build(given.in(), given.in(), {}, s->dev);
  // Three ranges, from the key of rank 990 on; 5, 500 and 7 elements are asked for.
  array<std::uint32_t> lows(3);
  for (std::uint32_t& lo : lows) lo = 2 * 990;
  array<std::uint64_t> wrong(4);
  wrong[1] = 5;
  wrong[2] = 505;
  wrong[3] = 512;
  lent<std::uint32_t> lo(*s, lows), out_keys(*s, 512), out_values(*s, 512);
  lent<std::uint64_t> offsets(*s, wrong);
  tree.range_fill_async(lo.in(), offsets.in(), out_keys.span(), out_values.span(), {}, s->own);
  s->own.synchronize();
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_EQ(out_keys.get()[i], 2 * (990 + i));
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_EQ(out_values.get()[5 + i], 2 * (990 + i));
  for (std::uint32_t i = 0; i < 7; ++i) EXPECT_EQ(out_keys.get()[505 + i], 2 * (990 + i));
  // Offsets that descend, or begin in the middle.
  wrong[0] = 100;
  wrong[1] = 300;
  wrong[2] = 200;
  wrong[3] = ~std::uint64_t{0};
  lent<std::uint64_t> absurd(*s, wrong);
  tree.range_fill_async(lo.in(), absurd.in(), out_keys.span(), out_values.span(), {}, s->own);
  s->own.synchronize();
  EXPECT_TRUE(tree.validate().ok);
}

}  // namespace
}  // namespace espalier::test
