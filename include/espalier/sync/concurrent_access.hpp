// concurrent_access.hpp - access to memory that other teams may write concurrently, and the order in which writes
// become visible.
//
// load_relaxed and store_relaxed move one value and impose no order on other accesses. On a GPU they are ld.relaxed and
// st.relaxed of device scope, which bypass L1, because L1 is not coherent; a 16-byte access is atomic only per 4 bytes.
// On a CPU they are plain moves that the compiler may merge into vector moves: the reader must check afterwards that no
// write was in progress (version_latch.hpp). Under ThreadSanitizer they are atomic, so that ThreadSanitizer reports
// every access that does not use them; loads are then acquire loads, because ThreadSanitizer does not support fences.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "espalier/core/config.hpp"

#if ESPALIER_CUDA_COMPILER
#include <cuda/atomic>
#endif
#if defined(__SANITIZE_THREAD__)
#define ESPALIER_SHARED_ATOMIC 1
#else
#define ESPALIER_SHARED_ATOMIC 0
#endif

namespace espalier {

namespace detail {

/// True if T is an integer for which one atomic access suffices. Other types are accessed as 64-bit words.
template <class T>
inline constexpr bool is_word = std::is_integral_v<T> && sizeof(T) <= 8;

#if ESPALIER_CUDA_COMPILER
// Inline PTX, because libcu++ has no vector accesses. The "memory" clobber keeps the compiler from moving other
// accesses across them, as its atomics do.
template <unsigned Bytes>
__device__ __forceinline__ void load_bytes(void* to, const void* from) {
  const std::size_t p = __cvta_generic_to_global(from);
  if constexpr (Bytes == 16) {
    uint4 x;
    asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w)
                 : "l"(p)
                 : "memory");
    memcpy(to, &x, 16);
  } else if constexpr (Bytes == 8) {
    unsigned long long x;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(x) : "l"(p) : "memory");
    memcpy(to, &x, 8);
  } else if constexpr (Bytes == 4) {
    unsigned x;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    memcpy(to, &x, 4);
  } else if constexpr (Bytes == 2) {
    unsigned short x;
    asm volatile("ld.relaxed.gpu.global.u16 %0, [%1];" : "=h"(x) : "l"(p) : "memory");
    memcpy(to, &x, 2);
  } else {
    static_assert(Bytes == 1);
    unsigned x;
    asm volatile("ld.relaxed.gpu.global.u8 %0, [%1];" : "=r"(x) : "l"(p) : "memory");
    const auto byte = static_cast<unsigned char>(x);
    memcpy(to, &byte, 1);
  }
}
template <unsigned Bytes>
__device__ __forceinline__ void store_bytes(void* to, const void* from) {
  const std::size_t p = __cvta_generic_to_global(to);
  if constexpr (Bytes == 16) {
    uint4 x;
    memcpy(&x, from, 16);
    asm volatile("st.relaxed.gpu.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w)
                 : "memory");
  } else if constexpr (Bytes == 8) {
    unsigned long long x;
    memcpy(&x, from, 8);
    asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(x) : "memory");
  } else if constexpr (Bytes == 4) {
    unsigned x;
    memcpy(&x, from, 4);
    asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(x) : "memory");
  } else if constexpr (Bytes == 2) {
    unsigned short x;
    memcpy(&x, from, 2);
    asm volatile("st.relaxed.gpu.global.u16 [%0], %1;" ::"l"(p), "h"(x) : "memory");
  } else {
    static_assert(Bytes == 1);
    unsigned char byte;
    memcpy(&byte, from, 1);
    asm volatile("st.relaxed.gpu.global.u8 [%0], %1;" ::"l"(p), "r"(unsigned{byte}) : "memory");
  }
}
#endif

}  // namespace detail

