#include "host_memory/failing_new.hpp"

#include <dlfcn.h>
#include <execinfo.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string_view>

namespace espalier::test {
namespace {

std::atomic<std::size_t> calls{0}, failing{0};
std::atomic<const char*> spared_library{nullptr};

std::string_view library_of(void* address) {
  Dl_info info;
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return {};
  const std::string_view path(info.dli_fname);
  return path.substr(path.rfind('/') + 1);
}

// The caller is the first frame outside of this file and of the C++ library, whose containers call for others.
bool is_spared() {
  const std::string_view spared(spared_library);
  std::array<void*, 24> frames{};
  const auto count = static_cast<std::size_t>(backtrace(frames.data(), static_cast<int>(frames.size())));
  const std::string_view own = library_of(reinterpret_cast<void*>(&is_spared));
  std::size_t at = 0;
  while (at < count && library_of(frames[at]) == own) ++at;
  while (at < count && library_of(frames[at]).starts_with("libstdc++")) ++at;
  return at < count && at < 6 && library_of(frames[at]).starts_with(spared);
}

void* allocate(std::size_t bytes, std::size_t alignment) {
  if (std::size_t at = failing; at != 0 && ++calls >= at) {
    // Only the call that turns `failing` off throws.
    const bool spares = spared_library != nullptr && is_spared();
    if (!spares && failing.compare_exchange_strong(at, 0)) throw std::bad_alloc();
  }
  bytes = std::max<std::size_t>(bytes, 1);
  void* const p = alignment <= alignof(std::max_align_t)
                      ? std::malloc(bytes)
                      : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

void fail_new_at(std::size_t k, const char* spared) {
  std::array<void*, 1> frame{};
  if (spared != nullptr) (void)backtrace(frame.data(), 1);  // allocates when it is called first
  spared_library = spared;
  calls = 0;
  failing = k;
}
std::size_t news_since() { return calls; }

}  // namespace espalier::test

// The forms without exceptions and those of arrays call these. Where only one of the two is inlined, GCC takes them for
// a pair that does not match.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return espalier::test::allocate(bytes, 1); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return espalier::test::allocate(bytes, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
