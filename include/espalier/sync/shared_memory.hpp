// shared_memory.hpp - memory that another team may write meanwhile, and the order in which writes become visible.
//
// load_shared and store_shared move one value, with no order to others. On a GPU loads go past L1, which is not coherent.
// On a CPU they are plain moves that the compiler may join into vectors: whoever reads this way must check afterwards
// that nobody wrote (version_latch.hpp). Under ThreadSanitizer they are atomic, so that it reports every access that
// forgot to be one of these; loads are then acquire, because ThreadSanitizer knows no fences.
#pragma once

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

/// Atomic operations on a word, among all teams of one device.
struct shared_word {
  std::uint32_t* p;

  [[nodiscard]] ESPALIER_INLINE std::uint32_t load_acquire() const {
#if defined(__CUDA_ARCH__)
    return cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>(*p).load(cuda::memory_order_acquire);
#else
    return std::atomic_ref<std::uint32_t>(*p).load(std::memory_order_acquire);
#endif
  }
  [[nodiscard]] ESPALIER_INLINE std::uint32_t load_relaxed() const {
#if defined(__CUDA_ARCH__)
    return cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>(*p).load(cuda::memory_order_relaxed);
#else
    return std::atomic_ref<std::uint32_t>(*p).load(ESPALIER_SHARED_ATOMIC ? std::memory_order_acquire
                                                                          : std::memory_order_relaxed);
#endif
  }
  ESPALIER_INLINE void store_release(std::uint32_t x) const {
#if defined(__CUDA_ARCH__)
    cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>(*p).store(x, cuda::memory_order_release);
#else
    std::atomic_ref<std::uint32_t>(*p).store(x, std::memory_order_release);
#endif
  }
  /// Sets bits; what follows in this thread, loads past L1 and stores, becomes visible after it. On a GPU no fence is needed
  /// for that: the old value has come back from L2, where everybody sees the new one, before a branch on it lets anything
  /// follow; the compiler alone must not move it.
  ESPALIER_INLINE std::uint32_t fetch_or_first(std::uint32_t bits) const {
#if defined(__CUDA_ARCH__)
    const std::uint32_t old =
        cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>(*p).fetch_or(bits, cuda::memory_order_relaxed);
    asm volatile("" ::: "memory");
#else
    const std::uint32_t old = std::atomic_ref<std::uint32_t>(*p).fetch_or(
        bits, ESPALIER_SHARED_ATOMIC ? std::memory_order_acq_rel : std::memory_order_relaxed);
    fence_both();
#endif
    return old;
  }
  ESPALIER_INLINE void store_relaxed(std::uint32_t x) const {
#if defined(__CUDA_ARCH__)
    asm volatile("" ::: "memory");
    cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>(*p).store(x, cuda::memory_order_relaxed);
#else
    std::atomic_ref<std::uint32_t>(*p).store(x, ESPALIER_SHARED_ATOMIC ? std::memory_order_release
                                                                       : std::memory_order_relaxed);
#endif
  }
  /// Adds 1 if that leaves the word at most at `most`; what it was, or `most`.
  [[nodiscard]] ESPALIER_INLINE std::uint32_t add_one_below(std::uint32_t most) const {
#if defined(__CUDA_ARCH__)
    cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device> word(*p);
    std::uint32_t old = word.load(cuda::memory_order_relaxed);
    while (old < most && !word.compare_exchange_weak(old, old + 1, cuda::memory_order_relaxed)) {
    }
#else
    std::atomic_ref<std::uint32_t> word(*p);
    std::uint32_t old = word.load(std::memory_order_acquire);
    while (old < most && !word.compare_exchange_weak(old, old + 1, std::memory_order_acq_rel)) {
    }
#endif
    return old < most ? old : most;
  }
  ESPALIER_INLINE std::uint32_t fetch_add(std::uint32_t x) const {
#if defined(__CUDA_ARCH__)
    return cuda::atomic_ref<std::uint32_t, cuda::thread_scope_device>(*p).fetch_add(x, cuda::memory_order_relaxed);
#else
    return std::atomic_ref<std::uint32_t>(*p).fetch_add(x, std::memory_order_relaxed);
#endif
  }
};

/// Lets others go first: `turn` counts how often this team has waited.
ESPALIER_INLINE void pause(unsigned turn) {
#if defined(__CUDA_ARCH__)
  __nanosleep(turn < 8 ? 20u << turn : 4000u);
#elif defined(__aarch64__)
  (void)turn;
  asm volatile("yield");
#else
  (void)turn;
  __builtin_ia32_pause();
#endif
}

}  // namespace espalier
