// paged_pool.cpp - see paged_pool.hpp.
#include "device/paged_pool.hpp"

#include <algorithm>
#include <utility>

#include "device/system.hpp"

namespace espalier::detail {

paged_pool::paged_pool(std::shared_ptr<memory_pool> leaves, std::shared_ptr<memory_pool> others)
    : leaves_(std::move(leaves)), others_(std::move(others)) {}

void* paged_pool::allocate_for(memory_use use, std::size_t bytes, const stream& s) {
  void* const p = source(use).allocate_for(use, bytes, s);
  try {
    const std::lock_guard lock(mutex_);
    live_.emplace(p, block{bytes, use});
  } catch (...) {
    source(use).deallocate(p, bytes, s);
    throw;
  }
  return p;
}

void paged_pool::deallocate(void* p, std::size_t bytes, const stream& s) noexcept {
  memory_use use = memory_use::any;
  {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(p);
    if (found == live_.end()) return;  // not ours
    use = found->second.use;
    live_.erase(found);  // first: when it is back, another thread may be given the same address
  }
  source(use).deallocate(p, bytes, s);
}

paged_pool::census paged_pool::count() const {
  const std::vector<mapped_stretch> stretches = mapped_stretches();
  census seen;
  const std::lock_guard lock(mutex_);
  for (const auto& [p, b] : live_) {
    part& to = b.use == memory_use::leaves ? seen.leaves : seen.others;
    to.bytes += b.bytes;
    const auto first = reinterpret_cast<std::uintptr_t>(p), last = first + b.bytes;
    auto at = std::upper_bound(stretches.begin(), stretches.end(), first,
                               [](std::uintptr_t x, const mapped_stretch& m) { return x < m.last; });
    for (; at != stretches.end() && at->first < last; ++at) {
      const auto common = static_cast<double>(std::min(last, at->last) - std::max(first, at->first));
      to.huge +=
          static_cast<std::size_t>(common / static_cast<double>(at->last - at->first) * static_cast<double>(at->huge));
    }
  }
  return seen;
}

}  // namespace espalier::detail
