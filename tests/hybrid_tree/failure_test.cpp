// failure_test.cpp - a device that fails in the middle of a call, or is busy: no answer is lost, nobody waits who need
// not, and the device is used again when it can be.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "device/cpu_device.hpp"
#include "espalier/hybrid_tree/hybrid_tree.hpp"
#include "espalier/static_tree/static_tree.hpp"
#include "hybrid_tree/inner_levels.hpp"
#include "hybrid_tree/work_sharing.hpp"
#include "support/failing_pool.hpp"
#include "support/hybrid_layouts.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

using key_list = std::vector<std::uint64_t>;
using u64_tree = hybrid_tree<std::uint64_t, std::uint64_t>;

/// Key i is 3 * i, and so is its value.
key_list every_third(std::size_t n) {
  key_list keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = 3 * i;
  return keys;
}

/// Every key and the two beside it.
void expect_finds(const u64_tree& tree, std::size_t n, const hybrid_query_options& how) {
  key_list keys(3 * n), values(3 * n, 9);
  std::vector<std::uint8_t> found(3 * n, 9);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = i * 7919 % keys.size();
  tree.find(keys, values, found, how);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    ASSERT_EQ(found[i], keys[i] % 3 == 0 ? 1 : 0) << "key " << keys[i];
    ASSERT_EQ(values[i], keys[i] % 3 == 0 ? keys[i] : 0) << "key " << keys[i];
  }
}

/// A real pool whose door can be shut: who asks for memory then waits until it is opened.
class waiting_pool final : public memory_resource {
 public:
  explicit waiting_pool(std::shared_ptr<memory_resource> upstream) : upstream_(std::move(upstream)) {}
  [[nodiscard]] void* allocate(std::size_t bytes, const stream& s) override {
    {
      std::unique_lock lock(mutex_);
      if (is_shut_) {
        has_visitor_ = true;
        changed_.notify_all();
        changed_.wait(lock, [this] { return !is_shut_; });
      }
    }
    return upstream_->allocate(bytes, s);
  }
  void deallocate(void* p, std::size_t bytes, const stream& s) noexcept override { upstream_->deallocate(p, bytes, s); }
  [[nodiscard]] memory_info info() const override { return upstream_->info(); }

  void shut(bool is_shut) {
    const std::lock_guard lock(mutex_);
    is_shut_ = is_shut;
    changed_.notify_all();
  }
  void wait_for_visitor() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return has_visitor_; });
  }

 private:
  std::shared_ptr<memory_resource> upstream_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_shut_ = false, has_visitor_ = false;
};

class HybridFailure : public testing::TestWithParam<const setting*> {
 protected:
  static hybrid_options options_for(hybrid_layout layout) {
    hybrid_options o;
    o.layout = layout;
    o.bucket = 700;
    o.window = 2500;
    o.threads = 2;
    return o;
  }
  [[nodiscard]] static bool on_gpu() { return GetParam()->dev.kind() == device_kind::cuda; }
};

TEST_P(HybridFailure, TheHostFinishesWhatIsShared) {
  const key_list keys = every_third(9000);
  const hybrid_query_options staged{hybrid_placement::shared, 2, {}, host_copies::staged};
  for (const hybrid_layout layout : layouts) {
    bool failed = true;
    std::size_t k = 0;
    while (failed && ++k < 50) {
      SCOPED_TRACE(to_string(layout) + ", request " + std::to_string(k));
      const auto pool = std::make_shared<failing_pool>(GetParam()->dev.pool());
      {
        auto tree = u64_tree::build(keys, keys, options_for(layout), GetParam()->dev.with_pool(pool));
        pool->fail_at(k);
        expect_finds(tree, keys.size(), staged);
        failed = tree.explain().find("failed") != std::string::npos;
        EXPECT_EQ(tree.stats().last, failed ? hybrid_placement::host_alone : hybrid_placement::shared);
        pool->fail_at(0);
        tree.tune(keys);
        expect_finds(tree, keys.size(), staged);
        EXPECT_EQ(tree.stats().last, hybrid_placement::shared) << "tune() tries again: " << tree.explain();
        if (HasFatalFailure()) return;
      }
      EXPECT_EQ(pool->live_blocks(), 0u);
    }
    if (!on_gpu()) {  // whose pinned memory is from another pool
      EXPECT_GT(k, 1u) << "nothing was asked for";
    }
    EXPECT_LT(k, 50u);
  }
}

