// asof_join_gpu_test.cpp - as-of joins of every GPU against the definition and against the CPU, with both sides and the
// answer in every kind of memory. Skipped where there is no GPU.
#include <gtest/gtest.h>

#include <numeric>

#include "espalier/join/asof_join.hpp"
#include "join/gpu_memory.hpp"

namespace espalier::test {
namespace {

constexpr asof_direction gpu_directions[] = {asof_direction::backward, asof_direction::forward,
                                             asof_direction::nearest};
constexpr shape gpu_shapes[] = {shape::sorted, shape::reversed, shape::shuffled, shape::equal, shape::sorted_by_group};

template <class Key>
std::vector<row_number> rows_of_gpu(const device& gpu, memory m, const side_data<Key>& left,
                                    const side_data<Key>& right, const asof_options& options,
                                    row_order order = row_order::detect) {
  placed<row_number> rows(gpu, m, std::vector<row_number>(left.keys.size(), 12345));
  placed_side<Key> on_left(gpu, m, left), on_right(gpu, m, right);
  asof_join(on_left.side(order), on_right.side(order), rows.span(), options, gpu);
  return rows.get();
}

template <class Key>
class AsofJoinGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpus().empty()) GTEST_SKIP() << "no GPU";
  }
};
using gpu_key_types = ::testing::Types<std::int32_t, std::uint32_t, std::int64_t, std::uint64_t, float, double>;
TYPED_TEST_SUITE(AsofJoinGpu, gpu_key_types);

TYPED_TEST(AsofJoinGpu, EveryCombinationGivesTheRowsOfTheDefinition) {
  using Key = TypeParam;
  std::mt19937_64 random(7);
  unsigned cases = 0;
  for (const asof_direction direction : gpu_directions) {
    for (const bool exact : {true, false}) {
      for (const int tolerance : {-1, 0, 3}) {
        for (const std::uint32_t groups : {0u, 1u, 4u}) {
          for (const bool nulls : {false, true}) {
            for (const shape order : gpu_shapes) {
              const side_shape left{.rows = random() % 60, .groups = groups, .has_nulls = nulls, .order = order};
              const side_shape right{.rows = random() % 80,
                                     .groups = groups,
                                     .used_groups = groups == 4 ? 3u : 0u,  // one group is on the left side only
                                     .has_nulls = nulls,
                                     .order = random() % 2 == 0 ? order : gpu_shapes[random() % 5]};
              asof_options options{.direction = direction, .allow_exact_matches = exact};
              std::optional<long double> limit;
              if (tolerance >= 0) {
                options.tolerance = tolerance;
                limit = tolerance;
              }
              const auto left_data = random_side<Key>(random, left), right_data = random_side<Key>(random, right);
              const auto expected = oracle_asof(left_data, right_data, options, limit);
              const memory m = memories[cases++ % 3];
              for (const device& gpu : gpus()) {
                ASSERT_EQ(rows_of_gpu(gpu, m, left_data, right_data, options), expected)
                    << "case " << cases << " " << name_of(order) << " " << name_of(m) << " groups " << groups
                    << " nulls " << nulls;
              }
            }
          }
        }
      }
    }
  }
}

TYPED_TEST(AsofJoinGpu, ExtremesOfTheTypeHaveExactDistances) {
  using Key = TypeParam;
  constexpr Key least = std::numeric_limits<Key>::lowest(), most = std::numeric_limits<Key>::max();
  const side_data<Key> left{.keys = {least, most}}, low{.keys = {least}}, high{.keys = {most}};
  const device& gpu = gpus().front();
  const auto expect = [&](const side_data<Key>& right, const asof_options& options) {
    std::vector<row_number> expected(2);
    asof_join(left.side(), right.side(), expected, options);
    for (const memory m : memories) EXPECT_EQ(rows_of_gpu(gpu, m, left, right, options), expected) << name_of(m);
  };
  expect(low, {.tolerance = 0});
  expect(high, {.direction = asof_direction::forward, .tolerance = 0});
  expect(low, {.allow_exact_matches = false});
  if constexpr (std::is_integral_v<Key>) {
    const auto all = static_cast<std::uint64_t>(static_cast<int128>(most) - static_cast<int128>(least));
    expect(low, {.tolerance = all});
    expect(low, {.tolerance = all - 1});
    expect(low, {.tolerance = std::numeric_limits<std::uint64_t>::max()});
  } else {
    expect(low, {.tolerance = std::numeric_limits<double>::infinity()});
  }
}

