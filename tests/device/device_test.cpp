// device_test.cpp - what every device promises through its handle: memory, copies, streams and pools. Runs on the CPU
// with one and with several threads, and on every GPU there is.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "espalier/device/buffer.hpp"
#include "support/failing_pool.hpp"

namespace espalier::test {
namespace {

std::vector<device> devices() {
  std::vector<device> all = device::all();
  all.insert(all.begin(), {device::cpu(1), device::cpu(5)});
  return all;
}

std::vector<unsigned char> bytes_of_length(std::size_t n) {
  std::vector<unsigned char> bytes(n);
  for (std::size_t i = 0; i < n; ++i) bytes[i] = static_cast<unsigned char>(i * 131 + i / 251);
  return bytes;
}

template <class Body>
void on_every_device(Body body) {
  for (const device& d : devices()) {
    SCOPED_TRACE(d.name() + ", " + std::to_string(d.threads()) + " threads");
    body(d);
  }
}

TEST(device_handle, best_never_throws_and_all_starts_with_the_cpu) {
  const device best = device::default_device();
  const std::vector<device> all = device::all();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all[0].kind(), device_kind::cpu);
  EXPECT_EQ(best.kind(), all.size() > 1 ? device_kind::cuda : device_kind::cpu);
}

TEST(device_handle, tells_what_it_is) {
  on_every_device([](const device& d) {
    EXPECT_FALSE(d.name().empty());
    EXPECT_EQ(d.threads() == 0, d.kind() == device_kind::cuda);
    EXPECT_EQ(d.ordinal() < 0, d.kind() == device_kind::cpu);
    EXPECT_GT(d.memory().free, 0u);
    EXPECT_GE(d.memory().total, d.memory().free);
  });
}

TEST(device_handle, a_gpu_that_is_not_there_is_an_error_with_a_reason) {
  try {
    (void)device::cuda(1000);
    FAIL() << "there is no GPU 1000";
  } catch (const error& e) {
    EXPECT_GT(std::string(e.what()).size(), 20u);
  }
}

TEST(device_handle, a_stream_of_another_kind_of_device_is_an_error) {
  const std::vector<device> all = device::all();
  if (all.size() < 2) GTEST_SKIP() << "no GPU";
  int byte = 0;
  EXPECT_THROW(all[0].fill(&byte, 0, 1, all[1].default_stream()), error);
  EXPECT_THROW(all[1].fill(&byte, 0, 1, all[0].default_stream()), error);
  EXPECT_THROW((void)all[0].resolve(all[1].default_stream()), error);
  EXPECT_THROW((void)all[1].resolve(all[0].default_stream()), error);
  EXPECT_THROW(buffer<int>(all[1], 1, all[0].make_stream()), error);
}

TEST(device_handle, a_mark_of_another_kind_of_device_is_an_error) {
  const auto all = device::all();
  if (all.size() < 2) GTEST_SKIP() << "no GPU";
  EXPECT_THROW(all[0].default_stream().wait_for(all[1].default_stream().mark()), error);
  EXPECT_THROW(all[1].default_stream().wait_for(all[0].default_stream().mark()), error);
}

TEST(device_handle, an_empty_stream_cannot_be_waited_for) { EXPECT_THROW(stream().synchronize(), error); }

TEST(device_handle, a_cpu_has_no_native_streams) {
  EXPECT_THROW((void)device::cpu().wrap_stream(nullptr), error);
  EXPECT_EQ(device::cpu().default_stream().native(), nullptr);
}

TEST(device_memory, copies_come_back_and_blocks_are_aligned) {
  on_every_device([](const device& d) {
    const std::uintptr_t alignment = d.kind() == device_kind::cpu ? 64 : 256;
    for (const std::size_t n :
         {std::size_t{1}, std::size_t{63}, std::size_t{4097}, std::size_t{1} << 21, (std::size_t{5} << 20) + 3}) {
      const auto host = bytes_of_length(n);
      const auto a = to_device(d, std::span(host));
      const buffer<unsigned char> b(d, n);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % alignment, 0u);
      d.copy(b.data(), a.data(), n, {});
      EXPECT_EQ(b.to_vector(), host) << n;
    }
  });
}

TEST(device_memory, fill_touches_exactly_its_bytes) {
  on_every_device([](const device& d) {
    auto expected = bytes_of_length(3 << 20);
    const auto b = to_device(d, std::span(expected));
    d.fill(b.data() + 5, 0xab, expected.size() - 12, {});
    d.fill(b.data(), 0xcd, 0, {});
    std::fill(expected.begin() + 5, expected.end() - 7, static_cast<unsigned char>(0xab));
    EXPECT_EQ(b.to_vector(), expected);
  });
}

