#include "host_memory/failing_new.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>

namespace espalier::test {
namespace {

std::atomic<std::size_t> calls{0}, failing{0};

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (const std::size_t at = failing; at != 0 && ++calls == at) throw std::bad_alloc();
  bytes = std::max<std::size_t>(bytes, 1);
  void* const p = alignment <= alignof(std::max_align_t)
                      ? std::malloc(bytes)
                      : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

void fail_new_at(std::size_t k) {
  calls = 0;
  failing = k;
}
std::size_t news_since() { return calls; }

}  // namespace espalier::test

// The forms without exceptions and those of arrays call these. Where only one of the two is inlined, GCC takes them for a
// pair that does not match.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return espalier::test::allocate(bytes, 1); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return espalier::test::allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
