// window_join_test.cpp - aggregates over windows against loops over all right rows.
#include "espalier/join/window_join.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "join/join_cases.hpp"

namespace espalier::test {
namespace {

constexpr window_function all_functions[] = {window_function::count_rows, window_function::count, window_function::sum,
                                             window_function::min,        window_function::max,   window_function::avg,
                                             window_function::first,      window_function::last};

template <class Value>
using sum_type = std::conditional_t<std::is_floating_point_v<Value>, double, int128>;

/// All results of one value column.
template <class Value>
struct window_results {
  std::vector<std::uint64_t> rows, counts;
  std::vector<sum_type<Value>> sums;
  std::vector<Value> least, most;
  std::vector<double> averages;
  std::vector<row_number> first_rows, last_rows;
  std::vector<std::uint8_t> valid;

  explicit window_results(std::size_t n)
      : rows(n), counts(n), sums(n), least(n), most(n), averages(n), first_rows(n), last_rows(n), valid((n + 7) / 8) {}
  [[nodiscard]] std::vector<window_output> outputs() {
    using enum window_function;
    return {{count_rows, 0, std::span(rows)},  {count, 0, std::span(counts)},  {sum, 0, std::span(sums), valid},
            {min, 0, std::span(least)},        {max, 0, std::span(most)},      {avg, 0, std::span(averages)},
            {first, 0, std::span(first_rows)}, {last, 0, std::span(last_rows)}};
  }
};

/// a <= b where NaN is the greatest value.
template <class Value>
bool is_less(Value a, Value b) {
  if (a != a) return false;
  return b != b || a < b;
}

template <class Key, class Value>
void expect_windows(const side_data<Key>& left, const side_data<Key>& right, const column_view& values,
                    const window_bounds& bounds, const window_results<Value>& found, const std::string& what) {
  using wide = std::conditional_t<std::is_floating_point_v<Key>, double, int128>;
  const auto* value = static_cast<const Value*>(values.data);
  double all = 0;
  if constexpr (std::is_floating_point_v<Value>) {
    for (std::size_t j = 0; j < values.size; ++j) {
      if (std::isfinite(value[j])) all += std::fabs(static_cast<double>(value[j]));
    }
  }
  for (std::size_t i = 0; i < left.keys.size(); ++i) {
    std::vector<row_number> in;
    for (std::size_t j = 0; j < right.keys.size() && !left.matches_nothing(i); ++j) {
      if (right.matches_nothing(j) || right.code(j) != left.code(i)) continue;
      const auto t = static_cast<wide>(left.keys[i]), key = static_cast<wide>(right.keys[j]);
      if (bounds.preceding) {
        const wide from = t - (std::is_floating_point_v<Key> ? static_cast<wide>(bounds.preceding->real())
                                                             : static_cast<wide>(bounds.preceding->integer()));
        if (!(bounds.includes_first ? key >= from : key > from)) continue;
      }
      if (bounds.following) {
        const wide to = t + (std::is_floating_point_v<Key> ? static_cast<wide>(bounds.following->real())
                                                           : static_cast<wide>(bounds.following->integer()));
        if (!(bounds.includes_last ? key <= to : key < to)) continue;
      }
      in.push_back(static_cast<row_number>(j));
    }
    std::stable_sort(in.begin(), in.end(), [&](row_number a, row_number b) { return right.keys[a] < right.keys[b]; });
    ASSERT_EQ(found.rows[i], in.size()) << what << " row " << i;
    std::erase_if(in, [&](row_number j) { return !values.validity[j]; });
    ASSERT_EQ(found.counts[i], in.size()) << what << " row " << i;
    ASSERT_EQ((found.valid[i / 8] >> (i % 8)) & 1, in.empty() ? 0 : 1) << what;
    ASSERT_EQ(found.first_rows[i], in.empty() ? no_row : in.front()) << what;
    ASSERT_EQ(found.last_rows[i], in.empty() ? no_row : in.back()) << what;
    if (in.empty()) {
      ASSERT_TRUE(found.sums[i] == 0 && found.least[i] == Value{} && found.averages[i] == 0.0) << what;
      continue;
    }
    Value least = value[in[0]], most = least;
    std::conditional_t<std::is_floating_point_v<Value>, long double, int128> sum = 0;
    for (const row_number j : in) {
      if (is_less(value[j], least)) least = value[j];
      if (is_less(most, value[j])) most = value[j];
      sum += static_cast<decltype(sum)>(value[j]);
    }
    if constexpr (std::is_floating_point_v<Value>) {
      ASSERT_TRUE(found.least[i] == least || (least != least && found.least[i] != found.least[i])) << what;
      ASSERT_TRUE(found.most[i] == most || (most != most && found.most[i] != found.most[i])) << what;
      const auto expected = static_cast<double>(sum);
      if (std::isfinite(expected)) {
        // The oracle itself rounds to 64 bits for each addition.
        const double error = 0x1p-52 * std::fabs(expected) + static_cast<double>(in.size()) * 0x1p-62 * all;
        ASSERT_NEAR(found.sums[i], expected, error) << what;
        ASSERT_NEAR(found.averages[i], expected / static_cast<double>(in.size()), error) << what;
      } else {
        ASSERT_TRUE(found.sums[i] == expected || (expected != expected && found.sums[i] != found.sums[i])) << what;
      }
    } else {
      ASSERT_EQ(found.least[i], least) << what;
      ASSERT_EQ(found.most[i], most) << what;
      ASSERT_TRUE(found.sums[i] == sum) << what;
      ASSERT_DOUBLE_EQ(found.averages[i], static_cast<double>(sum) / static_cast<double>(in.size())) << what;
    }
  }
}

template <class Key, class Value>
void run_windows(unsigned seed) {
  std::mt19937_64 random(seed);
  for (int round = 0; round < 48; ++round) {
    const std::uint32_t groups = round % 3 == 0 ? 0u : round % 3 == 1 ? 1u : 5u;
    const bool nulls = round % 2 == 0;
    const shape order = static_cast<shape>(random() % 5);
    const auto left =
        random_side<Key>(random, {.rows = random() % 60, .groups = groups, .has_nulls = nulls, .order = order});
    const auto right = random_side<Key>(random, {.rows = round == 5 ? 0 : random() % 400,
                                                 .groups = groups,
                                                 .has_nulls = round % 4 == 0,
                                                 .order = static_cast<shape>(random() % 5)});
    std::vector<Value> values;
    std::vector<std::uint8_t> bits(right.keys.size() / 8 + 1);
    for (std::uint8_t& b : bits) b = static_cast<std::uint8_t>(random() | random());
    for (std::size_t j = 0; j < right.keys.size(); ++j) {
      values.push_back(random_key<Value>(random, 1'000));
      if (std::is_floating_point_v<Value> && round % 8 != 0 && !std::isfinite(static_cast<double>(values.back()))) {
        values.back() = Value{3};
      }
      if (std::is_floating_point_v<Value> && round % 16 == 8 && j % 50 == 0) {
        values.back() = std::numeric_limits<Value>::quiet_NaN();
      }
    }
    const column_view column(values, round % 3 == 1 ? bitmap_view{bits.data(), 0} : bitmap_view{});
    window_bounds bounds{.includes_first = random() % 2 == 0, .includes_last = random() % 2 == 0};
    if (random() % 8 != 0) bounds.preceding = static_cast<int>(random() % 30) - 3;
    if (random() % 8 != 0) bounds.following = static_cast<int>(random() % 30) - 3;
    if constexpr (std::is_integral_v<Key>) {
      if (random() % 10 == 0) bounds.preceding = std::numeric_limits<std::uint64_t>::max();
    }
    for (const unsigned threads : {1u, 2u}) {
      const std::string what = "round " + std::to_string(round) + " threads " + std::to_string(threads);
      const device dev = device::cpu(threads);
      window_results<Value> once(left.keys.size()), prepared(left.keys.size());
      window_join(left.side(), right.side(), {&column, 1}, bounds, once.outputs(), dev);
      expect_windows(left, right, column, bounds, once, what);
      const prepared_side side = prepared_side::build(right.side(), dev);
      const window_index index(side, {&column, 1}, all_functions);
      if (right.keys.empty()) continue;
      index.window_join(left.side(), bounds, prepared.outputs());
      expect_windows(left, right, column, bounds, prepared, what + ", prepared");
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(WindowJoin, IntegersOverIntegerKeys) { run_windows<std::int64_t, std::int64_t>(1); }
TEST(WindowJoin, NarrowIntegersOverUnsignedKeys) { run_windows<std::uint32_t, std::int32_t>(2); }
TEST(WindowJoin, UnsignedValuesNeedMoreThan64Bits) { run_windows<std::uint64_t, std::uint64_t>(3); }
TEST(WindowJoin, DoublesOverDoubles) { run_windows<double, double>(4); }
TEST(WindowJoin, FloatsOverFloats) { run_windows<float, float>(5); }
TEST(WindowJoin, SmallTypes) { run_windows<std::int32_t, std::int8_t>(6); }

// One huge value must not spoil windows that do not contain it, and threads must not change any bit.
TEST(WindowJoin, SumsOfFloatsAreAccurateAndTheSameForAnyNumberOfThreads) {
  const std::size_t n = 100'000;
  std::mt19937_64 random(77);
  std::vector<std::int64_t> keys(n);
  std::vector<double> values(n);
  for (std::size_t i = 0; i < n; ++i) {
    keys[i] = static_cast<std::int64_t>(i);
    values[i] = i == 7 ? 1e22 : static_cast<double>(random() % 1'000'000) / 1'000.0;
  }
  const column_view column(values);
  std::vector<double> one(n), two(n);
  for (const unsigned threads : {1u, 2u}) {
    std::vector<double>& sums = threads == 1 ? one : two;
    const std::vector<window_output> outputs{{window_function::sum, 0, std::span(sums)}};
    window_join({.on = keys}, {.on = keys}, {&column, 1}, {.preceding = 99, .following = 0}, outputs,
                device::cpu(threads));
  }
  ASSERT_EQ(std::memcmp(one.data(), two.data(), n * sizeof(double)), 0);
  for (std::size_t i = 200; i < n; i += 97) {
    long double sum = 0;
    for (std::size_t j = i - 99; j <= i; ++j) sum += values[j];
    ASSERT_NEAR(one[i], static_cast<double>(sum), 1e-9) << i;
  }
}

TEST(WindowJoin, SumsOutsideOfAWindowMayOverflow) {
  const std::vector<std::int64_t> keys{1, 2, 3, 4};
  const std::vector<double> values{1e308, 1e308, -1e308, 5e307};
  const column_view column(values);
  std::vector<double> sums(4), averages(4);
  const std::vector<window_output> outputs{{window_function::sum, 0, std::span(sums)},
                                           {window_function::avg, 0, std::span(averages)}};
  window_join({.on = keys}, {.on = keys}, {&column, 1}, {.preceding = 1, .following = 0}, outputs);
  EXPECT_DOUBLE_EQ(sums[0], 1e308);
  EXPECT_EQ(sums[1], std::numeric_limits<double>::infinity());  // 2e308
  EXPECT_DOUBLE_EQ(averages[1], 1e308);
  EXPECT_DOUBLE_EQ(sums[2], 0.0);
  EXPECT_DOUBLE_EQ(sums[3], -5e307);
}

TEST(WindowJoin, SumsThatDoNotFitInto64BitsThrow) {
  const std::vector<std::int64_t> keys{1, 2};
  const std::vector<std::int64_t> values{std::numeric_limits<std::int64_t>::max(), 1};
  const column_view column(values);
  std::vector<std::int64_t> sums(2);
  const std::vector<window_output> outputs{{window_function::sum, 0, std::span(sums)}};
  window_join({.on = keys}, {.on = keys}, {&column, 1}, {.preceding = 0, .following = 0}, outputs);
  EXPECT_EQ(sums, values);
  EXPECT_THROW(window_join({.on = keys}, {.on = keys}, {&column, 1}, {}, outputs), overflow);
}

TEST(WindowJoinErrors, SayWhatToDo) {
  const std::vector<std::int64_t> keys{1, 2};
  const std::vector<double> real_keys{1, 2};
  const std::vector<std::int32_t> values{1, 2}, few{1};
  const column_view column(values), short_column(few);
  std::vector<std::uint64_t> counts(2);
  std::vector<std::int32_t> sums(2);
  prepared_side side = prepared_side::build({.on = keys});
  EXPECT_THROW(window_index(side, {short_column}, {window_function::sum}), error);
  const window_index index(side, {column}, {window_function::sum});
  const join_side left{.on = keys};
  EXPECT_THROW(index.window_join(left, {}, {{window_function::sum, 0, std::span(sums)}}), error);      // width
  EXPECT_THROW(index.window_join(left, {}, {{window_function::min, 0, std::span(sums)}}), error);      // not made
  EXPECT_THROW(index.window_join(left, {}, {{window_function::count, 1, std::span(counts)}}), error);  // column
  EXPECT_THROW(index.window_join(left, {.preceding = 0.5}, {}), error);
  EXPECT_THROW(index.window_join({.on = real_keys}, {}, {}), error);
  side.append({.on = keys});
  EXPECT_THROW(window_index(side, {column}, {window_function::sum}), error);
}

}  // namespace
}  // namespace espalier::test
