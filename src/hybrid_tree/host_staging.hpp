// host_staging.hpp - what both kinds of buckets do with their slots, and how a caller's memory gets to a device and
// back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "device/device_impl.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/device/cpu.hpp"
#include "espalier/hybrid_tree/options.hpp"

namespace espalier::detail {

/// By all threads of the host.
inline void copy_on_host(const cpu_backend& host, void* to, const void* from, std::size_t bytes) {
  host.for_each_chunk(bytes, std::size_t{1} << 16, [=](std::size_t first, std::size_t last) {
    std::memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first, last - first);
  });
}

inline void widen_on_host(const cpu_backend& host, std::uint64_t* to, const std::uint8_t* from, std::size_t n) {
  host.for_each_chunk(n, std::size_t{1} << 14, [=](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) to[i] = from[i];
  });
}

/// A copy in stream order that the caller does not wait for; device::copy does, if the device is a CPU.
inline void copy_later(const device& dev, void* to, const void* from, std::size_t bytes, const stream& order) {
  dev.enqueue(order, [=] { dev.copy(to, from, bytes, order); });
}

/// An array of the caller's on its way: straight where copies run beside everything else, else by way of pinned memory,
/// which is made when first needed and then kept.
class staging_channel {
 public:
  staging_channel(const device& dev, const stream& order) : device_(dev), order_(order) {}

  /// `room`: bytes that a later one may have.
  void up(const cpu_backend& host, void* to, const void* from, std::size_t bytes, host_copies how,
          std::size_t room = 0) {
    if (goes_straight(from, how)) return copy_later(device_, to, from, bytes, order_);
    make_room(bytes, room);
    // The first piece travels while the next one is copied.
    for (std::size_t at = 0; at < bytes; at += piece) {
      const std::size_t part = std::min(piece, bytes - at);
      copy_on_host(host, staged(at), static_cast<const char*>(from) + at, part);
      copy_later(device_, static_cast<char*>(to) + at, staged(at), part, order_);
    }
  }
  /// `to` may be null: nobody wants it. It is there after the stream was waited for and arrive() called.
  void down(void* to, const void* from, std::size_t bytes, host_copies how, std::size_t room = 0) {
    to_ = nullptr;
    if (to == nullptr || bytes == 0) return;
    if (goes_straight(to, how)) return copy_later(device_, to, from, bytes, order_);
    make_room(bytes, room);
    copy_later(device_, staged(0), from, bytes, order_);
    to_ = to;
    bytes_ = bytes;
    is_narrow_ = false;
  }
  /// Counts that fit into bytes travel as such: the bus is slower than a host that widens them.
  void down_narrow(std::uint64_t* to, const std::uint8_t* from, std::size_t n, std::size_t room) {
    to_ = nullptr;
    if (n == 0) return;
    make_room(n, room);
    copy_later(device_, staged(0), from, n, order_);
    to_ = to;
    bytes_ = n;
    is_narrow_ = true;
  }
  void arrive(const cpu_backend& host) const {
    if (to_ == nullptr) return;
    if (!is_narrow_) return copy_on_host(host, to_, staged(0), bytes_);
    widen_on_host(host, static_cast<std::uint64_t*>(to_), reinterpret_cast<const std::uint8_t*>(staged(0)), bytes_);
  }

 private:
  static constexpr std::size_t piece = std::size_t{1} << 23;

  [[nodiscard]] bool goes_straight(const void* p, host_copies how) const {
    return how == host_copies::automatic && device_.is_pinned(p);
  }
  [[nodiscard]] char* staged(std::size_t at) const { return static_cast<char*>(pinned_.data()) + at; }
  void make_room(std::size_t bytes, std::size_t room) {
    if (pinned_.bytes() >= bytes) return;
    pinned_ = raw_buffer();  // before there is more
    pinned_ = raw_buffer(device_.with_pool(device_.host_pool()), std::max(bytes, room), order_);
  }

  device device_;
  stream order_;
  raw_buffer pinned_;
  void* to_ = nullptr;  ///< where what is staged has to go in the end
  std::size_t bytes_ = 0;
  bool is_narrow_ = false;  ///< a byte for each of its words
};

/// Until all work of a slot is done, or failed, which it throws. Windows take milliseconds, so the thread sleeps.
inline void wait_blocking(const stream& order) { order.state()->synchronize_blocking(); }

/// After an error, which is known already: what is enqueued comes to an end, well or not.
inline void drain(const stream& order) noexcept {
  try {
    order.synchronize();
  } catch (...) {
  }
}
template <class Slots>
void drain(const Slots& slots) noexcept {
  for (const auto& at : slots) drain(at.order);
}

}  // namespace espalier::detail
