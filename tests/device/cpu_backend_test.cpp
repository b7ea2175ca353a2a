// cpu_backend_test.cpp - the parallel loops, sorts and scans of a CPU device, with one thread and with several.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "device/scan_cases.hpp"
#include "device/sort_cases.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/device/cpu.hpp"
#include "espalier/team/scalar_team.hpp"
#include "support/failing_pool.hpp"

namespace espalier::test {
namespace {

class cpu_backend_test : public testing::TestWithParam<unsigned> {
 protected:
  device device_ = device::cpu(GetParam());
  cpu_backend backend_{device_};
};

INSTANTIATE_TEST_SUITE_P(threads, cpu_backend_test, testing::Values(1u, 2u, 5u), testing::PrintToStringParamName());

TEST_P(cpu_backend_test, for_each_visits_every_index_once) {
  const std::size_t sizes[] = {0, 1, 1024, 1025, 300000};
  for (const std::size_t n : sizes) {
    std::vector<std::atomic<int>> visits(n);
    backend_.for_each(n, [&](std::size_t i) { ++visits[i]; });
    EXPECT_TRUE(std::all_of(visits.begin(), visits.end(), [](const auto& v) { return v == 1; })) << n;
  }
}

TEST_P(cpu_backend_test, for_each_team_gives_every_index_to_one_team) {
  constexpr std::size_t n = 5000;
  std::vector<std::uint32_t> nodes(8 * n), ranks(n);
  for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = static_cast<std::uint32_t>(i);
  backend_.for_each_team<scalar_team>(n, [&](scalar_team team, std::size_t i) {
    ranks[i] += team.rank<0>(team.view<8>(nodes.data() + 8 * i), static_cast<std::uint32_t>(8 * i + i % 9));
  });
  for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(ranks[i], i % 9);
}

TEST_P(cpu_backend_test, chunks_are_multiples_of_the_grain_and_cover_all) {
  constexpr std::size_t grain = 4096;
  constexpr std::size_t n = 100 * grain + 17;
  std::mutex mutex;
  std::vector<std::pair<std::size_t, std::size_t>> pieces;
  backend_.for_each_chunk(n, grain, [&](std::size_t first, std::size_t last) {
    const std::lock_guard lock(mutex);
    pieces.emplace_back(first, last);
  });
  std::sort(pieces.begin(), pieces.end());
  std::size_t expected_first = 0;
  for (const auto& [first, last] : pieces) {
    EXPECT_EQ(first, expected_first);
    EXPECT_TRUE((last - first) % grain == 0 || last == n);
    expected_first = last;
  }
  EXPECT_EQ(expected_first, n);
}

TEST_P(cpu_backend_test, an_exception_in_a_body_reaches_the_caller) {
  EXPECT_THROW(backend_.for_each(100000,
                                 [](std::size_t i) {
                                   if (i == 77777) throw error("found");
                                 }),
               error);
  std::atomic<std::size_t> calls = 0;
  backend_.for_each(100000, [&](std::size_t) { ++calls; });
  EXPECT_EQ(calls, 100000u);
}

template <class Word>
sort_function<Word> sort_on(const cpu_backend& backend) {
  return [backend](std::vector<Word>& keys, std::vector<unsigned char>& values, unsigned value_bytes,
                   unsigned begin_bit, unsigned end_bit) {
    const device& d = backend.get_device();
    auto k = to_device(d, std::span(keys));
    auto v = to_device(d, std::span(values));
    const buffer<Word> k_alt(d, keys.size());
    const buffer<unsigned char> v_alt(d, values.size());
    const bool in_alt = backend.sort_pairs(k.data(), k_alt.data(), v.data(), v_alt.data(), value_bytes, keys.size(),
                                           begin_bit, end_bit);
    keys = (in_alt ? k_alt : k).to_vector();
    values = (in_alt ? v_alt : v).to_vector();
  };
}

TEST_P(cpu_backend_test, sorts_32_bit_keys_stably) { check_sorts<std::uint32_t>(sort_on<std::uint32_t>(backend_)); }
TEST_P(cpu_backend_test, sorts_64_bit_keys_stably) { check_sorts<std::uint64_t>(sort_on<std::uint64_t>(backend_)); }
TEST_P(cpu_backend_test, Large_sorts_of_32_bit_keys_are_stable) {
  check_large_sorts<std::uint32_t>(sort_on<std::uint32_t>(backend_));
}
TEST_P(cpu_backend_test, Large_sorts_of_64_bit_keys_are_stable) {
  check_large_sorts<std::uint64_t>(sort_on<std::uint64_t>(backend_));
}

TEST_P(cpu_backend_test, sort_refuses_other_value_sizes) {
  std::vector<std::uint32_t> keys{2, 1};
  EXPECT_THROW((void)backend_.sort_pairs(keys.data(), keys.data(), nullptr, nullptr, 5, 2, 0, 32), error);
}

TEST_P(cpu_backend_test, sort_without_scratch_memory_changes_nothing) {
  const auto pool = std::make_shared<failing_pool>(device_.pool(), 1);
  const cpu_backend poor(device_.with_pool(pool));
  std::vector<std::uint32_t> keys(1000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = static_cast<std::uint32_t>(keys.size() - i);
  const auto before = keys;
  std::vector<std::uint32_t> alt(keys.size());
  EXPECT_THROW((void)poor.sort_pairs(keys.data(), alt.data(), nullptr, nullptr, 0, keys.size(), 0, 32), out_of_memory);
  EXPECT_EQ(keys, before);
  EXPECT_EQ(pool->live_blocks(), 0u);
}

template <class T>
scan_function<T> scan_on(const cpu_backend& backend) {
  return [backend](const std::vector<T>& elements, bool in_place) {
    std::vector<T> in = elements;
    std::vector<T> out(in.size());
    T* const target = in_place ? in.data() : out.data();
    backend.exclusive_scan<T>(in.data(), target, in.size());
    return in_place ? in : out;
  };
}

TEST_P(cpu_backend_test, scans_u64) { check_scans<std::uint64_t>(scan_on<std::uint64_t>(backend_)); }
TEST_P(cpu_backend_test, scans_i64) { check_scans<std::int64_t>(scan_on<std::int64_t>(backend_)); }
TEST_P(cpu_backend_test, scans_int128) { check_scans<int128>(scan_on<int128>(backend_)); }

}  // namespace
}  // namespace espalier::test
