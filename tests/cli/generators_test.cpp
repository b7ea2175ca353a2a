// generators_test.cpp - the benchmark's data: right order, right shape, the same for every number of threads.
#include "bench/data/generators.hpp"

#include <gtest/gtest.h>
#include <tbb/global_control.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

namespace espalier::bench {
namespace {

template <class Key>
std::vector<Key> keys_of(distribution which, std::size_t n, std::uint64_t seed = 1) {
  std::vector<Key> keys(n);
  generate_keys<Key>(which, seed, keys);
  return keys;
}

/// Position of a key in its range, from 0 to 1.
double place(std::uint32_t key) { return static_cast<double>(key) * 0x1p-32; }

template <class Key>
class generator : public testing::Test {};
using key_types = testing::Types<std::uint32_t, std::int32_t, std::uint64_t, std::int64_t, float, double>;
TYPED_TEST_SUITE(generator, key_types);

TYPED_TEST(generator, seed_alone_decides_the_data) {
  for (const auto& d : distribution_names) {
    const auto parallel = keys_of<TypeParam>(d.value, 50'000);
    const tbb::global_control one_thread(tbb::global_control::max_allowed_parallelism, 1);
    EXPECT_EQ(parallel, keys_of<TypeParam>(d.value, 50'000)) << d.name;
  }
  EXPECT_NE(keys_of<TypeParam>(distribution::uniform, 100, 1), keys_of<TypeParam>(distribution::uniform, 100, 2));
}

TYPED_TEST(generator, no_key_is_nan_or_infinite) {
  if constexpr (std::is_floating_point_v<TypeParam>) {
    for (const auto& d : distribution_names) {
      for (const auto key : keys_of<TypeParam>(d.value, 10'000)) ASSERT_TRUE(std::isfinite(key)) << d.name;
    }
  }
}

TYPED_TEST(generator, ordered_distributions_are_in_their_order) {
  const auto up = keys_of<TypeParam>(distribution::ascending, 10'000);
  EXPECT_TRUE(std::is_sorted(up.begin(), up.end()));
  EXPECT_EQ(std::set<TypeParam>(up.begin(), up.end()).size(), up.size());
  auto down = keys_of<TypeParam>(distribution::descending, 10'000);
  std::reverse(down.begin(), down.end());
  EXPECT_EQ(up, down);
}

TYPED_TEST(generator, almost_sorted_has_at_most_five_swaps) {
  const auto up = keys_of<TypeParam>(distribution::ascending, 10'000);
  auto almost = keys_of<TypeParam>(distribution::almost_sorted, 10'000);
  std::size_t moved = 0;
  for (std::size_t i = 0; i < up.size(); ++i) moved += up[i] != almost[i];
  EXPECT_GT(moved, 0u);
  EXPECT_LE(moved, 10u);
  std::sort(almost.begin(), almost.end());
  EXPECT_EQ(up, almost);
}

TYPED_TEST(generator, shuffled_is_a_permutation) {
  for (const std::size_t n : {1u, 2u, 3u, 1000u, 4096u, 4097u}) {
    auto keys = keys_of<TypeParam>(distribution::shuffled, n);
    if (n >= 1000) {
      EXPECT_FALSE(std::is_sorted(keys.begin(), keys.end()));
    }
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(keys, keys_of<TypeParam>(distribution::ascending, n));
  }
}

TYPED_TEST(generator, adversarial_has_both_extremes_and_one_dense_run) {
  auto keys = keys_of<TypeParam>(distribution::adversarial, 5000);
  std::sort(keys.begin(), keys.end());
  EXPECT_EQ(keys.front(), std::numeric_limits<TypeParam>::lowest());
  EXPECT_EQ(keys.back(), std::numeric_limits<TypeParam>::max());
  for (std::size_t i = 2; i + 1 < keys.size(); ++i) {
    ASSERT_EQ(key_codec<TypeParam>::encode(keys[i]), key_codec<TypeParam>::encode(keys[i - 1]) + 1u);
  }
}

TYPED_TEST(generator, zipf_repeats_small_keys_and_reaches_large_ones) {
  const auto keys = keys_of<TypeParam>(distribution::zipf, 100'000);
  const auto ones = std::count(keys.begin(), keys.end(), TypeParam{1});
  const auto above = std::count_if(keys.begin(), keys.end(), [](auto k) { return k > TypeParam{1'000'000}; });
  EXPECT_GT(ones, 1000);
  EXPECT_GT(above, 10'000);
  EXPECT_GE(*std::min_element(keys.begin(), keys.end()), TypeParam{1});
}

TYPED_TEST(generator, sizes_zero_and_one_work) {
  for (const auto& d : distribution_names) {
    EXPECT_TRUE(keys_of<TypeParam>(d.value, 0).empty());
    EXPECT_EQ(keys_of<TypeParam>(d.value, 1).size(), 1u);
    EXPECT_EQ(keys_of<TypeParam>(d.value, 2).size(), 2u);
  }
}

TEST(generator_shape, uniform_fills_the_range_evenly) {
  std::vector<std::size_t> histogram(16, 0);
  for (const auto key : keys_of<std::uint32_t>(distribution::uniform, 160'000)) ++histogram[key >> 28];
  for (const auto count : histogram) EXPECT_NEAR(static_cast<double>(count), 10'000, 500);
}

TEST(generator_shape, gaussian_and_normal_have_their_means_and_deviations) {
  struct moments {
    double mean, deviation;
  };
  const auto moments_of = [](distribution which) {
    double sum = 0, squares = 0;
    const auto keys = keys_of<std::uint32_t>(which, 200'000);
    for (const auto key : keys) sum += place(key), squares += place(key) * place(key);
    const double mean = sum / static_cast<double>(keys.size());
    return moments{mean, std::sqrt(squares / static_cast<double>(keys.size()) - mean * mean)};
  };
  const auto [mean, deviation] = moments_of(distribution::gaussian);
  EXPECT_NEAR(mean, 0.5, 0.005);
  EXPECT_NEAR(deviation, 1.0 / 16, 0.002);
  // Cut off at both ends of the range, N(1/2, 1/8) has a deviation of about 0.255.
  const auto [wide_mean, wide_deviation] = moments_of(distribution::normal);
  EXPECT_NEAR(wide_mean, 0.5, 0.005);
  EXPECT_NEAR(wide_deviation, 0.255, 0.01);
}

TEST(generator_shape, gamma_leans_to_small_keys) {
  const auto keys = keys_of<std::uint32_t>(distribution::gamma, 200'000);
  double sum = 0;
  for (const auto key : keys) sum += place(key);
  EXPECT_NEAR(sum / static_cast<double>(keys.size()), 9.0 / 64, 0.005);
}

TEST(generator_shape, clusters_leave_most_of_the_range_empty_near_their_ends) {
  // The cube crowds keys at the start of each cluster: half of them within an eighth of its width.
  std::vector<std::uint32_t> starts;
  for (std::uint32_t c = 0; c < 1024; ++c) starts.push_back(static_cast<std::uint32_t>(mix(c) >> 32));
  std::sort(starts.begin(), starts.end());
  std::size_t near = 0;
  const auto keys = keys_of<std::uint32_t>(distribution::clustered, 100'000);
  for (const auto key : keys) {
    const auto after = std::upper_bound(starts.begin(), starts.end(), key);
    const std::uint32_t distance = key - (after == starts.begin() ? starts.back() : *(after - 1));
    near += distance < (1u << 22) / 8;
  }
  EXPECT_GT(near, keys.size() / 2 - 1000);
}

TEST(generator_shape, mesh_names_each_inner_edge_twice_and_others_once) {
  const std::uint64_t cells = 10'000, side = 100;
  std::map<std::pair<std::uint64_t, std::uint64_t>, unsigned> seen;
  const triangle_mesh mesh(6 * cells, 3);
  ASSERT_EQ(mesh.vertices(6 * cells), (side + 1) * (side + 1));
  std::set<std::uint64_t> vertices;
  for (std::uint64_t i = 0; i < 6 * cells; ++i) {
    const auto edge = mesh.edge(i);
    ASSERT_LT(edge.first, edge.second);
    vertices.insert(edge.first);
    vertices.insert(edge.second);
    ++seen[edge];
  }
  EXPECT_EQ(vertices.size(), (side + 1) * (side + 1));
  EXPECT_EQ(*vertices.rbegin(), vertices.size() - 1);
  EXPECT_EQ(seen.size(), vertices.size() + 2 * cells - 1);  // a disc: V - E + F = 1
  std::size_t border = 0;
  for (const auto& [edge, times] : seen) {
    ASSERT_LE(times, 2u);
    border += times == 1;
  }
  EXPECT_EQ(border, 4 * side);
}

TEST(generator_shape, mesh_keys_are_two_vertex_numbers) {
  const triangle_mesh mesh(3000, 1);
  const auto keys = keys_of<std::uint64_t>(distribution::mesh, 3000);
  const auto reals = keys_of<double>(distribution::mesh, 3000);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto [a, b] = mesh.edge(i);
    ASSERT_EQ(keys[i], a << 32 | b);
    ASSERT_EQ(reals[i], static_cast<double>(a) * 0x1p26 + static_cast<double>(b));
  }
}

TEST(zipf, ranks_come_as_often_as_their_weights_say) {
  for (const std::uint64_t n : {1u, 2u, 3u, 1000u}) {
    const zipf_ranks ranks(n);
    std::vector<double> weights(n);
    for (std::size_t i = 0; i < n; ++i) weights[i] = std::pow(static_cast<double>(i + 1), -0.99);
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    const std::size_t draws = 200'000;
    std::vector<std::size_t> counts(n);
    for (std::size_t i = 0; i < draws; ++i) {
      const std::uint64_t rank = ranks(random_bits(5, i));
      ASSERT_LT(rank, n);
      ++counts[rank];
    }
    // Gray's formula is exact for the first two ranks and close for the others.
    for (std::size_t i = 0; i < std::min<std::size_t>(n, 2); ++i) {
      EXPECT_NEAR(static_cast<double>(counts[i]) / draws, weights[i] / all, 0.005) << n << " " << i;
    }
    const auto head = std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>((n + 9) / 10), 0.0);
    const auto wanted =
        std::accumulate(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>((n + 9) / 10), 0.0);
    EXPECT_NEAR(head / draws, wanted / all, 0.02) << n;
  }
}

TEST(zipf, large_sizes_agree_with_the_sum_of_all_weights) {
  // The share of rank 0 is 1 / zeta(n): the shortcut beyond a million terms must continue the exact sum.
  const std::uint64_t n = 4'000'000;
  double zeta = 0;
  for (std::uint64_t i = 1; i <= n; ++i) zeta += std::pow(static_cast<double>(i), -0.99);
  const zipf_ranks ranks(n);
  EXPECT_EQ(ranks(static_cast<std::uint64_t>((1 / zeta - 1e-9) * 0x1p64)), 0u);
  EXPECT_EQ(ranks(static_cast<std::uint64_t>((1 / zeta + 1e-9) * 0x1p64)), 1u);
}

TEST(generator_values, floats_are_in_the_unit_interval) {
  std::vector<float> values(10'000);
  generate_values<float>(3, values);
  for (const float v : values) ASSERT_TRUE(v >= 0 && v < 1);
}

}  // namespace
}  // namespace espalier::bench
