// failing_pool.hpp - a real memory resource that counts allocations and fails the k-th one.
//
// Every mutating call is tested with this sweep:
//
//   for (std::size_t k = 1;; ++k) {
//     auto pool = std::make_shared<failing_pool>(d.pool(), k);
//     try { mutate(index_impl(d.with_pool(pool))); } catch (const out_of_memory&) { expect_unchanged(); continue; }
//     break;  // fewer than k allocations: every one has failed once
//   }
//   afterwards: pool->live_blocks() == 0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "espalier/core/error.hpp"
#include "espalier/device/memory_resource.hpp"

namespace espalier::test {

class failing_pool final : public memory_resource {
 public:
  /// fail_at = 1 fails the first allocation; 0 never fails.
  explicit failing_pool(std::shared_ptr<memory_resource> upstream, std::size_t fail_at = 0)
      : upstream_(std::move(upstream)), fail_at_(fail_at) {}

  [[nodiscard]] void* allocate(std::size_t bytes, const stream& s) override {
    if (++requests_ == fail_at_) throw out_of_memory("failing_pool", bytes, 0);
    void* const p = upstream_->allocate(bytes, s);
    ++live_blocks_;
    live_bytes_ += bytes;
    return p;
  }
  void deallocate(void* p, std::size_t bytes, const stream& s) noexcept override {
    --live_blocks_;
    live_bytes_ -= bytes;
    upstream_->deallocate(p, bytes, s);
  }
  [[nodiscard]] memory_info info() const override { return upstream_->info(); }

  /// Fails the k-th allocation from now on; 0 disables failures.
  void fail_at(std::size_t k) {
    requests_ = 0;
    fail_at_ = k;
  }
  [[nodiscard]] std::size_t requests() const { return requests_; }
  [[nodiscard]] std::size_t live_blocks() const { return live_blocks_; }
  [[nodiscard]] std::size_t live_bytes() const { return live_bytes_; }

 private:
  std::shared_ptr<memory_resource> upstream_;
  std::atomic<std::size_t> fail_at_;
  std::atomic<std::size_t> requests_{0};
  std::atomic<std::size_t> live_blocks_{0};
  std::atomic<std::size_t> live_bytes_{0};
};

}  // namespace espalier::test