// Windows of several stretches, several blocks, groups whose keys need 128-bit words, declared orders.
TYPED_TEST(AsofJoinGpu, LargeSidesGiveTheRowsOfTheCpu) {
  using Key = TypeParam;
  std::mt19937_64 random(11);
  const device& gpu = gpus().front();
  for (const shape order : {shape::sorted, shape::shuffled, shape::equal}) {
    for (const std::uint32_t groups : {0u, 1u, 300u, 40'000u}) {
      for (const bool has_nulls : {false, true}) {
        for (const std::size_t right_rows : {std::size_t{1}, std::size_t{150'001}}) {
          const side_shape how{
              .rows = 70'003, .groups = groups, .has_nulls = has_nulls, .order = order, .spread = 1'000'000};
          side_shape right_how = how;
          right_how.rows = right_rows;
          side_data<Key> left = random_side<Key>(random, how), right = random_side<Key>(random, right_how);
          const bool is_narrow = random() % 2 == 0;  // without extremes, (group, key) fits 64 bits
          for (auto* side : {&left, &right}) {
            for (Key& key : side->keys) {
              if (is_narrow && (key > Key{1'000'000} || key < Key{0})) key = Key{5};
            }
            if (is_narrow && order == shape::sorted && !has_nulls) std::sort(side->keys.begin(), side->keys.end());
          }
          for (const asof_direction direction : gpu_directions) {
            for (const bool exact : {true, false}) {
              const asof_options options{.direction = direction, .allow_exact_matches = exact};
              std::vector<row_number> expected(left.keys.size());
              asof_join(left.side(), right.side(), expected, options);
              const memory m = memories[random() % 3];
              ASSERT_TRUE(rows_of_gpu(gpu, m, left, right, options) == expected)
                  << name_of(order) << " " << name_of(m) << " groups " << groups << " nulls " << has_nulls << " right "
                  << right_rows << " narrow " << is_narrow << " direction " << static_cast<int>(direction) << exact;
              if (order != shape::sorted || has_nulls) continue;
              for (const row_order declared : {row_order::sorted, row_order::sorted_in_groups, row_order::unsorted}) {
                ASSERT_TRUE(rows_of_gpu(gpu, m, left, right, options, declared) == expected)
                    << static_cast<int>(declared) << " groups " << groups;
              }
            }
          }
        }
      }
    }
  }
}

class AsofJoinGpuMemory : public AsofJoinGpu<std::int64_t> {};

// Host memory is copied in pieces of 2^21 rows while earlier pieces are joined.
TEST_F(AsofJoinGpuMemory, SidesOfSeveralPieces) {
  std::mt19937_64 random(5);
  constexpr std::size_t left_rows = (std::size_t{1} << 22) + 77, right_rows = std::size_t{1} << 20;
  const device& gpu = gpus().front();
  for (const bool has_nulls : {false, true}) {
    for (const std::uint32_t groups : {0u, 500u}) {
      side_data<std::int64_t> left{.groups = groups}, right{.groups = groups};
      for (auto [side, rows] : {std::pair{&left, left_rows}, std::pair{&right, right_rows}}) {
        for (std::size_t i = 0; i < rows; ++i) side->keys.push_back(static_cast<std::int64_t>(random() % (1u << 30)));
        std::sort(side->keys.begin(), side->keys.end());
        for (std::size_t i = 0; i < rows && groups != 0; ++i) {
          side->codes.push_back(static_cast<std::uint32_t>(random() % groups));
        }
        if (!has_nulls) continue;
        side->offset = 3;
        for (std::size_t i = 0; i < rows / 8 + 2; ++i) side->validity.push_back(static_cast<std::uint8_t>(random()));
      }
      std::vector<row_number> expected(left_rows);
      asof_join(left.side(), right.side(), expected);
      for (const memory m : memories) {
        ASSERT_TRUE(rows_of_gpu(gpu, m, left, right, {}) == expected) << name_of(m) << " " << has_nulls << groups;
      }
    }
  }
}

// Random left rows are put in the order of leading bits of their queries if the right side does not fit the L2 cache.
TYPED_TEST(AsofJoinGpu, RandomSidesBeyondTheCache) {
  using Key = TypeParam;
  std::mt19937_64 random(23);
  const device& gpu = gpus().front();
  for (const std::uint32_t groups : {0u, 300u}) {
    for (const bool is_narrow : {true, false}) {
      side_data<Key> left{.groups = groups}, right{.groups = groups};
      for (auto [side, rows] : {std::pair{&left, std::size_t{1} << 19}, std::pair{&right, std::size_t{1} << 22}}) {
        for (std::size_t i = 0; i < rows; ++i) {
          const auto small = static_cast<Key>(random() % (1u << 30));
          side->keys.push_back(is_narrow ? small : random() % 50 == 0 ? std::numeric_limits<Key>::max() : small);
          if (groups != 0) side->codes.push_back(static_cast<std::uint32_t>(random() % groups));
        }
      }
      if (!is_narrow) {
        left.keys[7] = std::numeric_limits<Key>::lowest();
        right.keys[9] = std::numeric_limits<Key>::lowest();
        left.validity.assign(left.keys.size() / 8 + 1, 0xf7);
      }
      for (const asof_direction direction : {asof_direction::backward, asof_direction::nearest}) {
        const asof_options options{.direction = direction, .allow_exact_matches = is_narrow};
        std::vector<row_number> expected(left.keys.size());
        asof_join(left.side(), right.side(), expected, options);
        for (const memory m : {memory::pinned, memory::device}) {
          ASSERT_TRUE(rows_of_gpu(gpu, m, left, right, options) == expected)
              << name_of(m) << " groups " << groups << " narrow " << is_narrow;
        }
      }
    }
  }
}

TEST_F(AsofJoinGpuMemory, EmptySidesAndAStreamOfTheCaller) {
  const device& gpu = gpus().front();
  const side_data<std::int64_t> none, some{.keys = {1, 2, 3}};
  for (const memory m : memories) {
    EXPECT_EQ(rows_of_gpu(gpu, m, some, none, {}), (std::vector<row_number>{no_row, no_row, no_row}));
    EXPECT_TRUE(rows_of_gpu(gpu, m, none, some, {}).empty());
  }
  const stream own = gpu.make_stream();
  const std::vector<std::int64_t> keys{1, 2, 3};
  const buffer<std::int64_t> on_gpu = to_device(gpu, std::span(keys), own);
  std::vector<row_number> rows(3);
  asof_join({.on = on_gpu.span()}, {.on = on_gpu.span()}, rows, {}, gpu, own);
  EXPECT_EQ(rows, (std::vector<row_number>{0, 1, 2}));
}

TEST_F(AsofJoinGpuMemory, ErrorsAreThoseOfTheCpuAndWriteNothing) {
  const device& gpu = gpus().front();
  const std::vector<std::int64_t> keys{1, 2, 3};
  const std::vector<std::uint32_t> codes{0, 1, 2};
  std::vector<row_number> rows(3, 7);
  const auto message_of = [](const auto& call) -> std::string {
    try {
      call();
    } catch (const error& e) {
      return e.what();
    }
    return "";
  };
  const auto expect_same = [&](const join_side& left, const join_side& right, const asof_options& options) {
    const std::string expected = message_of([&] { asof_join(left, right, rows, options); });
    EXPECT_NE(expected, "");
    EXPECT_EQ(message_of([&] { asof_join(left, right, rows, options, gpu); }), expected);
  };
  const std::vector<std::uint32_t> good{0, 1, 1};
  expect_same({.on = keys, .by = codes, .groups = 2}, {.on = keys, .by = good, .groups = 2}, {});
  expect_same({.on = keys, .by = good, .groups = 2}, {.on = keys, .by = codes, .groups = 2}, {});
  expect_same({.on = keys}, {.on = keys}, {.tolerance = -1});
  expect_same({.on = keys}, {.on = keys}, {.tolerance = 0.5});
  const std::vector<std::uint8_t> narrow{1, 2, 3};
  expect_same({.on = narrow}, {.on = narrow}, {});
  EXPECT_EQ(rows, (std::vector<row_number>{7, 7, 7}));
}

}  // namespace
}  // namespace espalier::test
