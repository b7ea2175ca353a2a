// lent_test.cpp - a ref that is lent between the call of a write and its turn holds, and the size may be asked at any
// time.
#include <functional>
#include <future>
#include <memory>
#include <optional>

#include "blink_concurrency/common.hpp"
#include "espalier/blink_tree/visit.hpp"
#include "support/setting.hpp"

namespace espalier::test {
namespace {

using lent_tree = blink_tree<std::uint32_t, std::uint32_t>;

[[nodiscard]] array<std::uint32_t> numbers(std::uint32_t first, std::uint32_t step, std::size_t n) {
  array<std::uint32_t> keys(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = first + step * static_cast<std::uint32_t>(i);
  return keys;
}

/// A stream that stands still until open().
class closed_stream {
 public:
  explicit closed_stream(const device& dev) : order_(dev.make_stream()) {
    dev.enqueue(order_, [gate = gate_.get_future().share()] { gate.wait(); });
  }
  [[nodiscard]] const stream& order() const { return order_; }
  void open() {
    gate_.set_value();
    order_.synchronize();
  }

 private:
  std::promise<void> gate_;
  stream order_;
};

// A write that may choose its way does not merge then: that would free what the ref reads.
TEST(BlinkTreeLent, AWriteThatWasCalledBeforeLeavesTheRefsMemoryAlone) {
  const device cpu = device::cpu(2);
  const array<std::uint32_t> keys = numbers(0, 4, 40000);
  lent_tree tree(cpu);
  tree.insert(keys.span(), keys.span());
  std::size_t n = keys.size();
  while (n < 4000000 && tree.explain(write_op::insert, n).chosen != write_path::bulk) n *= 2;
  ASSERT_EQ(tree.explain(write_op::insert, n).chosen, write_path::bulk) << "no batch is merged";
  const array<std::uint32_t> more = numbers(1, 4, n);
  const std::size_t builds = tree.stats().lane_builds;
  closed_stream s(cpu);
  tree.insert_async(more.span(), more.span(), {}, {}, s.order());
  const auto ref = tree.ref(100);
  s.open();
  EXPECT_EQ(tree.stats().lane_builds, builds) << "the lane that the ref reads was replaced";
  for (std::uint32_t k = 2; k < 400; k += 4) EXPECT_EQ(ref.insert(scalar_team{}, k, k), write_result::inserted);
  for (const std::uint32_t k : more) ASSERT_TRUE(ref.contains(scalar_team{}, k));
  EXPECT_EQ(tree.size(), keys.size() + more.size() + 100);
  EXPECT_TRUE(tree.validate().ok);
}

/// Memory of the CPU; one request for it waits until it is let go on.
class waiting_memory final : public memory_resource {
 public:
  explicit waiting_memory(std::shared_ptr<memory_resource> upstream) : upstream_(std::move(upstream)) {}
  [[nodiscard]] void* allocate(std::size_t bytes, const stream& s) override {
    if (waits_.exchange(false)) {
      arrived.set_value();
      go_on.get_future().wait();
    }
    return upstream_->allocate(bytes, s);
  }
  void deallocate(void* p, std::size_t bytes, const stream& s) noexcept override { upstream_->deallocate(p, bytes, s); }
  [[nodiscard]] memory_info info() const override { return upstream_->info(); }
  void wait_once() { waits_ = true; }
  std::promise<void> arrived, go_on;

 private:
  std::shared_ptr<memory_resource> upstream_;
  std::atomic<bool> waits_ = false;
};

// While a question holds the tree together with others, a ref is asked for, and a find that would like new upper
// levels: who is alone first when the question ends is open, but after the ref was lent nothing is made anew.
TEST(BlinkTreeLent, AFindThatWouldMakeUpperLevelsAnewLooksAgain) {
  for (unsigned round = 0; round < 20 / less_work + 1; ++round) {
    const auto memory = std::make_shared<waiting_memory>(device::cpu(1).pool());
    lent_tree tree(device::cpu(1).with_pool(memory));
    const array<std::uint32_t> keys = numbers(0, 8, 8000), more = numbers(3, 8, 3000);
    tree.insert(keys.span(), keys.span(), {}, {batch_semantics::concurrent, write_path::bulk});
    tree.insert(more.span(), more.span(), {}, {batch_semantics::concurrent, write_path::per_key});
    ASSERT_TRUE(tree.untyped().needs_rebuild());
    std::optional<lent_tree::ref_type> ref;
    std::size_t builds = 0;
    within(generous, [&] {
      memory->wait_once();
      std::thread asker([&] {
        const std::uint32_t lo = 0, hi = 80;
        EXPECT_GE(tree.range({&lo, 1}, {&hi, 1}).keys.size(), 11u);
      });
      memory->arrived.get_future().wait();
      std::thread lender([&] {
        ref.emplace(tree.ref(0));
        builds = tree.stats().lane_builds;
      });
      std::thread finder([&] {
        array<std::uint32_t> values(keys.size());
        array<std::uint8_t> found(keys.size());
        tree.find(keys.span(), values.span(), found.span());
        EXPECT_EQ(std::count(found.begin(), found.end(), 1), static_cast<std::ptrdiff_t>(keys.size()));
      });
      memory->go_on.set_value();
      asker.join();
      lender.join();
      finder.join();
    });
    for (const std::uint32_t k : keys) ASSERT_TRUE(ref->contains(scalar_team{}, k));
    EXPECT_EQ(tree.stats().lane_builds, builds) << "after the ref was lent";
  }
}

// For ThreadSanitizer: these look at what writers change.
TEST(BlinkTreeLent, SizeAndStatsMayBeAskedWhileOthersWrite) {
  for (const setting* s : host_span_settings()) {
    SCOPED_TRACE(s->name);
    const bool on_gpu = s->dev.kind() == device_kind::cuda;
    const std::size_t batch = on_gpu ? 1000 : 100, batches = (on_gpu ? 40 : 400) / less_work;
    lent_tree tree(s->dev);
    std::atomic<unsigned> writers{2};
    in_threads(3, [&](unsigned t) {
      const stream order = s->dev.make_stream();
      if (t == 2) {
        std::size_t before = 0;
        while (writers != 0) {
          const std::size_t now = tree.size();
          EXPECT_GE(now, before);
          const blink_stats stats = tree.stats();
          EXPECT_GE(stats.size, now);
          EXPECT_GE(stats.bytes, stats.leaves * stats.node_bytes);
          before = stats.size;
        }
        return;
      }
      for (std::size_t i = 0; i < batches; ++i) {
        const array<std::uint32_t> keys = numbers(static_cast<std::uint32_t>(i * batch * 2) + t, 2, batch);
        tree.insert(keys.span(), keys.span(), {}, {batch_semantics::concurrent, write_path::per_key}, order);
      }
      --writers;
    });
    EXPECT_EQ(tree.size(), 2 * batch * batches);
    EXPECT_FALSE(tree.empty());
  }
}

// However many read: with std::shared_mutex alone the writer waits until they stop.
TEST(BlinkTreeLent, AWriterIsNotKeptOutByReaders) {
  const device cpu = device::cpu(1);
  const array<std::uint32_t> keys = numbers(0, 2, 4096);
  lent_tree tree(cpu);
  tree.insert(keys.span(), keys.span());
  std::atomic<bool> wrote{false};
  in_threads(5, [&](unsigned t) {
    const stream order = cpu.make_stream();
    if (t == 4) {
      for (std::uint32_t k = 1; k < 21; k += 2) tree.insert({&k, 1}, {&k, 1}, {}, {}, order);
      wrote = true;
      return;
    }
    array<std::uint32_t> values(keys.size());
    array<std::uint8_t> found(keys.size());
    while (!wrote) tree.find(keys.span(), values.span(), found.span(), order);
  });
  EXPECT_EQ(tree.size(), keys.size() + 10);
}

// Work that is enqueued knows the tree, not the object that owns it.
TEST(BlinkTreeLent, AnOwnerMayBeMovedBeforeAVisitThatWasEnqueued) {
  const device cpu = device::cpu(2);
  const array<std::uint32_t> keys = numbers(0, 3, 20000);
  lent_tree tree(cpu);
  tree.insert(keys.span(), keys.span());
  closed_stream s(cpu);
  std::atomic<std::uint64_t> visited{0};
  std::vector<std::uint32_t> doubled(keys.size());
  std::size_t size = 0;
  std::uint64_t sum = 0;
  for_each_async(
      tree, [&](std::uint32_t, std::uint32_t) { ++visited; }, visit_order::any, s.order());
  transform_async(
      tree, std::span(doubled), [](std::uint32_t key, std::uint32_t) { return 2 * key; }, &size, s.order());
  reduce_async(
      tree, &sum, std::uint64_t{0}, [](std::uint32_t key, std::uint32_t) { return std::uint64_t{key}; }, std::plus<>{},
      visit_order::any, s.order());
  const lent_tree moved = std::move(tree);
  s.open();
  EXPECT_EQ(visited, keys.size());
  EXPECT_EQ(size, keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(doubled[i], 2 * keys[i]);
  EXPECT_EQ(sum, std::uint64_t{3} * keys.size() * (keys.size() - 1) / 2);
  EXPECT_EQ(moved.size(), keys.size());
}

}  // namespace
}  // namespace espalier::test
