// columns_test.cpp - keys made of numbers, strings and tuples of them are found, ordered, listed and summed like those
// of a std::map in their natural order.
#include "espalier/radix_tree/columns.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <map>

#include "espalier/radix_tree/radix_tree.hpp"
#include "radix_tree/families.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

/// Few different ones, so that rows share their first columns, and extremes.
template <class T>
T any_column(random_words& random) {
  if constexpr (std::is_same_v<T, std::string>) {
    static const strings alphabet{std::string(1, '\0'), "\x01", "\x02", "a", "ab", "\xff"};
    std::string s;
    for (std::size_t n = random.below(4); n > 0; --n) s += alphabet[random.below(alphabet.size())];
    return s;
  } else if constexpr (std::is_floating_point_v<T>) {
    static const std::vector<T> few{-std::numeric_limits<T>::infinity(),
                                    std::numeric_limits<T>::lowest(),
                                    T(-1.5),
                                    T(0),
                                    std::numeric_limits<T>::denorm_min(),
                                    T(2),
                                    std::numeric_limits<T>::infinity()};
    return random.below(2) == 0 ? few[random.below(few.size())] : static_cast<T>(random.below(40)) - T(20.25);
  } else if constexpr (std::is_integral_v<T>) {
    static const std::vector<T> few{std::numeric_limits<T>::min(), std::numeric_limits<T>::max(), T(0), T(1), T(-1)};
    return random.below(2) == 0 ? few[random.below(few.size())] : static_cast<T>(random.below(60)) - T(30);
  } else {
    return T(any_column<typename T::rep>(random));
  }
}

template <class... Columns>
class table {
 public:
  using row = std::tuple<Columns...>;

  explicit table(std::size_t n, std::uint64_t seed) {
    random_words random(seed);
    for (std::size_t i = 0; i < n; ++i) add(row{any_column<Columns>(random)...});
  }
  void add(const row& r) { add(r, std::index_sequence_for<Columns...>{}); }
  [[nodiscard]] byte_string_batch keys() const {
    return std::apply([](const auto&... c) { return keys_of_columns(c...); }, columns);
  }
  [[nodiscard]] byte_string_batch first_columns() const { return prefixes_of_columns(std::get<0>(columns)); }
  [[nodiscard]] std::size_t size() const { return rows.size(); }

  std::vector<row> rows;
  std::tuple<std::vector<Columns>...> columns;

 private:
  template <std::size_t... I>
  void add(const row& r, std::index_sequence<I...>) {
    rows.push_back(r);
    (std::get<I>(columns).push_back(std::get<I>(r)), ...);
  }
};

class RadixTreeColumns : public testing::TestWithParam<const setting*> {
 protected:
  template <class... Columns>
  static void check() {
    const table<Columns...> built(700, 1), lo(150, 2), hi(150, 3);
    using row = typename table<Columns...>::row;
    std::vector<std::int64_t> values(built.size());
    std::map<row, std::int64_t> all;
    for (std::size_t i = 0; i < values.size(); ++i) all[built.rows[i]] = values[i] = static_cast<std::int64_t>(i) - 300;
    const auto tree = radix_tree<std::int64_t>::build(built.keys(), values, {}, GetParam()->dev);
    ASSERT_TRUE(tree.validate().ok) << tree.validate().problem;
    ASSERT_EQ(tree.size(), all.size());

    std::vector<std::int64_t> got(lo.size());
    std::vector<std::uint8_t> found(lo.size());
    std::vector<std::uint64_t> ranks(lo.size());
    std::vector<int128> sums(lo.size()), firsts(lo.size());
    tree.find(lo.keys(), got, found);
    tree.rank(lo.keys(), ranks);
    tree.sum(lo.keys(), hi.keys(), sums, interval::left_open);
    const auto ranges = tree.range(lo.keys(), hi.keys());
    const auto listed_rows = rows_of_keys<Columns...>(ranges);
    const auto offsets = ranges.offsets.to_vector();
    if constexpr (sizeof...(Columns) > 1) tree.sum_prefix(lo.first_columns(), firsts);
    for (std::size_t i = 0; i < lo.size(); ++i) {
      const auto at = all.find(lo.rows[i]);
      ASSERT_EQ(found[i] != 0, at != all.end()) << "row " << i;
      if (found[i] != 0) {
        ASSERT_EQ(got[i], at->second);
      }
      const auto from = all.lower_bound(lo.rows[i]);
      ASSERT_EQ(ranks[i], static_cast<std::uint64_t>(std::distance(all.begin(), from))) << "row " << i;
      std::vector<row> expected;
      int128 sum = 0, first = 0;
      for (const auto& [r, value] : all) {
        if (lo.rows[i] <= r && r <= hi.rows[i]) expected.push_back(r);
        if (lo.rows[i] < r && r <= hi.rows[i]) sum += value;
        if (std::get<0>(r) == std::get<0>(lo.rows[i])) first += value;
      }
      const auto begin = listed_rows.begin() + static_cast<std::ptrdiff_t>(offsets[i]);
      const auto end = listed_rows.begin() + static_cast<std::ptrdiff_t>(offsets[i + 1]);
      ASSERT_TRUE(std::equal(begin, end, expected.begin(), expected.end())) << "range " << i;
      ASSERT_TRUE(sums[i] == sum) << "range " << i;
      if constexpr (sizeof...(Columns) > 1) {
        ASSERT_TRUE(firsts[i] == first) << "first column " << i;
      }
    }
  }
};

TEST_P(RadixTreeColumns, SmallSingleColumnsHaveTheirNaturalOrder) {
  check<std::uint8_t>();
  check<std::int16_t>();
  check<std::uint32_t>();
  check<std::int64_t>();
  check<float>();
  check<double>();
  check<std::chrono::milliseconds>();
  check<std::string>();
}

TEST_P(RadixTreeColumns, SmallTuplesHaveTheirNaturalOrder) {
  check<std::uint32_t, std::int64_t>();
  check<std::string, std::uint32_t>();
  check<std::int64_t, std::string>();
  check<std::string, std::string>();
  check<double, std::uint32_t, std::string>();
  check<std::string, std::int8_t, std::string, double>();
}

TEST_P(RadixTreeColumns, SmallNumbersOfOneWidthNeedNoOffsets) {
  const byte_string_batch keys =
      keys_of_columns(std::vector<std::uint64_t>{3, 1, 2}, std::vector<std::int16_t>{1, 2, 3});
  EXPECT_EQ(keys.size(), 3u);
  EXPECT_EQ(keys.raw().batch.offsets, nullptr);
  EXPECT_EQ(keys.raw().batch.stride, 10u);
  EXPECT_EQ(radix_tree<>::build(keys, {}, GetParam()->dev).stats().order_bytes, 0u);
  EXPECT_EQ(keys_of_columns(std::vector<std::uint64_t>{}).size(), 0u);
  EXPECT_THROW((void)keys_of_columns(strings{"a"}, std::vector<int>{1, 2}), error);
}

INSTANTIATE_TEST_SUITE_P(, RadixTreeColumns, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
