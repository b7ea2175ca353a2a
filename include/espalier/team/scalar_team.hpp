// scalar_team.hpp - the reference Team: one thread with plain loops, on the host and on a GPU.
//
// Each function is the shortest implementation of its specification in team.hpp. The other teams are tested against it.
#pragma once

#include <cstring>

#include "espalier/core/config.hpp"
#include "espalier/sync/concurrent_access.hpp"
#include "espalier/team/team.hpp"

namespace espalier {

struct scalar_team {
  static constexpr unsigned batch = 128;  // a CPU thread has to hide memory latency itself

  template <class X, unsigned N>
  struct slots {
    X x[N];
    [[nodiscard]] ESPALIER_INLINE const X* data() const { return x; }
  };
  template <class X, unsigned N>
  struct node_view {
    const X* p;
    [[nodiscard]] ESPALIER_INLINE const X* data() const { return p; }
  };

  [[nodiscard]] ESPALIER_INLINE static constexpr unsigned lanes() { return 1; }

  template <unsigned N, class X>
  [[nodiscard]] ESPALIER_INLINE slots<X, N> load(const X* p) const {
    slots<X, N> s;
    for (unsigned i = 0; i < N; ++i) s.x[i] = p[i];
    return s;
  }
  template <class X, unsigned N>
  ESPALIER_INLINE void store(X* p, const slots<X, N>& s) const {
    for (unsigned i = 0; i < N; ++i) p[i] = s.x[i];
  }
  template <unsigned N, class X>
  [[nodiscard]] ESPALIER_INLINE node_view<X, N> view(const X* p) const {
    return {p};
  }
  template <unsigned N, class X>
  [[nodiscard]] ESPALIER_INLINE slots<X, N> load_relaxed(const X* p) const {
    slots<X, N> s;
    for (unsigned i = 0; i < N; ++i) s.x[i] = espalier::load_relaxed(p + i);
    return s;
  }
  template <class X, unsigned N>
  ESPALIER_INLINE void store_relaxed(X* p, const slots<X, N>& s) const {
    for (unsigned i = 0; i < N; ++i) espalier::store_relaxed(p + i, s.x[i]);
  }
  template <class X, unsigned N, class F>
  ESPALIER_INLINE void for_slots(const slots<X, N>& s, unsigned from, unsigned to, F&& f) const {
    for (unsigned i = from; i < to; ++i) f(i, s.x[i]);
  }
  template <class X, unsigned N>
  [[nodiscard]] ESPALIER_INLINE X own(const slots<X, N>& s, unsigned i) const {
    return s.x[i];
  }
  /// Returns a view in place, or a copy in builds where every access has to be atomic (ThreadSanitizer).
  template <unsigned N, class X>
  [[nodiscard]] ESPALIER_INLINE auto view_relaxed(const X* p) const {
#if ESPALIER_SHARED_ATOMIC
    return load_relaxed<N>(p);
#else
    return node_view<X, N>{p};
#endif
  }
  ESPALIER_INLINE void prefetch([[maybe_unused]] const void* p) const {
#ifndef __CUDA_ARCH__
    __builtin_prefetch(p);
#endif
  }

  ESPALIER_INLINE void stream(void* to, const void* from, std::size_t bytes) const { memcpy(to, from, bytes); }
  ESPALIER_INLINE void fence_nontemporal() const {}

  template <unsigned First, template <class, unsigned> class Node, class X, unsigned N, class Pred>
  [[nodiscard]] ESPALIER_INLINE unsigned count_from(const Node<X, N>& v, Pred pred) const {
#if !ESPALIER_CUDA_COMPILER
    if constexpr (sizeof(X) == 1 && First < N && N % 16 == 0 && N < 256) {
      // Counts whole vectors in byte accumulators. A loop that starts at First would leave half a vector to a loop over
      // single bytes (a count of one element among 2^16 keys takes 30 ns this way and 39 ns that way).
      std::uint8_t all = 0, before = 0;
      for (unsigned i = 0; i < N; ++i) all = static_cast<std::uint8_t>(all + (pred(v.data()[i]) ? 1 : 0));
      for (unsigned i = 0; i < First; ++i) before = static_cast<std::uint8_t>(before + (pred(v.data()[i]) ? 1 : 0));
      return static_cast<std::uint8_t>(all - before);
    }
#endif
    unsigned n = 0;
#if !ESPALIER_CUDA_COMPILER
// The loop is vectorised. If GCC 12.2 -O3 on arm64 unrolls it first, it adds up eight 32-bit compares incorrectly (with
// -fno-tree-slp-vectorize the result is correct); tests/blink_tree has nodes of eight slots.
#pragma GCC unroll 1
#endif
    for (unsigned i = First; i < N; ++i) n += pred(v.data()[i]) ? 1u : 0u;
    return n;
  }
  template <template <class, unsigned> class Node, class X, unsigned N, class Pred>
  [[nodiscard]] ESPALIER_INLINE unsigned count(const Node<X, N>& v, Pred pred) const {
    return count_from<0>(v, pred);
  }
  template <unsigned First, template <class, unsigned> class Node, class X, unsigned N>
  [[nodiscard]] ESPALIER_INLINE unsigned rank(const Node<X, N>& v, std::type_identity_t<X> bound) const {
    return count_from<First>(v, less_than<X>{bound});
  }