template <class T>
[[nodiscard]] ESPALIER_INLINE T load_relaxed(const T* p) {
  if constexpr (std::is_empty_v<T>) {
    return {};
  } else {
#if defined(__CUDA_ARCH__)
    T t;
    detail::load_bytes<sizeof(T)>(&t, p);
    return t;
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
ESPALIER_INLINE void store_relaxed(T* p, const T& x) {
  if constexpr (!std::is_empty_v<T>) {
#if defined(__CUDA_ARCH__)
    detail::store_bytes<sizeof(T)>(p, &x);
#elif ESPALIER_SHARED_ATOMIC
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

/// Prefetches the line at p into L2 for a later load that bypasses L1. A no-op on a CPU, whose
/// out-of-order core issues the load early by itself.
ESPALIER_INLINE void prefetch_shared([[maybe_unused]] const void* p) {
#if defined(__CUDA_ARCH__)
  asm volatile("prefetch.global.L2 [%0];" ::"l"(p));
#endif
}

/// Acquire fence: loads before it complete before the loads and stores after it.
ESPALIER_INLINE void fence_acquire() {
#if defined(__CUDA_ARCH__)
  cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
#elif !ESPALIER_SHARED_ATOMIC
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
}
/// Acquire and release fence.
ESPALIER_INLINE void fence_acq_rel() {
#if defined(__CUDA_ARCH__)
  cuda::atomic_thread_fence(cuda::memory_order_acq_rel, cuda::thread_scope_device);
#elif !ESPALIER_SHARED_ATOMIC
  std::atomic_thread_fence(std::memory_order_acq_rel);
#endif
}

/// The one place where the library relies on more than the PTX memory model guarantees. Between taking a latch and the
/// accesses under it, and between reads under a latch and its release, the model requires an acquire or release fence
/// of device scope, which costs about as much as the rest of an insert. It is omitted because all accesses in question
/// are strong, of device scope, and performed at L2, which all teams of a device share: the result of the atomic, or of
/// the reads, has returned from L2 before the branch on it lets any later access issue, and later accesses cannot
/// overtake it. Only the compiler must be kept from reordering. With ESPALIER_STRICT_FENCES it is the fence that the
/// model requires, to measure its cost and for hardware on which the above is not known to hold.
/// tests/blink_concurrency/litmus_test.cu searches for the forbidden outcomes.
ESPALIER_INLINE void fence_by_dependency() {
#if defined(__CUDA_ARCH__) && !defined(ESPALIER_STRICT_FENCES)
  asm volatile("" ::: "memory");
#else
  fence_acq_rel();
#endif
}

/// Atomic operations on a word of 4 or 8 bytes, atomic among all teams of one device.
template <class T>
struct atomic_word_ref {
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
    return std::atomic_ref<T>(*p).load(ESPALIER_SHARED_ATOMIC ? std::memory_order_acquire : std::memory_order_relaxed);
#endif
  }
  ESPALIER_INLINE void store_release(T x) const {
#if defined(__CUDA_ARCH__)
    cuda::atomic_ref<T, cuda::thread_scope_device>(*p).store(x, cuda::memory_order_release);
#else
    std::atomic_ref<T>(*p).store(x, std::memory_order_release);
#endif
  }
  /// Sets bits and returns the old value. Later load_relaxed and store_relaxed of this thread become visible after it.
  ESPALIER_INLINE T fetch_or_acquire_no_fence(T bits) const {
#if defined(__CUDA_ARCH__)
    const T old = cuda::atomic_ref<T, cuda::thread_scope_device>(*p).fetch_or(bits, cuda::memory_order_relaxed);
#else
    const T old = std::atomic_ref<T>(*p).fetch_or(
        bits, ESPALIER_SHARED_ATOMIC ? std::memory_order_acq_rel : std::memory_order_relaxed);
#endif
    fence_by_dependency();
    return old;
  }
  /// Releases a latch under which nothing was written, if a branch depended on the header that was read.
  ESPALIER_INLINE void store_release_reads_only(T x) const {
#if defined(__CUDA_ARCH__)
    fence_by_dependency();
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
  /// Sets the word to max(word, x) and returns the old value.
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
  /// fetch_add(1) for a contended word. On a GPU, lanes of a warp that increment the same word together share one
  /// atomic.
  ESPALIER_INLINE T fetch_increment_aggregated() const {
#if defined(__CUDA_ARCH__)
    const unsigned same = __match_any_sync(__activemask(), reinterpret_cast<unsigned long long>(p));
    unsigned in_front;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(in_front));
    const unsigned before = __popc(same & in_front);
    T first{};
    if (before == 0) first = fetch_add(static_cast<T>(__popc(same)));
    return __shfl_sync(same, first, __ffs(static_cast<int>(same)) - 1) + before;
#else
    return fetch_add(1);
#endif
  }
  /// Compare-and-swap: sets the word to x if it equals `expected`; otherwise loads the word into `expected`.
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
atomic_word_ref(T*) -> atomic_word_ref<T>;

/// Waits before the next attempt; `turn` counts the attempts so far. A CPU thread that has spun for long yields its
/// processor: the latch holder has probably been descheduled, and with more threads than processors spinning would
/// delay it.
ESPALIER_INLINE void backoff(unsigned turn) {
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
