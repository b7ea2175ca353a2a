// shared_memory.hpp - memory that another team may write meanwhile, and the order in which writes become visible.
//
// load_shared and store_shared move one value, with no order to others. On a GPU loads go past L1, which is not coherent.
// On a CPU they are plain moves that the compiler may join into vectors: whoever reads this way must check afterwards
// that nobody wrote (version_latch.hpp). Under ThreadSanitizer they are atomic, so that it reports every access that
// forgot to be one of these; loads are then acquire, because ThreadSanitizer knows no fences.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "espalier/core/config.hpp"

#if ESPALIER_CUDA_COMPILER
#include <cooperative_groups.h>

#include <cuda/atomic>
#endif
#if defined(__SANITIZE_THREAD__)
#define ESPALIER_SHARED_ATOMIC 1
#else
#define ESPALIER_SHARED_ATOMIC 0
#endif

namespace espalier {

namespace detail {

/// A value of 16 bytes, or of a type without atomic operations, as machine words.
template <class T>
inline constexpr bool is_word = std::is_integral_v<T> && sizeof(T) <= 8;

}  // namespace detail

template <class T>
[[nodiscard]] ESPALIER_INLINE T load_shared(const T* p) {
  if constexpr (std::is_empty_v<T>) {
    return {};
  } else {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(T) == 16) {
      const uint4 x = __ldcg(reinterpret_cast<const uint4*>(p));
      T t;
      memcpy(&t, &x, 16);
      return t;
    } else if constexpr (sizeof(T) == 8) {
      const auto x = __ldcg(reinterpret_cast<const unsigned long long*>(p));
      T t;
      memcpy(&t, &x, 8);
      return t;
    } else {
      return __ldcg(p);
    }
#elif ESPALIER_SHARED_ATOMIC
    if constexpr (detail::is_word<T>) {
      return std::atomic_ref<T>(*const_cast<T*>(p)).load(std::memory_order_acquire);
    } else {
      static_assert(sizeof(T) % 8 == 0);
      std::uint64_t words[sizeof(T) / 8];
      auto* from = reinterpret_cast<std::uint64_t*>(const_cast<T*>(p));
      for (unsigned i = 0; i < sizeof(T) / 8; ++i)
        words[i] = std::atomic_ref<std::uint64_t>(from[i]).load(std::memory_order_acquire);
      T t;
      std::memcpy(&t, words, sizeof(T));
      return t;
    }
#else
    return *p;
#endif
  }
}

template <class T>
ESPALIER_INLINE void store_shared(T* p, const T& x) {
  if constexpr (!std::is_empty_v<T>) {
#if !defined(__CUDA_ARCH__) && ESPALIER_SHARED_ATOMIC
    if constexpr (detail::is_word<T>) {
      std::atomic_ref<T>(*p).store(x, std::memory_order_relaxed);
    } else {
      static_assert(sizeof(T) % 8 == 0);
      std::uint64_t words[sizeof(T) / 8];
      std::memcpy(words, &x, sizeof(T));
      auto* to = reinterpret_cast<std::uint64_t*>(p);
      for (unsigned i = 0; i < sizeof(T) / 8; ++i)
        std::atomic_ref<std::uint64_t>(to[i]).store(words[i], std::memory_order_relaxed);
    }
#else
    *p = x;
#endif
  }
}

/// The line at p will soon be asked for, past L1: brings it to L2. A CPU's core does that by itself.
ESPALIER_INLINE void prefetch_shared([[maybe_unused]] const void* p) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#endif
}

/// Loads before it are done before loads and stores after it.
ESPALIER_INLINE void fence_acquire() {
#if defined(__CUDA_ARCH__)
  cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
#elif !ESPALIER_SHARED_ATOMIC
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
}
/// In both directions.
ESPALIER_INLINE void fence_both() {
#if defined(__CUDA_ARCH__)
  cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_device);
#elif !ESPALIER_SHARED_ATOMIC
  std::atomic_thread_fence(std::memory_order_acq_rel);
#endif
}

/// Atomic operations on a word of 4 or 8 bytes, among all teams of one device.
template <class T>
struct shared_word {
  T* p;

