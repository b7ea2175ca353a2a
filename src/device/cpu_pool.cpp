// cpu_pool.cpp - see cpu_pool.hpp.
#include "device/cpu_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "device/cpu_stream.hpp"
#include "device/system.hpp"
#include "espalier/core/error.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

namespace espalier::detail {

namespace {

constexpr std::size_t huge_page = std::size_t{1} << 21;
constexpr std::size_t cache_line = 64;

constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

// Maps `size` bytes at a 2 MiB boundary; null on failure. mmap aligns only to 4 KiB, so it maps more and unmaps the
// ends.
void* map_aligned(std::size_t size, page_kind pages) {
  const std::size_t mapped = size + huge_page;
  void* const raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  const auto first = reinterpret_cast<std::uintptr_t>(raw);
  const auto aligned = round_up(first, huge_page);
  if (aligned != first) munmap(raw, aligned - first);
  const std::size_t tail = first + mapped - (aligned + size);
  if (tail != 0) munmap(reinterpret_cast<void*>(aligned + size), tail);
  auto* const block = reinterpret_cast<void*>(aligned);
  // Advice only: a system without huge pages refuses, and 4 KiB pages are used.
  madvise(block, size, pages == page_kind::huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
  return block;
}

void unmap(void* block, std::size_t size) noexcept {
  ASAN_UNPOISON_MEMORY_REGION(block, size);
  munmap(block, size);
}

}  // namespace

cpu_pool::cpu_pool(std::string name, page_kind pages)
    : name_(std::move(name)), pages_(pages), cache_limit_(system_memory().total / 4) {}

cpu_pool::~cpu_pool() { trim(); }

void* cpu_pool::allocate(std::size_t bytes, const stream&) {
  if (bytes >= huge_page) return allocate_large(bytes);
  void* const p = std::aligned_alloc(cache_line, round_up(std::max<std::size_t>(bytes, 1), cache_line));
  if (p == nullptr) throw out_of_memory(name_, bytes, info().free);
  return p;
}

void* cpu_pool::allocate_large(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  void* block = bytes <= SIZE_MAX - 2 * huge_page ? take_cached(round_up(bytes, huge_page)) : nullptr;
  if (block == nullptr) {
    // Read once, so that the refused and the reported numbers agree, whatever other processes do meanwhile.
    const std::size_t free = spare(system_memory()) + cached_bytes_;
    if (bytes <= free) block = map_new(round_up(bytes, huge_page), free - cached_bytes_);
    if (block == nullptr) throw out_of_memory(name_, bytes, free);
  }
  ASAN_UNPOISON_MEMORY_REGION(block, bytes);
  ASAN_POISON_MEMORY_REGION(static_cast<char*>(block) + bytes, live_.at(block) - bytes);
  return block;
}

// Maps a new block; null if the system, which has `free` bytes left without the cached ones, refuses.
void* cpu_pool::map_new(std::size_t size, std::size_t free) {
  if (size > free) trim();
  void* block = map_aligned(size, pages_);
  if (block == nullptr && !cached_.empty()) {
    trim();
    block = map_aligned(size, pages_);
  }
  if (block == nullptr) return nullptr;
  try {
    live_.emplace(block, size);
  } catch (...) {
    unmap(block, size);
    return nullptr;
  }
  live_bytes_ += size;
  return block;
}

// Takes the smallest free block that fits and wastes at most an eighth.
void* cpu_pool::take_cached(std::size_t size) {
  const auto found = cached_.lower_bound(size);
  if (found == cached_.end() || found->first > size + size / 8) return nullptr;
  const auto [block_size, block] = *found;
  live_.emplace(block, block_size);
  cached_.erase(found);
  cached_bytes_ -= block_size;
  live_bytes_ += block_size;
  return block;
}

void cpu_pool::trim() noexcept {
  for (const auto& [size, block] : cached_) unmap(block, size);
  cached_.clear();
  cached_bytes_ = 0;
}

void cpu_pool::deallocate(void* p, std::size_t bytes, const stream& s) noexcept {
  if (p == nullptr) return;
  if (auto* const order = dynamic_cast<cpu_stream*>(s.state().get()); order != nullptr && !order->idle()) {
    try {
      order->enqueue([self = shared_from_this(), p, bytes] { self->release(p, bytes); });
      return;
    } catch (...) {  // no memory or thread for the queue: wait instead
    }
    try {
      order->invoke_in_order([] {});
    } catch (...) {  // cannot wait either: leaking the block is the only safe option left
      return;
    }
  }
  release(p, bytes);
}

void cpu_pool::release(void* p, std::size_t bytes) noexcept {
  if (bytes >= huge_page) {
    release_large(p);
  } else {
    std::free(p);
  }
}

void cpu_pool::release_large(void* p) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(p);
  if (found == live_.end()) return;  // not allocated by this pool
  const std::size_t size = found->second;
  live_.erase(found);
  live_bytes_ -= size;
  if (size <= cache_limit_ && cached_bytes_ <= cache_limit_ - size) {
    try {
      cached_.emplace(size, p);
      cached_bytes_ += size;
      ASAN_POISON_MEMORY_REGION(p, size);
      return;
    } catch (...) {  // no memory to remember it: unmap
    }
  }
  unmap(p, size);
}

// Memory that the system still has for new blocks. Linux counts a page as used when it is first touched, so two large
// requests in a row would both pass; blocks of this pool that cannot be resident yet are therefore subtracted. Other
// resident memory of the process hides part of them, so the result errs on the generous side.
std::size_t cpu_pool::spare(const memory_info& system) const {
  const std::size_t held = live_bytes_ + cached_bytes_;
  const std::size_t untouched = held - std::min(held, resident_anonymous_bytes());
  return system.free - std::min(system.free, untouched);
}

memory_info cpu_pool::info() const {
  const memory_info system = system_memory();
  const std::lock_guard lock(mutex_);
  return {std::min(system.total, spare(system) + cached_bytes_), system.total};
}

}  // namespace espalier::detail