TEST_P(HybridFailure, TuningMeasuresOrSaysWhyNot) {
  const key_list keys = every_third(9000);
  for (const hybrid_layout layout : layouts) {
    bool failed = true;
    for (std::size_t k = 1; failed && k < 200; ++k) {
      SCOPED_TRACE(to_string(layout) + ", request " + std::to_string(k));
      const auto pool = std::make_shared<failing_pool>(GetParam()->dev.pool());
      {
        auto tree = u64_tree::build(keys, keys, options_for(layout), GetParam()->dev.with_pool(pool));
        pool->fail_at(k);
        try {
          tree.tune(keys);
          failed = tree.explain().find("failed") != std::string::npos ||
                   tree.explain().find("no leaves") != std::string::npos;
        } catch (const out_of_memory&) {  // for the answers
          failed = true;
        }
        failed = failed && pool->requests() >= k;
        pool->fail_at(0);
        expect_finds(tree, keys.size(), {hybrid_placement::shared});
        tree.tune(keys);
        EXPECT_NE(tree.explain().find("shared "), std::string::npos) << tree.explain();
        EXPECT_EQ(tree.explain().find("failed"), std::string::npos) << tree.explain();
        expect_finds(tree, keys.size(), {hybrid_placement::device_alone});
        if (HasFatalFailure()) return;
      }
      EXPECT_EQ(pool->live_blocks(), 0u);
    }
    EXPECT_FALSE(failed);
  }
}

