// cpu_stream_test.cpp - the CPU's streams where they differ from a GPU's: work runs later, on a thread of ours.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "espalier/device/buffer.hpp"
#include "espalier/device/cpu.hpp"

namespace espalier::test {
namespace {

class cpu_stream_test : public testing::Test {
 protected:
  // A stream that stands still until open() is called.
  stream closed() {
    stream s = device_.make_stream();
    device_.enqueue(s, [gate = gate_.get_future().share()] { gate.wait(); });
    return s;
  }
  void open() { gate_.set_value(); }

  device device_ = device::cpu(2);
  std::promise<void> gate_;
};

TEST_F(cpu_stream_test, enqueue_returns_before_the_work_is_done) {
  const stream s = closed();
  std::atomic<bool> done = false;
  device_.enqueue(s, [&] { done = true; });
  EXPECT_FALSE(done);
  open();
  s.synchronize();
  EXPECT_TRUE(done);
}

TEST_F(cpu_stream_test, streams_do_not_wait_for_each_other) {
  const stream s = closed();
  const stream other = device_.make_stream();
  bool done = false;
  device_.enqueue(other, [&] { done = true; });
  other.synchronize();
  EXPECT_TRUE(done);
  bool now = false;
  device_.invoke_in_order({}, [&] { now = true; });
  EXPECT_TRUE(now);
  open();
  s.synchronize();
}

TEST_F(cpu_stream_test, a_stream_waits_for_a_mark_and_not_for_what_comes_behind_it) {
  const stream s = closed();
  const stream other = device_.make_stream();
  std::atomic<int> step = 0;
  int seen = -1;
  device_.enqueue(s, [&] { step = 1; });
  const stream_event mark = s.mark();
  std::promise<void> second_gate;
  device_.enqueue(s, [&] { second_gate.get_future().wait(); });
  other.wait_for(mark);
  device_.enqueue(other, [&] { seen = step; });
  EXPECT_FALSE(other.is_done());
  open();
  other.synchronize();
  EXPECT_EQ(seen, 1);
  EXPECT_FALSE(s.is_done());
  second_gate.set_value();
  s.synchronize();
}

TEST_F(cpu_stream_test, marks_of_nothing_are_not_waited_for) {
  const stream s = device_.make_stream();
  s.wait_for(stream_event());
  s.wait_for(stream().mark());
  EXPECT_TRUE(s.is_done());
  const stream_event passed = s.mark();
  s.synchronize();
  s.wait_for(passed);  // one of its own
  s.synchronize();
  EXPECT_THROW(stream().wait_for(passed), error);
}

TEST_F(cpu_stream_test, a_mark_behind_work_that_fails_is_reached) {
  const stream s = device_.make_stream(), other = device_.make_stream();
  device_.enqueue(s, [] { throw error("first"); });
  other.wait_for(s.mark());
  bool done = false;
  device_.enqueue(other, [&] { done = true; });
  other.synchronize();
  EXPECT_TRUE(done);
  EXPECT_THROW(s.synchronize(), error);
}

TEST_F(cpu_stream_test, the_first_error_surfaces_at_synchronize_once_and_later_work_runs) {
  const stream s = device_.make_stream();
  bool later = false;
  device_.enqueue(s, [] { throw error("first"); });
  device_.enqueue(s, [] { throw error("second"); });
  device_.enqueue(s, [&] { later = true; });
  try {
    s.synchronize();
    FAIL() << "the error was lost";
  } catch (const error& e) {
    EXPECT_EQ(e.what(), std::string("first"));
  }
  EXPECT_TRUE(later);
  s.synchronize();
}

TEST_F(cpu_stream_test, an_error_in_run_now_goes_to_its_caller_alone) {
  const stream s = device_.make_stream();
  EXPECT_THROW(device_.invoke_in_order(s, [] { throw error("mine"); }), error);
  s.synchronize();
}

TEST_F(cpu_stream_test, run_now_waits_for_earlier_work_and_later_work_waits_for_it) {
  const stream s = closed();
  std::vector<int> order;
  device_.enqueue(s, [&] { order.push_back(1); });
  std::thread caller([&] { device_.invoke_in_order(s, [&] { order.push_back(2); }); });
  open();
  caller.join();
  device_.enqueue(s, [&] { order.push_back(3); });
  s.synchronize();
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST_F(cpu_stream_test, work_may_use_its_own_stream) {
  const stream s = device_.make_stream();
  std::vector<int> order;
  device_.enqueue(s, [&] {
    device_.enqueue(s, [&] { order.push_back(3); });
    device_.invoke_in_order(s, [&] { order.push_back(1); });
    s.synchronize();
    int copied = 0;
    const int two = 2;
    device_.copy(&copied, &two, sizeof(int), s);
    order.push_back(copied);
  });
  s.synchronize();
  s.synchronize();  // the work that was enqueued by work
  EXPECT_EQ(order, (std::vector{1, 2, 3}));
}

TEST_F(cpu_stream_test, threads_that_share_a_stream_lose_no_work) {
  const stream s = device_.make_stream();
  int count = 0;  // not atomic: the stream is what keeps the increments apart
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        if (i % 3 == 0) {
          device_.invoke_in_order(s, [&] { ++count; });
        } else {
          device_.enqueue(s, [&] { ++count; });
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  s.synchronize();
  EXPECT_EQ(count, 2000);
}

TEST_F(cpu_stream_test, memory_freed_while_work_is_queued_stays_until_the_work_is_done) {
  const stream s = closed();
  const std::size_t n = std::size_t{1} << 20;
  std::optional<buffer<std::uint64_t>> b(std::in_place, device_, n, s);
  std::uint64_t* const p = b->data();
  std::uint64_t sum = 0;
  device_.enqueue(s, [=, &sum] {
    for (std::size_t i = 0; i < n; ++i) p[i] = i;
    for (std::size_t i = 0; i < n; ++i) sum += p[i];
  });
  b.reset();
  const buffer<std::uint64_t> other(device_, n);  // of the same size: would be the same block, had it been freed
  EXPECT_NE(other.data(), p);
  open();
  s.synchronize();
  EXPECT_EQ(sum, std::uint64_t{n} * (n - 1) / 2);
}

TEST_F(cpu_stream_test, dropping_the_last_handle_finishes_the_work_first) {
  std::atomic<int> done = 0;
  {
    const stream s = closed();
    for (int i = 0; i < 50; ++i) device_.enqueue(s, [&] { ++done; });
    open();
  }
  EXPECT_EQ(done, 50);
}

TEST_F(cpu_stream_test, work_may_hold_the_last_handle_of_its_own_stream) {
  std::promise<void> after;
  auto finished = after.get_future();
  {
    stream s = closed();
    auto held = std::make_unique<stream>(s);
    device_.enqueue(s, [handle = std::shared_ptr<stream>(std::move(held))] {});
    device_.enqueue(s, [&after] { after.set_value(); });
    s = {};  // the stream now lives in its own queue only
    open();
  }
  finished.wait();
}

TEST_F(cpu_stream_test, work_uses_all_threads_of_the_device) {
  const stream s = device_.make_stream();
  std::vector<std::uint64_t> out(100000);
  device_.enqueue(s, [&] { cpu_backend(device_).for_each(out.size(), [&](std::size_t i) { out[i] = i + 1; }); });
  s.synchronize();
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i + 1);
}

}  // namespace
}  // namespace espalier::test