  [[nodiscard]] ESPALIER_INLINE T load_acquire() const {
#if defined(__CUDA_ARCH__)
    return cuda::atomic_ref<T, cuda::thread_scope_device>(*p).load(cuda::memory_order_acquire);
#else
    return std::atomic_ref<T>(*p).load(std::memory_order_acquire);
#endif
  }
  [[nodiscard]] ESPALIER_INLINE T load_relaxed() const {
#if defined(__CUDA_ARCH__)
    return cuda::atomic_ref<T, cuda::thread_scope_device>(*p).load(cuda::memory_order_relaxed);
#else
    return std::atomic_ref<T>(*p).load(ESPALIER_SHARED_ATOMIC ? std::memory_order_acquire
                                                              : std::memory_order_relaxed);
#endif
  }
  ESPALIER_INLINE void store_release(T x) const {
#if defined(__CUDA_ARCH__)
    cuda::atomic_ref<T, cuda::thread_scope_device>(*p).store(x, cuda::memory_order_release);
#else
    std::atomic_ref<T>(*p).store(x, std::memory_order_release);
#endif
  }
  /// Sets bits; what follows in this thread, loads past L1 and stores, becomes visible after it. On a GPU no fence is needed
  /// for that: the old value has come back from L2, where everybody sees the new one, before a branch on it lets anything
  /// follow; the compiler alone must not move it.
  ESPALIER_INLINE T fetch_or_first(T bits) const {
#if defined(__CUDA_ARCH__)
    const T old = cuda::atomic_ref<T, cuda::thread_scope_device>(*p).fetch_or(bits, cuda::memory_order_relaxed);
    asm volatile("" ::: "memory");
#else
    const T old = std::atomic_ref<T>(*p).fetch_or(
        bits, ESPALIER_SHARED_ATOMIC ? std::memory_order_acq_rel : std::memory_order_relaxed);
    fence_both();
#endif
    return old;
  }
  /// Frees what was only read. On a GPU those reads are done: a header comes in one piece, and a branch on it came before.
  ESPALIER_INLINE void store_after_reads(T x) const {
#if defined(__CUDA_ARCH__)
    store_relaxed(x);
#else
    store_release(x);
#endif
  }
  ESPALIER_INLINE void store_relaxed(T x) const {
#if defined(__CUDA_ARCH__)
    asm volatile("" ::: "memory");
    cuda::atomic_ref<T, cuda::thread_scope_device>(*p).store(x, cuda::memory_order_relaxed);
#else
    std::atomic_ref<T>(*p).store(x, ESPALIER_SHARED_ATOMIC ? std::memory_order_release : std::memory_order_relaxed);
#endif
  }
  ESPALIER_INLINE T fetch_add(T x) const {
#if defined(__CUDA_ARCH__)
    return cuda::atomic_ref<T, cuda::thread_scope_device>(*p).fetch_add(x, cuda::memory_order_relaxed);
#else
    return std::atomic_ref<T>(*p).fetch_add(x, std::memory_order_acq_rel);
#endif
  }
  /// The word becomes x if that is more; what it was.
  ESPALIER_INLINE T fetch_max(T x) const {
#if defined(__CUDA_ARCH__)
    return cuda::atomic_ref<T, cuda::thread_scope_device>(*p).fetch_max(x, cuda::memory_order_relaxed);
#else
    T seen = std::atomic_ref<T>(*p).load(std::memory_order_acquire);
    while (seen < x && !std::atomic_ref<T>(*p).compare_exchange_weak(seen, x, std::memory_order_acq_rel)) {
    }
    return seen;
#endif
  }
  /// fetch_add(1), for a word that many teams ask at once: those that happen to ask together share one access.
  ESPALIER_INLINE T fetch_one() const {
#if defined(__CUDA_ARCH__)
    const auto together = cooperative_groups::coalesced_threads();
    T first{};
    if (together.thread_rank() == 0) first = fetch_add(static_cast<T>(together.size()));
    return together.shfl(first, 0) + together.thread_rank();
#else
    return fetch_add(1);
#endif
  }
  /// Sets the word to x if it is `expected`; otherwise `expected` becomes what it is.
  [[nodiscard]] ESPALIER_INLINE bool exchange(T& expected, T x) const {
#if defined(__CUDA_ARCH__)
    return cuda::atomic_ref<T, cuda::thread_scope_device>(*p).compare_exchange_strong(expected, x,
                                                                                      cuda::memory_order_acq_rel);
#else
    return std::atomic_ref<T>(*p).compare_exchange_strong(expected, x, std::memory_order_acq_rel);
#endif
  }
};
template <class T>
shared_word(T*) -> shared_word<T>;

/// Lets others go first: `turn` counts how often this team has waited. A thread that waits for long waits for one
/// that has lost its processor, and gives its own away: with more threads than processors it would spin in vain.
ESPALIER_INLINE void pause(unsigned turn) {
#if defined(__CUDA_ARCH__)
  __nanosleep(turn < 8 ? 20u << turn : 4000u);
#else
  if (turn >= 64) {
    sched_yield();
    return;
  }
#if defined(__aarch64__)
  asm volatile("yield");
#else
  __builtin_ia32_pause();
#endif
#endif
}

}  // namespace espalier
