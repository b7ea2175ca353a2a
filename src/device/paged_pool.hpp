// paged_pool.hpp - host memory of one index, whose leaves may have other pages than the rest, and what they got.
//
// Invariant: a block goes back to the pool that it came from, and is known here from the moment it is handed out until
// it is given back.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "espalier/device/memory_pool.hpp"

namespace espalier::detail {

class paged_pool final : public memory_pool {
 public:
  paged_pool(std::shared_ptr<memory_pool> leaves, std::shared_ptr<memory_pool> others);

  [[nodiscard]] void* allocate(std::size_t bytes, const stream& s) override {
    return allocate_for(memory_use::any, bytes, s);
  }
  [[nodiscard]] void* allocate_for(memory_use use, std::size_t bytes, const stream& s) override;
  void deallocate(void* p, std::size_t bytes, const stream& s) noexcept override;
  [[nodiscard]] memory_info info() const override { return others_->info(); }

  struct part {
    std::size_t bytes = 0;  ///< handed out
    std::size_t huge = 0;   ///< of those on huge pages: as the system counts them, shared out where blocks lie together
  };
  struct census {
    part leaves, others;
  };
  [[nodiscard]] census count() const;

 private:
  struct block {
    std::size_t bytes;
    memory_use use;
  };
  [[nodiscard]] memory_pool& source(memory_use use) const { return use == memory_use::leaves ? *leaves_ : *others_; }

  const std::shared_ptr<memory_pool> leaves_, others_;
  mutable std::mutex mutex_;
  std::unordered_map<void*, block> live_;
};

}  // namespace espalier::detail
