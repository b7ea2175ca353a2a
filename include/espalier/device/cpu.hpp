// cpu.hpp - cpu_backend: parallel loops, sort and scan of a CPU device, for index owners. This header does not include
// oneTBB.
//
// Every method blocks until its work is done and uses no stream. Owners order the work with device.enqueue
// (asynchronous) or device.invoke_in_order (in the calling thread):
//
//   d.invoke_in_order(s, [&] { cpu_backend(d).for_each(n, [&](std::size_t i) { out[i] = in[i] + 1; }); });
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/core/config.hpp"
#include "espalier/device/device.hpp"

namespace espalier {

/// Loops, sort and scan over the threads of a CPU device. Thread-safe: all methods are const and may run concurrently.
class cpu_backend {
 public:
  /// Throws `error` if `dev` is not a CPU device.
  explicit cpu_backend(const device& dev);
  [[nodiscard]] const device& get_device() const noexcept { return device_; }
  [[nodiscard]] unsigned threads() const noexcept { return threads_; }

  /// Calls body(i) for each i in [0, n), in no particular order, on all threads; for n <= grain in the calling thread
  /// only. All calls share one copy of `body`. An exception of a body is rethrown after the running pieces have ended.
  template <class Body>
  void for_each(std::size_t n, Body body, std::size_t grain = 1024) const {
    for_each_chunk(n, grain, [&body](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i) body(i);
    });
  }

  /// Calls body(first, last) for pieces of [0, n), in no particular order. A piece starts at a multiple of `grain` and
  /// is one or more grains long, except the last. With one thread there is one piece.
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

  /// Calls body(team, i) for each i in [0, n). Each thread is a team (scalar_team or simd_thread).
  template <class Team, class Body>
  void for_each_team(std::size_t n, Body body, std::size_t grain = 1024) const {
    for_each(
        n, [&body](std::size_t i) { body(Team{}, i); }, grain);
  }

  /// Stable radix sort by bits [begin_bit, end_bit) of the unsigned keys; values follow their keys. Returns true if the
  /// result is in keys_alt and values_alt. Preconditions: `value_bytes` is 0, 4, 8 or 16; all four arrays have n
  /// aligned elements, and are overwritten; the value arrays may be null if value_bytes is 0. Throws out_of_memory,
  /// before anything changes, for about 100 KiB of scratch memory per thread.
  template <class Word>
  [[nodiscard]] bool sort_pairs(Word* keys, Word* keys_alt, void* values, void* values_alt, unsigned value_bytes,
                                std::size_t n, unsigned begin_bit, unsigned end_bit) const;

  /// out[i] = in[0] + ... + in[i - 1], with wrap-around on overflow. in == out is allowed. T: u64, i64, int128.
  template <class T>
  void exclusive_scan(const T* in, T* out, std::size_t n) const;

 private:
  void run(std::size_t n, std::size_t grain, void (*piece)(void*, std::size_t, std::size_t), void* context) const;

  device device_;
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
