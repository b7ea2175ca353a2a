// asof_join_test.cpp - every combination of direction, exactness, tolerance, groups, NULLs and order against the
// definition; then what is special: extremes, empty sides, parts of several threads, errors.
#include "espalier/join/asof_join.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "espalier/join/prepared_side.hpp"
#include "join/join_cases.hpp"

namespace espalier::test {
namespace {

constexpr asof_direction directions[] = {asof_direction::backward, asof_direction::forward, asof_direction::nearest};
constexpr shape shapes[] = {shape::sorted, shape::reversed, shape::shuffled, shape::equal, shape::sorted_by_group};

const device& cpu_with(unsigned threads) {
  static const device one = device::cpu(1), two = device::cpu(2);
  return threads == 1 ? one : two;
}

template <class Key>
void expect_asof(const side_data<Key>& left, const side_data<Key>& right, const asof_options& options,
                 std::optional<long double> tolerance, const std::string& what) {
  const std::vector<row_number> expected = oracle_asof(left, right, options, tolerance);
  for (const unsigned threads : {1u, 2u}) {
    std::vector<row_number> rows(left.keys.size(), 12345);
    asof_join(left.side(), right.side(), rows, options, cpu_with(threads));
    ASSERT_EQ(rows, expected) << what << ", threads " << threads;
    if (right.keys.empty()) continue;
    std::fill(rows.begin(), rows.end(), 12345u);
    const prepared_side prepared = prepared_side::build(right.side(), cpu_with(threads));
    prepared.asof_join(left.side(), rows, options);
    ASSERT_EQ(rows, expected) << what << ", prepared, threads " << threads;
  }
}

template <class Key>
class AsofJoin : public ::testing::Test {};
using asof_key_types = ::testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(AsofJoin, asof_key_types);

TYPED_TEST(AsofJoin, EveryCombinationGivesTheRowsOfTheDefinition) {
  using Key = TypeParam;
  std::mt19937_64 random(7);
  unsigned cases = 0;
  for (const asof_direction direction : directions) {
    for (const bool exact : {true, false}) {
      for (const int tolerance : {-1, 0, 3}) {
        for (const std::uint32_t groups : {0u, 1u, 4u}) {
          for (const bool nulls : {false, true}) {
            for (const shape order : shapes) {
              const shape right_order = shapes[random() % 5];
              const side_shape left{.rows = random() % 60, .groups = groups, .has_nulls = nulls, .order = order};
              const side_shape right{.rows = random() % 80,
                                     .groups = groups,
                                     .used_groups = groups == 4 ? 3u : 0u,  // one group is on the left side only
                                     .has_nulls = nulls,
                                     .order = random() % 2 == 0 ? order : right_order};
              asof_options options{.direction = direction, .allow_exact_matches = exact};
              std::optional<long double> limit;
              if (tolerance >= 0) {
                options.tolerance = tolerance;
                limit = tolerance;
              }
              ++cases;
              expect_asof(random_side<Key>(random, left), random_side<Key>(random, right), options, limit,
                          "case " + std::to_string(cases) + " " + name_of(order) + " groups " + std::to_string(groups) +
                              " nulls " + std::to_string(nulls));
              if (this->HasFatalFailure()) return;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(cases, 540u);
}

TYPED_TEST(AsofJoin, ExtremesOfTheTypeHaveExactDistances) {
  using Key = TypeParam;
  constexpr Key least = std::numeric_limits<Key>::lowest(), most = std::numeric_limits<Key>::max();
  const side_data<Key> left{.keys = {least, most}}, low{.keys = {least}}, high{.keys = {most}};
  expect_asof<Key>(left, low, {.tolerance = 0}, 0.0L, "low");
  expect_asof<Key>(left, high, {.direction = asof_direction::forward, .tolerance = 0}, 0.0L, "high");
  expect_asof<Key>(left, low, {.allow_exact_matches = false}, {}, "low, not exact");
  if constexpr (std::is_integral_v<Key>) {
    const auto width = static_cast<int128>(most) - static_cast<int128>(least);
    const auto all = static_cast<std::uint64_t>(width);
    expect_asof<Key>(left, low, {.tolerance = all}, static_cast<long double>(width), "whole range");
    expect_asof<Key>(left, low, {.tolerance = all - 1}, static_cast<long double>(width - 1), "one less");
    expect_asof<Key>(left, low, {.tolerance = std::numeric_limits<std::uint64_t>::max()}, {}, "huge");
  } else {
    expect_asof<Key>(left, low, {.tolerance = std::numeric_limits<double>::infinity()}, {}, "infinite");
  }
}

// Long enough for several parts of two threads; groups that are rare are pending in most parts.
TYPED_TEST(AsofJoin, LargePartsOfSeveralThreadsGiveTheRowsOfOneThread) {
  using Key = TypeParam;
  std::mt19937_64 random(11);
  for (const shape order : {shape::sorted, shape::shuffled}) {
    for (const std::uint32_t groups : {0u, 300u, 40'000u}) {
      const int spread = 1'000'000;
      side_data<Key> left =
          random_side<Key>(random, {.rows = 70'000, .groups = groups, .order = order, .spread = spread});
      side_data<Key> right =
          random_side<Key>(random, {.rows = 150'000, .groups = groups, .order = order, .spread = spread});
      if (groups == 300) {  // zipf-like: most rows are in few groups
        for (auto* codes : {&left.codes, &right.codes}) {
          for (std::uint32_t& code : *codes) code = random() % 10 != 0 ? code % 3 : code;
        }
      }
      for (const asof_direction direction : directions) {
        for (const bool exact : {true, false}) {
          const asof_options options{.direction = direction, .allow_exact_matches = exact};
          std::vector<row_number> one(left.keys.size()), two(one), prepared(one);
          asof_join(left.side(), right.side(), one, options, cpu_with(1));
          asof_join(left.side(), right.side(), two, options, cpu_with(2));
          prepared_side::build(right.side(), cpu_with(2)).asof_join(left.side(), prepared, options);
          ASSERT_TRUE(one == two) << name_of(order) << " " << groups;
          ASSERT_TRUE(one == prepared) << name_of(order) << " " << groups;
          for (std::size_t i = 0; i < 200; ++i) {  // and those are right
            const std::size_t at = random() % left.keys.size();
            side_data<Key> row{.keys = {left.keys[at]}, .groups = groups};
            if (groups != 0) row.codes = {left.codes[at]};
            if (i < 20) {
              ASSERT_EQ(oracle_asof(row, right, options, {})[0], one[at]);
            }
          }
        }
      }
    }
  }
}

// Many left rows in no order are searched by a directory of buckets, unless most keys are in few of them.
TYPED_TEST(AsofJoin, LargeLeftSidesInNoOrder) {
  using Key = TypeParam;
  std::mt19937_64 random(41);
  constexpr std::size_t left_rows = (std::size_t{1} << 16) + 77;
  constexpr Key least = std::numeric_limits<Key>::lowest(), most = std::numeric_limits<Key>::max();
  const auto within = [&](std::uint32_t width) { return static_cast<Key>(random() % width); };
  const std::vector<std::pair<const char*, std::function<Key(std::size_t)>>> right_keys{
      {"uniform", [&](std::size_t) { return static_cast<Key>(within(100'000) + Key{20'000}); }},
      {"uniform up to the greatest key", [&](std::size_t i) { return i < 2 ? most : within(100'000); }},
      {"from the least to the greatest key",
       [&](std::size_t i) { return i == 0   ? least
                                   : i == 1 ? most
                                            : static_cast<Key>(most / 1'000 * within(1'000)); }},
      {"one far key", [&](std::size_t i) { return i == 0 ? most : within(1'000); }},
      {"all equal", [&](std::size_t) { return Key{30'000}; }},
      {"two values", [&](std::size_t) { return random() % 2 == 0 ? Key{7} : Key{70'000}; }}};
  for (const auto& [name, right_key] : right_keys) {
    for (const std::size_t right_rows : {std::size_t{63}, std::size_t{64}, std::size_t{50'000}}) {
      side_data<Key> left, right;
      for (std::size_t i = 0; i < right_rows; ++i) right.keys.push_back(right_key(i));
      std::shuffle(right.keys.begin(), right.keys.end(), random);
      for (std::size_t i = 0; i < left_rows; ++i) {
        const auto dice = random() % 100;
        left.keys.push_back(dice == 0 ? least : dice == 1 ? most : dice == 2 ? right.keys[0] : within(150'000));
      }
      std::vector<row_number> order(right_rows);
      std::iota(order.begin(), order.end(), 0u);
      const auto by_key = [&](row_number a, row_number b) { return right.keys[a] < right.keys[b]; };
      std::stable_sort(order.begin(), order.end(), by_key);
      const auto rows_of = [&](bool backward, bool exact) {
        std::vector<row_number> rows;
        for (const Key q : left.keys) {
          const auto at =
              backward == exact
                  ? std::partition_point(order.begin(), order.end(), [&](row_number r) { return right.keys[r] <= q; })
                  : std::partition_point(order.begin(), order.end(), [&](row_number r) { return right.keys[r] < q; });
          if (backward) {
            rows.push_back(at == order.begin() ? no_row : at[-1]);
          } else {
            rows.push_back(at == order.end() ? no_row : *at);
          }
        }
        return rows;
      };
      for (const unsigned threads : {1u, 2u}) {
        const prepared_side prepared = prepared_side::build(right.side(), cpu_with(threads));
        for (const bool backward : {true, false}) {
          for (const bool exact : {true, false}) {
            const asof_options options{.direction = backward ? asof_direction::backward : asof_direction::forward,
                                       .allow_exact_matches = exact};
            std::vector<row_number> once(left_rows), again(left_rows);
            asof_join(left.side(), right.side(), once, options, cpu_with(threads));
            prepared.asof_join(left.side(), again, options);
            const std::vector<row_number> expected = rows_of(backward, exact);
            ASSERT_TRUE(once == expected) << name << " " << right_rows << " " << backward << exact;
            ASSERT_TRUE(again == expected) << name << " " << right_rows << " " << backward << exact;
          }
        }
      }
    }
  }
}

/// The as-of join by one stable sort of the right side and a search per left row, for sides that are too large for the
/// definition.
template <class Key>
std::vector<row_number> stable_order(const side_data<Key>& right) {
  std::vector<row_number> order;
  for (std::size_t j = 0; j < right.keys.size(); ++j) {
    if (!right.matches_nothing(j)) order.push_back(static_cast<row_number>(j));
  }
  std::stable_sort(order.begin(), order.end(), [&](row_number a, row_number b) {
    return std::pair(right.code(a), right.keys[a]) < std::pair(right.code(b), right.keys[b]);
  });
  return order;
}
template <class Key>
std::vector<row_number> sorted_asof(const side_data<Key>& left, const side_data<Key>& right,
                                    const std::vector<row_number>& order, const asof_options& options,
                                    std::optional<long double> tolerance) {
  std::vector<row_number> out;
  const auto place = [&](row_number j) { return std::pair(right.code(j), right.keys[j]); };
  for (std::size_t i = 0; i < left.keys.size(); ++i) {
    const std::pair q(left.code(i), left.keys[i]);
    const auto first_at = std::partition_point(order.begin(), order.end(), [&](row_number j) { return place(j) < q; });
    const auto first_after =
        std::partition_point(order.begin(), order.end(), [&](row_number j) { return !(q < place(j)); });
    const auto below = options.allow_exact_matches ? first_after : first_at;
    auto above = options.allow_exact_matches ? first_at : first_after;
    if (options.direction == asof_direction::nearest && options.allow_exact_matches) above = first_after;
    const bool has_below = below != order.begin() && right.code(below[-1]) == q.first;
    const bool has_above = above != order.end() && right.code(*above) == q.first;
    row_number row = no_row;
    if (options.direction != asof_direction::forward && has_below) row = below[-1];
    if (options.direction == asof_direction::forward && has_above) row = *above;
    if (options.direction == asof_direction::nearest && has_above &&
        (row == no_row || oracle_distance(q.second, right.keys[*above]) < oracle_distance(q.second, right.keys[row]))) {
      row = *above;
    }
    if (row != no_row && tolerance && oracle_distance(q.second, right.keys[row]) > *tolerance) row = no_row;
    out.push_back(left.matches_nothing(i) ? no_row : row);
  }
  return out;
}

// Sides in no order are joined partition by partition, unless most rows are in few partitions.
TYPED_TEST(AsofJoin, LargeSidesInNoOrder) {
  using Key = TypeParam;
  std::mt19937_64 random(43);
  constexpr std::size_t left_rows = 12'000, right_rows = 120'000;
  constexpr Key least = std::numeric_limits<Key>::lowest(), most = std::numeric_limits<Key>::max();
  const auto within = [&](std::uint32_t width) { return static_cast<Key>(random() % width); };
  const std::pair<const char*, std::function<Key(std::size_t)>> right_keys[] = {
      {"uniform", [&](std::size_t) { return within(3'000'000); }},
      {"few values", [&](std::size_t) { return static_cast<Key>(within(300) * Key{7'000}); }},
      {"values in bursts", [&](std::size_t) { return static_cast<Key>(within(30) * Key{70'000} + within(2'000)); }},
      {"nothing in the middle", [&](std::size_t i) { return i % 2 == 0 ? within(100'000) : most - within(1'000); }},
      {"with both ends of the type", [&](std::size_t i) { return i == 0   ? least
                                                                 : i == 1 ? most
                                                                          : within(2'000'000); }},
      {"all equal", [&](std::size_t) { return Key{30'000}; }}};
  for (const auto& [name, right_key] : right_keys) {
    for (const std::uint32_t groups : {0u, 37u, 5'000u}) {
      for (const bool has_nulls : {false, true}) {
        const auto some = [&](std::size_t rows, const auto& key, std::uint32_t used) {
          side_data<Key> side =
              random_side<Key>(random, {.rows = rows, .groups = groups, .used_groups = used, .has_nulls = has_nulls});
          for (std::size_t i = 0; i < rows; ++i) {
            if (side.keys[i] == side.keys[i]) side.keys[i] = key(i);
          }
          std::shuffle(side.keys.begin(), side.keys.end(), random);
          for (std::uint32_t& code : side.codes) {  // most rows are in few groups
            if (code != no_group && random() % 4 != 0) code %= 3;
          }
          return side;
        };
        const auto right = some(right_rows, right_key, groups > 2 ? groups - groups / 8 : 0);
        const auto left = some(
            left_rows,
            [&](std::size_t i) {
              return i % 50 == 0   ? least
                     : i % 50 == 1 ? most
                     : i % 50 == 2 ? right.keys[i] == right.keys[i] ? right.keys[i] : Key{0}
                                   : within(3'500'000);
            },
            0);
        const std::vector<row_number> order = stable_order(right);
        for (const asof_direction direction : directions) {
          for (const bool exact : {true, false}) {
            asof_options options{.direction = direction, .allow_exact_matches = exact};
            std::optional<long double> limit;
            if (random() % 2 == 0) options.tolerance = static_cast<int>(*(limit = 40));
            const auto expected = sorted_asof(left, right, order, options, limit);
            std::vector<row_number> rows(left_rows);
            asof_join(left.side(), right.side(), rows, options, cpu_with(exact ? 2 : 1));
            ASSERT_TRUE(rows == expected) << name << " groups " << groups << " nulls " << has_nulls << " direction "
                                          << static_cast<int>(direction) << exact << " tolerance " << limit.has_value();
          }
        }
      }
    }
  }
}

// Sides of more than 64 MiB in no order are distributed in rounds, of which each takes some of the partitions.
TEST(AsofJoinParts, LargeSidesInRounds) {
  std::mt19937_64 random(61);
  const auto some = [&](std::size_t rows, std::uint64_t width) {
    side_data<std::int64_t> side{.groups = 5};
    for (std::size_t i = 0; i < rows; ++i) {
      side.keys.push_back(static_cast<std::int64_t>(random() % width));
      side.codes.push_back(static_cast<std::uint32_t>(random() % 5));
    }
    return side;
  };
  const auto right = some(4'600'000, 20'000'000), left = some(400'000, 21'000'000);
  const prepared_side prepared = prepared_side::build(right.side(), cpu_with(2));  // another algorithm
  for (const asof_direction direction : directions) {
    const asof_options options{.direction = direction};
    std::vector<row_number> rows(left.keys.size()), expected(left.keys.size());
    asof_join(left.side(), right.side(), rows, options, cpu_with(2));
    prepared.asof_join(left.side(), expected, options);
    ASSERT_TRUE(rows == expected) << static_cast<int>(direction);
  }
}

// The pass over groups reads ahead of its rows, except where a side ends: each side starts and ends before the other.
TEST(AsofJoinParts, SidesThatStartOrEndEarly) {
  std::mt19937_64 random(13);
  constexpr std::size_t rows = 30'000;
  const auto between = [&](std::int64_t low, std::int64_t high) {
    side_data<std::int64_t> side{.groups = 40};
    for (std::size_t i = 0; i < rows; ++i) {
      side.keys.push_back(low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1)));
      side.codes.push_back(static_cast<std::uint32_t>(random() % 100 == 0 ? random() % 40 : random() % 3));
    }
    std::sort(side.keys.begin(), side.keys.end());
    return side;
  };
  const std::pair<std::int64_t, std::int64_t> ranges[] = {
      {0, 100'000}, {0, 50'000}, {50'000, 100'000}, {200'000, 300'000}, {7, 7}};
  for (const auto& [left_low, left_high] : ranges) {
    for (const auto& [right_low, right_high] : ranges) {
      const auto left = between(left_low, left_high), right = between(right_low, right_high);
      const prepared_side prepared = prepared_side::build(right.side(), cpu_with(1));  // another algorithm
      for (const asof_direction direction : directions) {
        for (const bool exact : {true, false}) {
          const asof_options options{.direction = direction, .allow_exact_matches = exact};
          std::vector<row_number> one(rows), two(rows), expected(rows);
          asof_join(left.side(), right.side(), one, options, cpu_with(1));
          asof_join(left.side(), right.side(), two, options, cpu_with(2));
          prepared.asof_join(left.side(), expected, options);
          ASSERT_TRUE(one == expected) << left_low << " " << right_low << " " << static_cast<int>(direction);
          ASSERT_TRUE(two == expected) << left_low << " " << right_low << " " << static_cast<int>(direction);
        }
      }
    }
  }
}

TEST(AsofJoinOrder, DeclaredOrderGivesTheSameRows) {
  std::mt19937_64 random(3);
  const auto left = random_side<std::int64_t>(random, {.rows = 500, .groups = 5});
  const auto right = random_side<std::int64_t>(random, {.rows = 700, .groups = 5});
  const auto expected = oracle_asof(left, right, {}, {});
  for (const row_order l : {row_order::detect, row_order::sorted, row_order::sorted_in_groups, row_order::unsorted}) {
    for (const row_order r : {row_order::detect, row_order::sorted, row_order::sorted_in_groups, row_order::unsorted}) {
      std::vector<row_number> rows(left.keys.size());
      asof_join(left.side(l), right.side(r), rows);
      EXPECT_EQ(rows, expected) << static_cast<int>(l) << " " << static_cast<int>(r);
    }
  }
}

TEST(AsofJoinOrder, ChronoKeysAreIntegers) {
  using namespace std::chrono_literals;
  const std::vector<std::chrono::nanoseconds> left{10ns, 100ns}, right{5ns, 20ns};
  std::vector<row_number> rows(2);
  asof_join({.on = left}, {.on = right}, rows, {.tolerance = 50ns});
  EXPECT_EQ(rows, (std::vector<row_number>{0, no_row}));
}

template <class Call>
std::string message_of(const Call& call) {
  try {
    call();
  } catch (const error& e) {
    return e.what();
  }
  return "";
}

TEST(AsofJoinErrors, SayWhatToDo) {
  const std::vector<std::int64_t> keys{1, 2, 3};
  const std::vector<std::int32_t> other{1, 2, 3};
  const std::vector<std::uint8_t> narrow{1, 2, 3};
  const std::vector<std::uint32_t> codes{0, 1, 2};
  std::vector<row_number> rows(3, 7), few(2);
  const auto expect = [&](const char* part, const std::string& message) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  expect("one element per row", message_of([&] { asof_join({.on = keys}, {.on = keys}, few); }));
  expect("different types", message_of([&] { asof_join({.on = keys}, {.on = other}, rows); }));
  expect("convert the `on` columns", message_of([&] { asof_join({.on = narrow}, {.on = narrow}, rows); }));
  expect("one group_encoder",
         message_of([&] { asof_join({.on = keys, .by = codes, .groups = 3}, {.on = keys}, rows); }));
  expect("is not less than the number of groups", message_of([&] {
           asof_join({.on = keys, .by = codes, .groups = 2}, {.on = keys, .by = codes, .groups = 2}, rows);
         }));
  expect("one code per row", message_of([&] {
           asof_join({.on = keys, .by = std::span(codes).first(2), .groups = 3}, {.on = keys}, rows);
         }));
  expect("negative", message_of([&] { asof_join({.on = keys}, {.on = keys}, rows, {.tolerance = -1}); }));
  expect("as an integer", message_of([&] { asof_join({.on = keys}, {.on = keys}, rows, {.tolerance = 0.5}); }));
  EXPECT_EQ(rows, (std::vector<row_number>{7, 7, 7}));  // a call that throws has written nothing
}

}  // namespace
}  // namespace espalier::test
