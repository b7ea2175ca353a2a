// tracking_resource.cpp - see tracking_resource.hpp.
#include "device/tracking_resource.hpp"

#include <algorithm>
#include <utility>

#include "device/system.hpp"

namespace espalier::detail {

tracking_resource::tracking_resource(std::shared_ptr<memory_resource> leaves, std::shared_ptr<memory_resource> others)
    : leaves_(std::move(leaves)), others_(std::move(others)) {}

void* tracking_resource::allocate_with_hint(allocation_hint use, std::size_t bytes, const stream& s) {
  void* const p = source(use).allocate_with_hint(use, bytes, s);
  try {
    const std::lock_guard lock(mutex_);
    live_.emplace(p, block{bytes, use});
  } catch (...) {
    source(use).deallocate(p, bytes, s);
    throw;
  }
  return p;
}

void tracking_resource::deallocate(void* p, std::size_t bytes, const stream& s) noexcept {
  allocation_hint use = allocation_hint::any;
  {
    const std::lock_guard lock(mutex_);
    const auto found = live_.find(p);
    if (found == live_.end()) return;  // not allocated by this resource
    use = found->second.use;
    live_.erase(found);  // erased first: once it is deallocated, another thread may get the same address
  }
  source(use).deallocate(p, bytes, s);
}

tracking_resource::page_usage tracking_resource::count() const {
  const std::vector<memory_mapping> stretches = memory_mappings();
  page_usage seen;
  const std::lock_guard lock(mutex_);
  for (const auto& [p, b] : live_) {
    part& to = b.use == allocation_hint::leaves ? seen.leaves : seen.others;
    to.bytes += b.bytes;
    const auto first = reinterpret_cast<std::uintptr_t>(p), last = first + b.bytes;
    auto at = std::upper_bound(stretches.begin(), stretches.end(), first,
                               [](std::uintptr_t x, const memory_mapping& m) { return x < m.last; });
    for (; at != stretches.end() && at->first < last; ++at) {
      const auto common = static_cast<double>(std::min(last, at->last) - std::max(first, at->first));
      to.huge +=
          static_cast<std::size_t>(common / static_cast<double>(at->last - at->first) * static_cast<double>(at->huge));
    }
  }
  return seen;
}

}  // namespace espalier::detail
