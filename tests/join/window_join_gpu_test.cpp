// window_join_gpu_test.cpp - window joins of every GPU give the CPU's results bit by bit, in every kind of memory.
#include <gtest/gtest.h>

#include <cstring>

#include "espalier/join/window_join.hpp"
#include "join/gpu_memory.hpp"

namespace espalier::test {
namespace {

/// One output of every function, as bytes, and one validity bitmap for each.
template <class Value>
struct window_bytes {
  std::vector<window_function> functions;
  std::vector<unsigned> widths;
  std::vector<placed<std::uint8_t>> data, valid;
  std::size_t n;

  window_bytes(const device& gpu, memory m, std::size_t rows) : n(rows) {
    using enum window_function;
    const unsigned width = sizeof(Value), sum_width = std::is_floating_point_v<Value> ? 8 : 16;
    functions = {count_rows, count, sum, min, max, avg, first, last};
    widths = {8, 8, sum_width, width, width, 8, 4, 4};
    for (const unsigned w : widths) {
      data.emplace_back(gpu, m, std::vector<std::uint8_t>(n * w, 0xa5));
      valid.emplace_back(gpu, m, std::vector<std::uint8_t>((n + 7) / 8, 0xa5));
    }
  }
  [[nodiscard]] std::vector<window_output> outputs() {
    std::vector<window_output> out(functions.size());
    for (std::size_t f = 0; f < out.size(); ++f) {
      out[f].function = functions[f];
      out[f].data = data[f].span().data();
      out[f].size = n;
      out[f].width = widths[f];
      out[f].validity = valid[f].span();
    }
    return out;
  }
};

template <class Key, class Value>
void expect_same_windows(const device& gpu, memory m, const side_data<Key>& left, const side_data<Key>& right,
                         const std::vector<Value>& values, const std::vector<std::uint8_t>& bits, std::size_t offset,
                         const window_bounds& bounds, const std::string& what) {
  const device cpu = device::cpu();
  const auto column_of = [&](std::span<const Value> v, std::span<const std::uint8_t> b) {
    return column_view(v, b.empty() ? bitmap_view{} : bitmap_view{b.data(), offset});
  };
  const std::size_t n = left.keys.size();
  window_bytes<Value> expected(gpu, memory::pageable, n), found(gpu, m, n);
  const column_view host_column = column_of(values, bits);
  window_join(left.side(), right.side(), {&host_column, 1}, bounds, expected.outputs(), cpu);
  placed_side<Key> on_left(gpu, m, left), on_right(gpu, m, right);
  placed<Value> on_values(gpu, m, values);
  placed<std::uint8_t> on_bits(gpu, m, bits);
  const column_view column = column_of(on_values.span(), on_bits.span());
  window_join(on_left.side(), on_right.side(), {&column, 1}, bounds, found.outputs(), gpu);
  for (std::size_t f = 0; f < found.functions.size(); ++f) {
    ASSERT_TRUE(found.data[f].get() == expected.data[f].get()) << what << " " << name_of(m) << " function " << f;
    ASSERT_TRUE(found.valid[f].get() == expected.valid[f].get()) << what << " " << name_of(m) << " bits of " << f;
  }
}

template <class Key, class Value>
void run_gpu_windows(unsigned seed) {
  if (gpus().empty()) GTEST_SKIP() << "no GPU";
  std::mt19937_64 random(seed);
  for (unsigned round = 0; round < 48; ++round) {
    const std::uint32_t groups = round % 3 == 0 ? 0u : round % 3 == 1 ? 1u : 5u;
    const bool is_large = round % 6 == 5;  // several blocks of sums, levels of extrema and blocks of left rows
    const auto left = random_side<Key>(random, {.rows = is_large ? 5'003 : random() % 60,
                                                .groups = groups,
                                                .has_nulls = round % 2 == 0,
                                                .order = static_cast<shape>(random() % 5)});
    const auto right = random_side<Key>(random, {.rows = round == 7 ? 0
                                                         : is_large ? 30'001
                                                                    : random() % 400,
                                                 .groups = groups,
                                                 .has_nulls = round % 4 == 0,
                                                 .order = static_cast<shape>(random() % 5),
                                                 .spread = is_large ? 1'000 : 50});
    std::vector<Value> values;
    std::vector<std::uint8_t> bits;
    for (std::size_t j = 0; j < right.keys.size(); ++j) {
      values.push_back(random_key<Value>(random, 1'000));
      if (std::is_floating_point_v<Value> && round % 8 != 0 && !std::isfinite(static_cast<double>(values.back()))) {
        values.back() = static_cast<Value>(random() % 1'000'000) / Value{7};
      }
      if (std::is_floating_point_v<Value> && round % 4 != 1 &&
          std::fabs(static_cast<double>(values.back())) > 1e30) {  // sums of others need a scale
        values.back() = Value{1} / Value{3};
      }
      if (std::is_floating_point_v<Value> && round % 16 == 8 && j % 50 == 0) {
        values.back() = std::numeric_limits<Value>::quiet_NaN();
      }
    }
    if (round % 5 < 3) {
      bits.resize((right.keys.size() + 3 + 7) / 8 + 1);
      for (std::uint8_t& b : bits) b = static_cast<std::uint8_t>(random() | random());
    }
    window_bounds bounds{.includes_first = random() % 2 == 0, .includes_last = random() % 2 == 0};
    if (random() % 8 != 0) bounds.preceding = static_cast<int>(random() % 30) - 3;
    if (random() % 8 != 0) bounds.following = static_cast<int>(random() % 30) - 3;
    if constexpr (std::is_integral_v<Key>) {
      if (random() % 10 == 0) bounds.preceding = std::numeric_limits<std::uint64_t>::max();
    } else {
      if (random() % 4 == 0) bounds.preceding = 0.1;
      if (random() % 10 == 0) bounds.following = 1e300;
    }
    expect_same_windows(gpus().front(), memories[round % 3], left, right, values, bits, 3, bounds,
                        "round " + std::to_string(round));
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(WindowJoinGpu, KeysAndValuesOfEveryType) {
  run_gpu_windows<std::int64_t, std::int64_t>(1);
  run_gpu_windows<std::int32_t, std::uint8_t>(2);
  run_gpu_windows<std::uint32_t, float>(3);
  run_gpu_windows<std::uint64_t, double>(4);
  run_gpu_windows<float, std::int16_t>(5);
  run_gpu_windows<double, std::uint64_t>(6);
  run_gpu_windows<float, double>(7);
  run_gpu_windows<std::int64_t, float>(8);
}

TEST(WindowJoinGpu, ErrorsAreThoseOfTheCpu) {
  if (gpus().empty()) GTEST_SKIP() << "no GPU";
  const std::vector<std::int64_t> keys{1, 2, 3}, large(3, std::numeric_limits<std::int64_t>::max());
  const std::vector<std::int64_t> few{1};
  std::vector<std::int64_t> sums(3);
  std::vector<std::int32_t> narrow(3);
  const auto message_of = [&](const device& dev, const auto& column, auto& out, const window_bounds& bounds) {
    const column_view view(column);
    const window_output output(window_function::sum, 0, std::span(out));
    try {
      window_join({.on = keys}, {.on = keys}, {&view, 1}, bounds, {&output, 1}, dev);
    } catch (const error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const auto expect_same = [&](const auto& column, auto& out, const window_bounds& bounds) {
    const std::string expected = message_of(device::cpu(), column, out, bounds);
    EXPECT_NE(expected, "");
    EXPECT_EQ(message_of(gpus().front(), column, out, bounds), expected);
  };
  expect_same(large, sums, {});
  expect_same(few, sums, {});
  expect_same(keys, narrow, {});
  expect_same(keys, sums, {.preceding = 0.5});
}

}  // namespace
}  // namespace espalier::test