// Windows take far more memory than inner levels: if there is none for them, inner levels stay.
TEST_P(HybridFailure, WithoutMemoryForWindowsBucketsAreShared) {
  const key_list keys = every_third(9000);
  for (const std::size_t cache : {std::size_t{0}, std::size_t{1} << 20}) {  // the latter has room for all leaves
    bool failed = true;
    std::size_t k = 0;
    while (failed && ++k < 200) {
      SCOPED_TRACE("cache of " + std::to_string(cache) + ", request " + std::to_string(k));
      const auto pool = std::make_shared<failing_pool>(GetParam()->dev.pool());
      hybrid_options o = options_for(hybrid_layout::implicit);
      o.leaf_cache = cache;
      auto tree = u64_tree::build(keys, keys, o, GetParam()->dev.with_pool(pool));
      pool->fail_at(k);
      expect_finds(tree, keys.size(), {hybrid_placement::device_alone});
      failed = tree.stats().last != hybrid_placement::device_alone;
      pool->fail_at(0);
      expect_finds(tree, keys.size(), {hybrid_placement::device_alone});
      EXPECT_EQ(tree.stats().last, failed ? hybrid_placement::shared : hybrid_placement::device_alone);
      if (failed) {
        EXPECT_NE(tree.explain().find("The device reads no leaves: "), std::string::npos) << tree.explain();
      }
      tree.tune(keys);
      expect_finds(tree, keys.size(), {hybrid_placement::device_alone});
      EXPECT_EQ(tree.stats().last, hybrid_placement::device_alone) << "tune() tries again";
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(k, 1u) << "nothing was asked for";
    EXPECT_LT(k, 200u);
  }
}

TEST_P(HybridFailure, WhatCannotBeHadIsNotMeasured) {
  const key_list keys = every_third(40000);
  hybrid_options o = options_for(hybrid_layout::implicit);
  // Inner levels and buckets, and not a byte for windows.
  o.gpu_memory = u64_tree::build(keys, keys, o, GetParam()->dev).stats().device_bytes;
  auto tree = u64_tree::build(keys, keys, o, GetParam()->dev);
  tree.tune(keys);
  const std::string text = tree.explain();
  EXPECT_NE(text.find("shared "), std::string::npos) << text;
  EXPECT_EQ(text.find("both"), std::string::npos) << text;
  EXPECT_EQ(text.find("device_alone"), std::string::npos) << text;
  EXPECT_NE(text.find("The device reads no leaves: there is no room"), std::string::npos) << text;
  EXPECT_LE(tree.stats().device_bytes, o.gpu_memory);
  expect_finds(tree, keys.size(), {hybrid_placement::both});
  EXPECT_EQ(tree.stats().last, hybrid_placement::shared);
}

TEST_P(HybridFailure, AShortCallDoesNotWaitForALongOne) {
  const key_list keys = every_third(9000);
  const auto pool = std::make_shared<waiting_pool>(GetParam()->dev.pool());
  const auto tree = u64_tree::build(keys, keys, options_for(hybrid_layout::implicit), GetParam()->dev.with_pool(pool));
  pool->shut(true);
  auto long_call =
      std::async(std::launch::async, [&] { expect_finds(tree, keys.size(), {hybrid_placement::device_alone}); });
  pool->wait_for_visitor();  // it has the device
  auto short_call = std::async(std::launch::async, [&] {
    const key_list key{6};
    key_list value(1);
    tree.find(key, value, {});
    return value[0] + tree.size();
  });
  const bool is_done = short_call.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
  pool->shut(false);
  EXPECT_TRUE(is_done);
  EXPECT_EQ(short_call.get(), 6 + keys.size());
  long_call.get();
}

// The host's default stream is everybody's who has as many threads: who waits there must not keep a tree from
// answering.
TEST_P(HybridFailure, NobodyWaitsForWhatOthersDoOnTheHost) {
  const key_list keys = every_third(9000);
  const device host = device::cpu(2);
  for (const hybrid_layout layout : layouts) {
    const auto tree = u64_tree::build(keys, keys, options_for(layout), GetParam()->dev);  // whose host has two, too
    std::promise<void> end;
    host.enqueue(host.default_stream(), [ended = end.get_future().share()] { ended.wait(); });
    auto calls = std::async(std::launch::async, [&] {
      expect_finds(tree, keys.size(), {hybrid_placement::host_alone});
      const key_list lo{6};
      key_list count(1);
      tree.count(lo, lo, count);
      return count[0] + tree.size();
    });
    const bool is_done = calls.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
    end.set_value();
    EXPECT_TRUE(is_done) << to_string(layout);
    EXPECT_EQ(calls.get(), 1 + keys.size());
    host.default_stream().synchronize();
  }
}

/// A CPU whose streams can be made slow, as if others used it, too.
class slow_device final : public detail::cpu_device {
 public:
  slow_device() : cpu_device(std::make_shared<detail::cpu_processor>(1), device::cpu().pool()) {}
  void enqueue(detail::stream_impl& s, std::function<void()> work) const override {
    cpu_device::enqueue(s, [pause = pause_.load(), work = std::move(work)] {
      std::this_thread::sleep_for(pause);
      work();
    });
  }
  void pause_before_work(std::chrono::microseconds pause) { pause_ = pause; }

 private:
  std::atomic<std::chrono::microseconds> pause_{};
};

// How many calls that takes is a matter of time; that it happens is not.
TEST(HybridSlowDevice, HasLessToDoUntilItIsFree) {
  const key_list keys = every_third(9000);
  const auto slow = std::make_shared<slow_device>();
  const hybrid_query_options shared{hybrid_placement::shared};
  for (const hybrid_layout layout : layouts) {
    SCOPED_TRACE(to_string(layout));
    hybrid_options o;
    o.layout = layout;
    o.bucket = 256;  // a small part of the pause, however slow the host is
    o.threads = 2;
    const auto tree = u64_tree::build(keys, keys, o, device(slow));
    const auto expect_finds_until = [&](const auto& is_reached) {
      for (unsigned calls = 0; calls < 500 && !is_reached(tree.stats().balance); ++calls) {
        expect_finds(tree, 1000, shared);
        if (testing::Test::HasFatalFailure()) return;
      }
      const load_balance b = tree.stats().balance;
      EXPECT_TRUE(is_reached(b)) << "balance " << b.levels << ", " << b.share;
    };
    EXPECT_EQ(tree.stats().balance, load_balance{});
    slow->pause_before_work(std::chrono::milliseconds(2));
    expect_finds_until([](const load_balance& b) { return b.levels == detail::inner_level_count; });
    slow->pause_before_work({});
    expect_finds_until([](const load_balance& b) { return b.levels < detail::inner_level_count; });
  }
}

TEST_P(HybridFailure, ValidationSeesInnerLevelsOfAnotherTree) {
  const device host = device::cpu(2);
  const key_list keys = every_third(30000);
  key_list others = keys;
  key_list more = keys;
  more.push_back(1000000);
  const auto upper = [](const auto& tree) { return tree.untyped().upper(); };
  using static_type = static_tree<std::uint64_t, std::uint64_t>;
  const auto tree = static_type::build(keys, keys, {}, host), longer = static_type::build(more, more, {}, host);
  const auto levels = detail::copy_inner_levels(GetParam()->dev, upper(tree), detail::inner_room::growing);
  EXPECT_TRUE(levels->is_copy_of(upper(tree)));
  EXPECT_FALSE(levels->is_copy_of(upper(longer)));
  for (std::size_t i = 0; i < others.size(); ++i) others[i] = 5 * i;  // as many, elsewhere
  EXPECT_FALSE(levels->is_copy_of(upper(static_type::build(others, others, {}, host))));
}

INSTANTIATE_TEST_SUITE_P(, HybridFailure, testing::ValuesIn(host_span_settings()), setting_name{});

}  // namespace
}  // namespace espalier::test