TEST(device_memory, empty_buffers_need_no_memory) {
  on_every_device([](const device& d) {
    const auto pool = std::make_shared<failing_pool>(d.pool());
    const buffer<std::uint64_t> none(d.with_pool(pool), 0);
    EXPECT_TRUE(none.to_vector().empty());
    EXPECT_EQ(pool->requests(), 0u);
  });
}

TEST(device_memory, an_absurd_request_says_asked_and_free_and_harms_nothing) {
  on_every_device([](const device& d) {
    for (const std::size_t absurd : {std::size_t{1} << 50, ~std::size_t{0} - 4096}) {
      try {
        const raw_buffer b(d, absurd, {});
        FAIL() << absurd << " bytes were given";
      } catch (const out_of_memory& e) {
        EXPECT_EQ(e.asked(), absurd);
        EXPECT_GT(e.free(), 0u);
        EXPECT_LT(e.free(), absurd);
      }
    }
    const auto host = bytes_of_length(1 << 22);
    EXPECT_EQ(to_device(d, std::span(host)).to_vector(), host);
    d.default_stream().synchronize();
  });
}

TEST(device_memory, local_memory_is_what_kernels_read_at_full_speed) {
  on_every_device([](const device& d) {
    const int on_host = 0;
    const buffer<int> b(d, 1000);
    EXPECT_TRUE(d.is_local(b.data()));
    EXPECT_TRUE(d.is_local(b.data() + 999));
    EXPECT_EQ(d.is_local(&on_host), d.kind() == device_kind::cpu);
  });
}

TEST(device_streams, copies_on_one_stream_are_in_order) {
  on_every_device([](const device& d) {
    for (const stream& s : {d.default_stream(), d.make_stream()}) {
      const std::size_t n = 1 << 20;
      const auto first = bytes_of_length(n);
      const buffer<unsigned char> a(d, n, s);
      const buffer<unsigned char> b(d, n, s);
      d.copy(a.data(), first.data(), n, s);
      d.copy(b.data(), a.data(), n, s);
      d.fill(a.data(), 1, n, s);
      d.copy(b.data(), a.data(), n / 2, s);
      auto expected = first;
      std::fill_n(expected.begin(), n / 2, static_cast<unsigned char>(1));
      EXPECT_EQ(b.to_vector(), expected);
      s.synchronize();
    }
  });
}

TEST(device_streams, a_stream_that_waits_for_a_mark_sees_what_was_done_before_it) {
  on_every_device([](const device& d) {
    const stream first = d.make_stream(), second = d.make_stream();
    const std::size_t n = std::size_t{1} << 26;
    const buffer<unsigned char> a(d, n, first);
    const buffer<unsigned char> b(d, n, second);
    d.fill(b.data(), 0, n, second);
    second.synchronize();
    for (int value = 1; value <= 16; ++value)
      d.fill(a.data(), static_cast<unsigned char>(value), n, first);  // which takes a while
    stream_event mark = first.mark();
    second.wait_for(mark);
    mark = {};  // who waits still does
    d.copy(b.data(), a.data(), n, second);
    second.synchronize();
    EXPECT_EQ(b.to_vector(), std::vector<unsigned char>(n, 16));
  });
}

/// Uses the default stream of its thread when the thread ends.
struct late_user {
  std::atomic<bool>* used = nullptr;
  ~late_user() {
    if (used == nullptr) return;
    const device d = device::cpu(2);
    const buffer<int> memory(d, 100, d.default_stream());
    d.fill(memory.data(), 1, memory.bytes(), d.default_stream());
    d.default_stream().synchronize();
    *used = true;
  }
};
TEST(device_streams, a_thread_has_a_default_stream_until_its_last_object_is_gone) {
  std::atomic<bool> used{false};
  std::thread([&used] {
    thread_local late_user user;  // older than the streams, so that it outlives them
    user.used = &used;
    device::cpu(2).default_stream().synchronize();
  }).join();
  EXPECT_TRUE(used);
}

TEST(device_streams, empty_means_the_default_stream) {
  on_every_device([](const device& d) {
    EXPECT_EQ(d.resolve({}).state(), d.default_stream().state());
    const stream made = d.make_stream();
    EXPECT_NE(made.state(), d.default_stream().state());
    EXPECT_EQ(d.resolve(made).state(), made.state());
    EXPECT_EQ(d.with_pool(d.pool()).default_stream().state(), d.default_stream().state());
  });
}

