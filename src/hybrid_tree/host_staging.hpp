// host_staging.hpp - operations on slots that both kinds of buckets share, and the transfer of a caller's memory to a
// device and back.
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

/// Copies by all threads of the host.
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

/// Copies in stream order without blocking the caller; device::copy blocks if the device is a CPU.
inline void copy_later(const device& dev, void* to, const void* from, std::size_t bytes, const stream& order) {
  dev.enqueue(order, [=] { dev.copy(to, from, bytes, order); });
}

/// Transfers one of the caller's arrays: directly if copies are asynchronous, otherwise through pinned memory, which is
/// allocated on first use and then kept.
class staging_channel {
 public:
  staging_channel(const device& dev, const stream& order) : device_(dev), order_(order) {}

  /// `room` is the number of bytes that a later transfer may have.
  void up(const cpu_backend& host, void* to, const void* from, std::size_t bytes, host_copies how,
          std::size_t room = 0) {
    if (goes_straight(from, how)) return copy_later(device_, to, from, bytes, order_);
    make_room(bytes, room);
    // The first piece is transferred while the next one is copied.
    for (std::size_t at = 0; at < bytes; at += piece) {
      const std::size_t part = std::min(piece, bytes - at);
      copy_on_host(host, staged(at), static_cast<const char*>(from) + at, part);
      copy_later(device_, static_cast<char*>(to) + at, staged(at), part, order_);
    }
  }
  /// `to` may be null, if the result is not requested. The result is complete after the stream was synchronised and
  /// arrive() was called.
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
  /// Counts that fit into bytes are transferred as bytes: the bus is slower than a host that widens them.
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
    pinned_ = raw_buffer();  // freed before the larger one is allocated
    pinned_ = raw_buffer(device_.with_pool(device_.host_pool()), std::max(bytes, room), order_);
  }

  device device_;
  stream order_;
  raw_buffer pinned_;
  void* to_ = nullptr;  ///< final destination of staged bytes
  std::size_t bytes_ = 0;
  bool is_narrow_ = false;  ///< each word is transferred as a byte
};

/// Waits until all work of a slot is done; throws if it failed. Windows take milliseconds, so the thread sleeps.
inline void wait_blocking(const stream& order) { order.state()->synchronize_blocking(); }

/// Called after an error that is already known: waits until the enqueued work has ended, successfully or not.
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
