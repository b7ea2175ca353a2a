// tracking_resource.hpp - host memory of one index, whose leaves may have a different page size, with its page
// statistics.
//
// Invariant: a block is returned to the pool that it came from, and is tracked from its allocation to its deallocation.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "espalier/device/memory_resource.hpp"

namespace espalier::detail {

class tracking_resource final : public memory_resource {
 public:
  tracking_resource(std::shared_ptr<memory_resource> leaves, std::shared_ptr<memory_resource> others);

  [[nodiscard]] void* allocate(std::size_t bytes, const stream& s) override {
    return allocate_with_hint(allocation_hint::any, bytes, s);
  }
  [[nodiscard]] void* allocate_with_hint(allocation_hint use, std::size_t bytes, const stream& s) override;
  void deallocate(void* p, std::size_t bytes, const stream& s) noexcept override;
  [[nodiscard]] memory_info info() const override { return others_->info(); }

  struct part {
    std::size_t bytes = 0;  ///< allocated bytes
    /// Part of them on huge pages, as the system counts them; prorated where blocks share a mapping.
    std::size_t huge = 0;
  };
  struct page_usage {
    part leaves, others;
  };
  [[nodiscard]] page_usage count() const;

 private:
  struct block {
    std::size_t bytes;
    allocation_hint use;
  };
  [[nodiscard]] memory_resource& source(allocation_hint use) const {
    return use == allocation_hint::leaves ? *leaves_ : *others_;
  }

  const std::shared_ptr<memory_resource> leaves_, others_;
  mutable std::mutex mutex_;
  std::unordered_map<void*, block> live_;
};

}  // namespace espalier::detail