  template <template <class, unsigned> class Node, class X, unsigned N>
  [[nodiscard]] ESPALIER_INLINE X get(const Node<X, N>& v, unsigned i) const {
    return v.data()[i];
  }
  template <unsigned I, template <class, unsigned> class Node, class X, unsigned N>
  [[nodiscard]] ESPALIER_INLINE X get(const Node<X, N>& v) const {
    static_assert(I < N);
    return v.data()[I];
  }
  template <class X, unsigned Byte, template <class, unsigned> class Node, unsigned N>
  [[nodiscard]] ESPALIER_INLINE X word(const Node<std::uint8_t, N>& v) const {
    static_assert(Byte % sizeof(X) == 0 && Byte + sizeof(X) <= N);
    X x;
    memcpy(&x, v.data() + Byte, sizeof(X));
    return x;
  }

  template <unsigned N, class F>
  [[nodiscard]] ESPALIER_INLINE auto make(F&& f) const {
    slots<decltype(f(0u)), N> r;
    for (unsigned i = 0; i < N; ++i) r.x[i] = f(i);
    return r;
  }
  template <class X, unsigned N, class F>
  [[nodiscard]] ESPALIER_INLINE auto map(const slots<X, N>& s, F&& f) const {
    slots<decltype(f(s.x[0])), N> r;
    for (unsigned i = 0; i < N; ++i) r.x[i] = f(s.x[i]);
    return r;
  }
  template <class X, unsigned N>
  [[nodiscard]] ESPALIER_INLINE slots<X, N> insert_at(const slots<X, N>& s, unsigned at,
                                                      std::type_identity_t<X> x) const {
    slots<X, N> r;
    for (unsigned i = 0; i < N; ++i) r.x[i] = i < at ? s.x[i] : i == at ? x : s.x[i - 1];
    return r;
  }
  template <class X, unsigned N>
  [[nodiscard]] ESPALIER_INLINE slots<X, N> erase_at(const slots<X, N>& s, unsigned at,
                                                     std::type_identity_t<X> fill) const {
    slots<X, N> r;
    for (unsigned i = 0; i < N; ++i) r.x[i] = i < at ? s.x[i] : i + 1 < N ? s.x[i + 1] : fill;
    return r;
  }
  template <class X, unsigned N>
  [[nodiscard]] ESPALIER_INLINE slots<X, N> head(const slots<X, N>& s, unsigned to,
                                                 std::type_identity_t<X> fill) const {
    slots<X, N> r;
    for (unsigned i = 0; i < N; ++i) r.x[i] = i < to ? s.x[i] : fill;
    return r;
  }
  template <class X, unsigned N>
  [[nodiscard]] ESPALIER_INLINE slots<X, N> tail(const slots<X, N>& s, unsigned from,
                                                 std::type_identity_t<X> fill) const {
    slots<X, N> r;
#ifdef __CUDA_ARCH__
    for (unsigned i = 0; i < N; ++i) r.x[i] = i + from < N ? s.x[i + from] : fill;
#else
    X padded[2 * N];  // padding makes every read unconditional
    memcpy(padded, s.x, sizeof(s.x));
    for (unsigned i = 0; i < N; ++i) padded[N + i] = fill;
    memcpy(r.x, padded + from, sizeof(r.x));
#endif
    return r;
  }

  template <class F>
  ESPALIER_INLINE auto once(F&& f) const {
    return f();
  }
  ESPALIER_INLINE void sync() const {}

  using single_lane_team = scalar_team;
  static constexpr bool view_is_register_copy = false;
  [[nodiscard]] ESPALIER_INLINE static constexpr unsigned lane() { return 0; }
  template <class X>
  [[nodiscard]] ESPALIER_INLINE X broadcast(const X& x, unsigned) const {
    return x;
  }
  [[nodiscard]] ESPALIER_INLINE unsigned count_lanes(bool x) const { return x ? 1 : 0; }
};

static_assert(Team<scalar_team>);

}  // namespace espalier
