// turns_test.cpp - who may be at a tree beside whom: nobody waits for ever, and streams wait for what they must.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "device/fair_shared_mutex.hpp"
#include "device/stream_dependencies.hpp"
#include "espalier/device/device.hpp"
#include "support/watchdog.hpp"

namespace espalier::test {
namespace {

using detail::fair_shared_mutex;
using detail::stream_dependencies;

// Each reader stays until another one has come, or has had the time to: without a door at least one is always inside,
// and a writer never gets in.
TEST(fair_gate_test, a_writer_gets_in_however_many_readers_there_are) {
  within(std::chrono::seconds(120), [] {
    fair_shared_mutex gate;
    std::atomic<unsigned> inside{0}, entries{0};
    std::atomic<bool> wrote{false};
    std::vector<std::thread> readers;
    for (unsigned t = 0; t < 4; ++t) {
      readers.emplace_back([&] {
        while (!wrote) {
          const auto lock = gate.lock_shared();
          ++inside;
          const unsigned seen = ++entries;
          const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
          while (entries == seen && std::chrono::steady_clock::now() < until) std::this_thread::yield();
          --inside;
        }
      });
    }
    while (entries < 16) std::this_thread::yield();
    for (unsigned i = 0; i < 20; ++i) {
      const auto lock = gate.lock_exclusive();
      EXPECT_EQ(inside, 0u);
    }
    wrote = true;
    for (std::thread& reader : readers) reader.join();
  });
}

TEST(fair_gate_test, readers_get_in_between_writers) {
  within(std::chrono::seconds(120), [] {
    fair_shared_mutex gate;
    std::atomic<bool> read{false};
    std::vector<std::thread> writers;
    for (unsigned t = 0; t < 3; ++t) {
      writers.emplace_back([&] {
        while (!read) const auto lock = gate.lock_exclusive();
      });
    }
    for (unsigned i = 0; i < 20; ++i) const auto lock = gate.lock_shared();
    read = true;
    for (std::thread& writer : writers) writer.join();
  });
}

class stream_turns_test : public testing::Test {
 protected:
  // Work of this stream that waits for open().
  void close(const stream& s) {
    device_.enqueue(s, [gate = gate_.get_future().share()] { gate.wait(); });
  }
  void open() { gate_.set_value(); }
  // A turn of a call that enqueues one piece of work.
  void take(const stream& s, bool writes, std::function<void()> work) {
    const auto turn = turns_.begin(s, writes);
    device_.enqueue(s, std::move(work));
  }

  device device_ = device::cpu(1);
  std::promise<void> gate_;
  stream_dependencies turns_;
};

TEST_F(stream_turns_test, a_write_comes_behind_reads_of_other_streams_and_nobody_waits_on_the_host) {
  const stream reader = device_.make_stream(), writer = device_.make_stream();
  std::atomic<bool> has_read{false}, was_right{false};
  close(reader);
  take(reader, false, [&] { has_read = true; });
  take(writer, true, [&] { was_right = has_read.load(); });  // returns, although the reader stands still
  EXPECT_FALSE(has_read);
  open();
  writer.synchronize();
  EXPECT_TRUE(was_right);
}

TEST_F(stream_turns_test, reads_come_behind_a_write_of_another_stream) {
  const stream reader = device_.make_stream(), writer = device_.make_stream();
  std::atomic<bool> has_written{false}, was_right{false};
  close(writer);
  take(writer, true, [&] { has_written = true; });
  take(reader, false, [&] { was_right = has_written.load(); });
  open();
  reader.synchronize();
  EXPECT_TRUE(was_right);
}

TEST_F(stream_turns_test, a_write_comes_behind_what_an_earlier_one_came_behind) {
  const stream reader = device_.make_stream(), first = device_.make_stream(), second = device_.make_stream();
  std::atomic<bool> has_read{false}, was_right{false};
  close(reader);
  take(reader, false, [&] { has_read = true; });
  take(first, true, [] {});
  take(second, true, [&] { was_right = has_read.load(); });
  open();
  second.synchronize();
  EXPECT_TRUE(was_right);
}

TEST_F(stream_turns_test, reads_do_not_wait_for_each_other) {
  const stream one = device_.make_stream(), other = device_.make_stream();
  close(one);
  take(one, false, [] {});
  std::atomic<bool> has_read{false};
  take(other, false, [&] { has_read = true; });
  other.synchronize();
  EXPECT_TRUE(has_read);
  open();
}

TEST_F(stream_turns_test, a_stream_that_is_gone_is_not_kept) {
  stream reader = device_.make_stream();
  const std::weak_ptr<detail::stream_impl> state = reader.state();
  take(reader, false, [] {});
  EXPECT_EQ(turns_.kept(), 1u);
  reader = {};
  EXPECT_TRUE(state.expired());
  std::atomic<bool> has_written{false};
  const stream writer = device_.make_stream();
  take(writer, true, [&] { has_written = true; });
  writer.synchronize();
  EXPECT_TRUE(has_written);
}

TEST_F(stream_turns_test, one_entry_serves_all_reads_of_a_stream) {
  const stream reader = device_.make_stream();
  close(reader);
  for (unsigned i = 0; i < 100; ++i) take(stream(reader.state()), false, [] {});
  EXPECT_EQ(turns_.kept(), 1u);
  open();
}

TEST_F(stream_turns_test, reads_that_are_over_are_forgotten) {
  std::size_t most = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    const stream reader = device_.make_stream();
    take(reader, false, [] {});
    reader.synchronize();
    most = std::max(most, turns_.kept());
  }
  EXPECT_LE(most, 17u);
}

TEST_F(stream_turns_test, a_call_that_fails_leaves_its_turn) {
  const stream reader = device_.make_stream(), writer = device_.make_stream();
  std::atomic<bool> has_read{false}, was_right{false};
  close(reader);
  try {
    const auto turn = turns_.begin(reader, false);
    device_.enqueue(reader, [&] { has_read = true; });
    throw error("half way");
  } catch (const error&) {
  }
  take(writer, true, [&] { was_right = has_read.load(); });
  open();
  writer.synchronize();
  EXPECT_TRUE(was_right);
}

TEST_F(stream_turns_test, the_end_comes_behind_everything) {
  const stream reader = device_.make_stream(), last = device_.make_stream();
  std::atomic<bool> has_read{false}, was_right{false};
  close(reader);
  take(reader, false, [&] { has_read = true; });
  turns_.wait_for_all(last);
  device_.enqueue(last, [&] { was_right = has_read.load(); });
  open();
  last.synchronize();
  EXPECT_TRUE(was_right);
}

}  // namespace
}  // namespace espalier::test
