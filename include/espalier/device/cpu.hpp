// cpu.hpp - cpu_backend: the compile-time side of a CPU device, for index owners. oneTBB stays out of this header.
//
// Everything here runs before it returns, in the calling thread and in the device's other threads; it knows no
// streams. Owners put it in order with device.enqueue (asynchronous) or device.run_now (in the calling thread):
//
//   d.run_now(s, [&] { cpu_backend(d).for_each(n, [&](std::size_t i) { out[i] = in[i] + 1; }); });
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/core/config.hpp"
#include "espalier/device/device.hpp"

namespace espalier {

class cpu_backend {
 public:
  /// Throws `error` if `where` is not a CPU.
  explicit cpu_backend(const device& where);
  [[nodiscard]] const device& where() const noexcept { return where_; }
  [[nodiscard]] unsigned threads() const noexcept { return threads_; }

  /// body(i) for each i in [0, n), in no order, from all threads; up to `grain` of them: in the calling thread alone.
  /// The bodies share one copy of `body`. What a body throws is thrown here, once the running pieces have ended.
  template <class Body>
  void for_each(std::size_t n, Body body, std::size_t grain = 1024) const {
    for_each_chunk(n, grain, [&body](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) body(i);
    });
  }

  /// body(first, last) for pieces of [0, n), in no order. A piece starts at a multiple of `grain` and is one or more
  /// grains long, but for the last. With one thread there is one piece.
  template <class Body>
  void for_each_chunk(std::size_t n, std::size_t grain, Body body) const {
    if (n == 0) return;
    if (n <= grain || threads_ == 1) {
      body(std::size_t{0}, n);
      return;
    }
    run(
        n, grain, [](void* b, std::size_t first, std::size_t last) { (*static_cast<Body*>(b))(first, last); }, &body);
  }

  /// body(team, i) for each i in [0, n): each thread is a team (scalar_team or simd_thread).
  template <class Team, class Body>
  void for_each_team(std::size_t n, Body body, std::size_t grain = 1024) const {
    for_each(
        n, [&body](std::size_t i) { body(Team{}, i); }, grain);
  }

  /// Stable sort by bits [begin_bit, end_bit) of the keys, unsigned; `value_bytes` is 0, 4, 8 or 16 and the values
  /// follow their keys. All four arrays hold n elements, aligned to their element, and are overwritten; the value
  /// arrays may be null if value_bytes is 0. Returns true if the result lies in keys_alt and values_alt.
  /// Takes some 100 KiB of scratch memory per thread from the device's pool before it changes anything.
  template <class Word>
  [[nodiscard]] bool sort_pairs(Word* keys, Word* keys_alt, void* values, void* values_alt, unsigned value_bytes,
                                std::size_t n, unsigned begin_bit, unsigned end_bit) const;

  /// out[i] = in[0] + ... + in[i - 1], wrapping around on overflow. in == out is allowed. T: u64, i64, int128.
  template <class T>
  void exclusive_scan(const T* in, T* out, std::size_t n) const;

 private:
  void run(std::size_t n, std::size_t grain, void (*piece)(void*, std::size_t, std::size_t), void* context) const;

  device where_;
  unsigned threads_;
};

extern template bool cpu_backend::sort_pairs(std::uint32_t*, std::uint32_t*, void*, void*, unsigned, std::size_t,
                                             unsigned, unsigned) const;
extern template bool cpu_backend::sort_pairs(std::uint64_t*, std::uint64_t*, void*, void*, unsigned, std::size_t,
                                             unsigned, unsigned) const;
extern template void cpu_backend::exclusive_scan(const std::uint64_t*, std::uint64_t*, std::size_t) const;
extern template void cpu_backend::exclusive_scan(const std::int64_t*, std::int64_t*, std::size_t) const;
extern template void cpu_backend::exclusive_scan(const int128*, int128*, std::size_t) const;

}  // namespace espalier