// Calls without a stream, from several threads, do not wait for each other.
TEST(device_streams, each_thread_has_a_default_stream_on_a_cpu) {
  const device cpu = device::cpu(1);
  const stream mine = cpu.default_stream();
  EXPECT_EQ(mine.state(), device::cpu(1).default_stream().state());
  std::promise<void> open;
  cpu.enqueue(mine, [gate = open.get_future().share()] { gate.wait(); });
  std::thread([&] {
    EXPECT_NE(cpu.default_stream().state(), mine.state());
    bool ran = false;
    cpu.invoke_in_order({}, [&] { ran = true; });
    EXPECT_TRUE(ran);
  }).join();
  open.set_value();
  mine.synchronize();
}
// ... and a thread that ends leaves nothing undone.
TEST(device_streams, work_on_the_default_stream_of_a_thread_is_done_when_the_thread_is_joined) {
  const device cpu = device::cpu(1);
  std::atomic<unsigned> done{0};
  std::thread([&] {
    for (unsigned i = 0; i < 100; ++i) cpu.enqueue({}, [&] { ++done; });
  }).join();
  EXPECT_EQ(done, 100u);
}

TEST(device_streams, enqueued_work_and_run_now_see_earlier_work) {
  on_every_device([](const device& d) {
    const stream s = d.make_stream();
    std::vector<int> seen;
    for (int i = 0; i < 100; ++i) {
      d.enqueue(s, [&seen, i] { seen.push_back(i); });
      if (i % 10 == 9) d.invoke_in_order(s, [&seen, i] { EXPECT_EQ(seen.size(), static_cast<std::size_t>(i + 1)); });
    }
    s.synchronize();
    std::vector<int> expected(100);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(seen, expected);
  });
}

TEST(device_pools, with_pool_takes_memory_from_that_pool_and_gives_it_back) {
  on_every_device([](const device& d) {
    const auto pool = std::make_shared<failing_pool>(d.pool());
    const device counted = d.with_pool(pool);
    EXPECT_EQ(counted.name(), d.name());
    EXPECT_EQ(counted.kind(), d.kind());
    {
      const auto host = bytes_of_length(5000);
      const auto a = to_device(counted, std::span(host));
      auto b = to_device(counted, std::span(host));
      EXPECT_EQ(pool->live_blocks(), 2u);
      EXPECT_EQ(pool->live_bytes(), 10000u);
      const auto moved = std::move(b);
      EXPECT_EQ(moved.to_vector(), host);
      EXPECT_EQ(pool->live_blocks(), 2u);
    }
    EXPECT_EQ(pool->live_blocks(), 0u);
    EXPECT_EQ(pool->live_bytes(), 0u);
  });
}

TEST(device_pools, the_kth_allocation_fails_and_nothing_leaks) {
  on_every_device([](const device& d) {
    std::size_t failures = 0;
    for (std::size_t k = 1; k <= 4; ++k) {
      const auto pool = std::make_shared<failing_pool>(d.pool(), k);
      try {
        const device poor = d.with_pool(pool);
        const buffer<int> a(poor, 100);
        const buffer<int> b(poor, 200);
        const buffer<int> c(poor, 300);
      } catch (const out_of_memory& e) {
        EXPECT_EQ(e.asked(), k * 100 * sizeof(int));
        ++failures;
      }
      EXPECT_EQ(pool->live_blocks(), 0u);
    }
    EXPECT_EQ(failures, 3u);
  });
}

TEST(device_pools, memory_of_the_host_pool_is_written_by_both_and_used_again) {
  on_every_device([](const device& d) {
    const device host_tree = d.with_pool(d.host_pool());
    const auto bytes = bytes_of_length(100000);
    const stream s = d.make_stream();
    for (unsigned round = 0; round < 3; ++round) {
      const buffer<unsigned char> here(host_tree, bytes.size(), s), there(d, bytes.size(), s);
      std::copy(bytes.begin(), bytes.end(), here.data());
      d.copy(there.data(), here.data(), bytes.size(), s);
      s.synchronize();
      std::fill_n(here.data(), bytes.size(), static_cast<unsigned char>(round));
      d.copy(here.data(), there.data(), bytes.size(), s);
      s.synchronize();
      EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), here.data()));
      d.copy(here.data(), there.data(), bytes.size(), s);  // may be queued still when the memory is given back
    }
  });
}

TEST(device_pools, no_pool_is_an_error) {
  on_every_device([](const device& d) { EXPECT_THROW((void)d.with_pool(nullptr), error); });
}

}  // namespace
}  // namespace espalier::test
