// cpu_pool.hpp - main memory for indexes: huge pages for large blocks, cached for reuse.
//
// Blocks of 2 MiB and more are mapped at 2 MiB boundaries with huge pages requested (or small ones, if configured), and
// are cached in a free list when deallocated: a bulk call that allocates the same scratch memory each time does not
// fault its pages in again (about 0.25 s per GiB with 4 KiB pages). Smaller blocks come from aligned_alloc. No block is
// zeroed.
//
// Invariants:
//   - Memory deallocated in the order of a stream is reused only after the work queued there is done: on a stream
//     with queued work, the deallocation itself is queued. An empty stream means that the block is not in use.
//   - Free blocks never hold more than a quarter of memory, and are unmapped before an allocation is refused.
//   - A request beyond what the system can provide throws out_of_memory instead of triggering the OOM killer.
//     Memory that is allocated but not touched yet is counted as used, as far as this is known (see spare()).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "espalier/device/memory_resource.hpp"

namespace espalier::detail {

/// Page size of large blocks, as far as the system follows the advice.
enum class page_kind : unsigned char { huge, small };

class cpu_pool final : public memory_resource, public std::enable_shared_from_this<cpu_pool> {
 public:
  explicit cpu_pool(std::string name, page_kind pages = page_kind::huge);
  ~cpu_pool() override;
  cpu_pool(const cpu_pool&) = delete;
  cpu_pool& operator=(const cpu_pool&) = delete;

  [[nodiscard]] void* allocate(std::size_t bytes, const stream& s) override;
  void deallocate(void* p, std::size_t bytes, const stream& s) noexcept override;
  [[nodiscard]] memory_info info() const override;

 private:
  void* allocate_large(std::size_t bytes);
  void* take_cached(std::size_t size);
  void* map_new(std::size_t size, std::size_t free);
  void trim() noexcept;
  void release(void* p, std::size_t bytes) noexcept;
  void release_large(void* p) noexcept;
  [[nodiscard]] std::size_t spare(const memory_info& system) const;

  const std::string name_;
  const page_kind pages_;
  const std::size_t cache_limit_;

  mutable std::mutex mutex_;
  std::multimap<std::size_t, void*> cached_;     // free large blocks by size
  std::unordered_map<void*, std::size_t> live_;  // allocated large blocks with their actual size
  std::size_t cached_bytes_ = 0;
  std::size_t live_bytes_ = 0;
};

}  // namespace espalier::detail
