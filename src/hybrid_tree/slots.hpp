// slots.hpp - what both kinds of buckets do with their slots.
#pragma once

#include <cstddef>
#include <cstring>

#include "espalier/device/cpu.hpp"

namespace espalier::detail {

/// By all threads of the host.
inline void copy_on_host(const cpu_backend& host, void* to, const void* from, std::size_t bytes) {
  host.for_each_chunk(bytes, std::size_t{1} << 16, [=](std::size_t first, std::size_t last) {
    std::memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first, last - first);
  });
}

/// After an error, which is known already: what is enqueued for these slots comes to an end, well or not.
template <class Slots>
void let_end(const Slots& slots) noexcept {
  for (const auto& at : slots) {
    try {
      at.order.synchronize();
    } catch (...) {
    }
  }
}

}  // namespace espalier::detail
