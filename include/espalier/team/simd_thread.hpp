// simd_thread.hpp - the Team of one CPU thread with vector registers, implemented with Highway.
//
// It shares memory access with scalar_team. It differs in counting (it compares many slots at once) and in changing
// slots (it does not branch on the position). These rules keep it correct on every target:
// (1) Vectors are local variables only: SVE vectors have no size, so they cannot be members or array elements.
// (2) No lambdas: they would not inherit the target's attributes on every compiler.
// (3) Loads are unaligned: slots in the caller's memory are only aligned to X.
//
// multi_target.hpp describes how this file is compiled once per target. In a normal compilation espalier::simd_thread
// uses the instructions that the compiler flags allow.
#if defined(ESPALIER_TEAM_SIMD_THREAD_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ESPALIER_TEAM_SIMD_THREAD_HPP
#undef ESPALIER_TEAM_SIMD_THREAD_HPP
#else
#define ESPALIER_TEAM_SIMD_THREAD_HPP
#endif

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>

#include "espalier/team/multi_target.hpp"
#include "espalier/team/node_search.hpp"
#include "espalier/team/scalar_team.hpp"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

// NEON has no instruction that converts a compare result to a bit mask, but it sums a vector in one instruction.
#undef ESPALIER_SIMD_SUMS_MASKS
#if HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64
#define ESPALIER_SIMD_SUMS_MASKS 1
#else
#define ESPALIER_SIMD_SUMS_MASKS 0
#endif

// Callers outside a multi-target unit may lack an instruction set that Highway enables for its own code (AES, on every
// arm64). Such a caller cannot inline these functions, so inlining must not be forced.
#ifndef ESPALIER_SIMD_INLINE
#ifdef ESPALIER_MULTI_TARGET
#define ESPALIER_SIMD_INLINE HWY_INLINE
#else
#define ESPALIER_SIMD_INLINE inline
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace espalier {
namespace HWY_NAMESPACE {
namespace simd {

namespace hn = hwy::HWY_NAMESPACE;

/// True for slots that vector compares support; other slots are counted by a loop.
template <class X, unsigned N>
inline constexpr bool vectorizable = std::has_single_bit(N) &&
                                     (std::same_as<X, std::uint8_t> || std::same_as<X, std::uint32_t> ||
                                      std::same_as<X, std::uint64_t>);

/// Bytes of a vector. Where the target leaves the length open (SVE) this is 16, the minimum of all implementations:
/// with a known length, node searches need no loop.
inline constexpr unsigned vector_bytes = HWY_MAX_BYTES > 64 ? 16 : HWY_MAX_BYTES;

template <class X, unsigned N>
using tag = hn::CappedTag<X, (N < vector_bytes / sizeof(X) ? N : vector_bytes / sizeof(X))>;
template <class X, unsigned N>
inline constexpr unsigned tag_slots = static_cast<unsigned>(hn::MaxLanes(tag<X, N>()));

// at_most is counted as the complement of the slots above the bound: an unsigned <= costs one instruction more than <
// on almost every target.
template <class D, class V, class X>
HWY_INLINE auto compare(D, V slots, V bound, less_than<X>) {
  return hn::Lt(slots, bound);
}
template <class D, class V, class X>
HWY_INLINE auto compare(D, V slots, V bound, at_most<X>) {
  return hn::Lt(bound, slots);
}
template <class D, class V, class X>
HWY_INLINE auto compare(D, V slots, V bound, equals<X>) {
  return hn::Eq(slots, bound);
}

#if ESPALIER_SIMD_SUMS_MASKS

HWY_INLINE unsigned sum(uint8x16_t v) { return vaddvq_u8(v); }
HWY_INLINE unsigned sum(uint8x8_t v) { return vaddv_u8(v); }
HWY_INLINE unsigned sum(uint32x4_t v) { return vaddvq_u32(v); }
HWY_INLINE unsigned sum(uint32x2_t v) { return vaddv_u32(v); }
HWY_INLINE unsigned sum(uint64x2_t v) { return static_cast<unsigned>(vaddvq_u64(v)); }
HWY_INLINE unsigned sum(uint64x1_t v) { return static_cast<unsigned>(vget_lane_u64(v, 0)); }

/// The first `Size` elements are 0 and the next are all ones; a window into the table masks any number of leading
/// slots.
template <class X, unsigned Size>
struct keep_table {
  X x[2 * Size];
  constexpr keep_table() : x{} {
    for (unsigned i = Size; i < 2 * Size; ++i) x[i] = static_cast<X>(~X{0});
  }
};
template <class X, unsigned Size>
alignas(64) inline constexpr keep_table<X, Size> keep{};

/// A true lane is -1, so the lanes add up to minus the count, which fits a byte for up to 128 slots.
template <unsigned First, unsigned N, class X, class Pred>
HWY_INLINE unsigned count_matches(const X* HWY_RESTRICT p, Pred pred) {
  const tag<X, N> d;
  constexpr unsigned step = tag_slots<X, N>;
  static_assert(N * sizeof(X) >= 8 && (sizeof(X) > 1 || N <= 128));
  constexpr unsigned start = First / step * step;
  const auto bound = hn::Set(d, pred.bound);
  auto total = hn::VecFromMask(d, compare(d, hn::LoadU(d, p + start), bound, pred));
  if constexpr (First % step != 0) total = hn::And(total, hn::LoadU(d, keep<X, step>.x + step - First % step));
  HWY_UNROLL(8)
  for (unsigned i = start + step; i < N; i += step) {
    total = hn::Add(total, hn::VecFromMask(d, compare(d, hn::LoadU(d, p + i), bound, pred)));
  }
  const unsigned minus = 0u - sum(total.raw);
  return sizeof(X) == 1 ? minus & 0xffu : minus;
}

#else

template <unsigned First, unsigned N, class X, class Pred>
HWY_INLINE unsigned count_matches(const X* HWY_RESTRICT p, Pred pred) {
  const tag<X, N> d;
  constexpr unsigned step = tag_slots<X, N>;
  const auto bound = hn::Set(d, pred.bound);
  std::size_t n = 0;
  HWY_UNROLL(8)
  for (unsigned i = First / step * step; i < N; i += step) {
    auto match = compare(d, hn::LoadU(d, p + i), bound, pred);
    if (i < First) match = hn::AndNot(hn::FirstN(d, First - i), match);
    n += hn::CountTrue(d, match);
  }
  return static_cast<unsigned>(n);
}

#endif

/// Largest and smallest number of slots of one count_matches call.
template <class X>
inline constexpr unsigned block_slots = ESPALIER_SIMD_SUMS_MASKS && sizeof(X) == 1 ? 128 : 4096 / sizeof(X);
template <class X>
inline constexpr unsigned fewest_slots = ESPALIER_SIMD_SUMS_MASKS ? 8 / sizeof(X) : 1;

template <unsigned First, unsigned N, class X, class Pred>
HWY_INLINE unsigned count_blocks(const X* HWY_RESTRICT p, Pred pred) {
  if constexpr (First >= N) {
    return 0;
  } else if constexpr (N <= block_slots<X>) {
    return count_matches<First, N>(p, pred);
  } else {
    constexpr unsigned half = N / 2;
    return count_blocks<First, half>(p, pred) + count_blocks<(First > half ? First - half : 0u), half>(p + half, pred);
  }
}

/// Counts the slots in [First, N) that satisfy pred.
template <unsigned First, unsigned N, class X, class Pred>
HWY_INLINE unsigned count_from(const X* HWY_RESTRICT p, Pred pred) {
  unsigned n = 0;
  for (unsigned i = First; i < N; ++i) n += pred(p[i]) ? 1u : 0u;
  return n;
}
template <unsigned First, unsigned N, class X>
requires(vectorizable<X, N>&& N >= fewest_slots<X>) HWY_INLINE
    unsigned count_from(const X* HWY_RESTRICT p, less_than<X> pred) {
  return count_blocks<First, N>(p, pred);
}
template <unsigned First, unsigned N, class X>
requires(vectorizable<X, N>&& N >= fewest_slots<X>) HWY_INLINE
    unsigned count_from(const X* HWY_RESTRICT p, equals<X> pred) {
  return count_blocks<First, N>(p, pred);
}
template <unsigned First, unsigned N, class X>
requires(vectorizable<X, N>&& N >= fewest_slots<X>) HWY_INLINE
    unsigned count_from(const X* HWY_RESTRICT p, at_most<X> pred) {
  return (First < N ? N - First : 0u) - count_blocks<First, N>(p, pred);
}

/// Slots of one part, which is what one vector compare covers.
template <class X>
inline constexpr unsigned part_slots = tag_slots<X, 4096 / sizeof(X)>;

/// Returns skip plus the number of slots in [skip, N) below bound; skip < N is known only at run time.
template <unsigned N, class X>
HWY_INLINE unsigned position_in_part(const X* HWY_RESTRICT p, X bound, unsigned skip) {
  const tag<X, N> d;
  const auto vector_bound = hn::Set(d, bound);
#if ESPALIER_SIMD_SUMS_MASKS
  static_assert(N == tag_slots<X, N>);
  const auto match = hn::VecFromMask(d, hn::Lt(hn::LoadU(d, p), vector_bound));
  const unsigned minus = 0u - sum(hn::And(match, hn::LoadU(d, keep<X, N>.x + N - skip)).raw);
  return skip + (sizeof(X) == 1 ? minus & 0xffu : minus);
#else
  std::size_t n = skip;
  constexpr unsigned step = tag_slots<X, N>;
  HWY_UNROLL(8)
  for (unsigned i = 0; i < N; i += step) {
    const auto match = hn::Lt(hn::LoadU(d, p + i), vector_bound);
    n += hn::CountTrue(d, hn::AndNot(hn::FirstN(d, i < skip ? skip - i : 0), match));
  }
  return static_cast<unsigned>(n);
#endif
}

/// Returns the first slot that is not below bound. Slots [First, N) ascend, so a part whose last slot is below bound
/// lies wholly below it. Slots in front of First count as below.
template <unsigned First, unsigned N, class X>
HWY_INLINE unsigned position(const X* HWY_RESTRICT p, X bound, unsigned base) {
  if constexpr (N <= part_slots<X>) {
    if constexpr (First == 0) return base + count_blocks<0, N>(p + base, less_than<X>{bound});
    return base + position_in_part<N>(p + base, bound, First - (base < First ? base : First));
  } else {
    constexpr unsigned parts = N / part_slots<X> < 4 ? N / part_slots<X> : 4;
    constexpr unsigned part = N / parts;
    unsigned chosen = 0;
    HWY_UNROLL(4)
    for (unsigned j = 1; j < parts; ++j) {
      const unsigned boundary = base + j * part - 1;
      chosen += static_cast<unsigned>(boundary < First) | static_cast<unsigned>(p[boundary] < bound);
    }
    return position<First, part>(p, bound, base + chosen * part);
  }
}

template <unsigned First, unsigned N, class X>
HWY_INLINE unsigned rank(const X* p, X bound, linear_search) {
  return count_from<First, N>(p, less_than<X>{bound});
}
template <unsigned First, unsigned N, class X>
HWY_INLINE unsigned rank(const X* p, X bound, hierarchical_search) {
  if constexpr (First < N && vectorizable<X, N> && N > part_slots<X>) {
    return position<First, N>(p, bound, 0) - First;
  } else {
    return count_from<First, N>(p, less_than<X>{bound});
  }
}

/// to[i] = i < at ? before[i] : after[i], without a branch on `at`.
template <unsigned N, class X>
HWY_INLINE void blend(X* HWY_RESTRICT to, const X* before, const X* after, unsigned at) {
  if constexpr (vectorizable<X, N> && (sizeof(X) > 1 || N <= 128)) {
    const tag<X, N> d;
    constexpr unsigned step = tag_slots<X, N>;
    const auto vector_at = hn::Set(d, static_cast<X>(at));
    HWY_UNROLL(8)
    for (unsigned i = 0; i < N; i += step) {
      const auto first_side = hn::Lt(hn::Iota(d, static_cast<X>(i)), vector_at);
      hn::StoreU(hn::IfThenElse(first_side, hn::LoadU(d, before + i), hn::LoadU(d, after + i)), d, to + i);
    }
  } else {
    for (unsigned i = 0; i < N; ++i) to[i] = i < at ? before[i] : after[i];
  }
}

}  // namespace simd

template <class NodeSearch = linear_search>
struct simd_thread : scalar_team {
  /// Its functions are compiled for the instructions of a target, and cannot be inlined into code for others.
  static constexpr bool is_of_target = true;
  template <class X, unsigned N>
  using slots = scalar_team::slots<X, N>;

  ESPALIER_SIMD_INLINE void stream(void* to, const void* from, std::size_t bytes) const {
    const simd::hn::CappedTag<std::uint8_t, 32> d;
    for (std::size_t i = 0; i < bytes; i += simd::hn::Lanes(d)) {
      simd::hn::Stream(simd::hn::LoadU(d, static_cast<const std::uint8_t*>(from) + i), d,
                       static_cast<std::uint8_t*>(to) + i);
    }
  }
  ESPALIER_SIMD_INLINE void fence_nontemporal() const { hwy::FlushStream(); }

  template <unsigned First, template <class, unsigned> class Node, class X, unsigned N, class Pred>
  [[nodiscard]] ESPALIER_SIMD_INLINE unsigned count_from(const Node<X, N>& v, Pred pred) const {
    return simd::count_from<First, N>(v.data(), pred);
  }
  template <template <class, unsigned> class Node, class X, unsigned N, class Pred>
  [[nodiscard]] ESPALIER_SIMD_INLINE unsigned count(const Node<X, N>& v, Pred pred) const {
    return simd::count_from<0, N>(v.data(), pred);
  }
  template <unsigned First, template <class, unsigned> class Node, class X, unsigned N>
  [[nodiscard]] ESPALIER_SIMD_INLINE unsigned rank(const Node<X, N>& v, std::type_identity_t<X> bound) const {
    return simd::rank<First, N>(v.data(), bound, NodeSearch{});
  }

  // Redefined here so that a lambda compiled for this target can be inlined.
  template <class F>
  ESPALIER_SIMD_INLINE auto once(F&& f) const {
    return f();
  }

  // Changes read from a shifted or padded copy of the node, so that every read is unconditional.

  template <class X, unsigned N>
  [[nodiscard]] ESPALIER_SIMD_INLINE slots<X, N> insert_at(const slots<X, N>& s, unsigned at,
                                                           std::type_identity_t<X> x) const {
    X shifted[N + 1];
    shifted[0] = x;
    memcpy(shifted + 1, s.x, sizeof(s.x));
    slots<X, N> r;
    simd::blend<N>(r.x, s.x, shifted, at);
    r.x[at] = x;
    return r;
  }
  template <class X, unsigned N>
  [[nodiscard]] ESPALIER_SIMD_INLINE slots<X, N> erase_at(const slots<X, N>& s, unsigned at,
                                                          std::type_identity_t<X> fill) const {
    X padded[N + 1];
    memcpy(padded, s.x, sizeof(s.x));
    padded[N] = fill;
    slots<X, N> r;
    simd::blend<N>(r.x, padded, padded + 1, at);
    return r;
  }
  template <class X, unsigned N>
  [[nodiscard]] ESPALIER_SIMD_INLINE slots<X, N> head(const slots<X, N>& s, unsigned to,
                                                      std::type_identity_t<X> fill) const {
    X filled[N];
    for (unsigned i = 0; i < N; ++i) filled[i] = fill;
    slots<X, N> r;
    simd::blend<N>(r.x, s.x, filled, to);
    return r;
  }
  template <class X, unsigned N>
  [[nodiscard]] ESPALIER_SIMD_INLINE slots<X, N> tail(const slots<X, N>& s, unsigned from,
                                                      std::type_identity_t<X> fill) const {
    X padded[2 * N];
    memcpy(padded, s.x, sizeof(s.x));
    for (unsigned i = 0; i < N; ++i) padded[N + i] = fill;
    slots<X, N> r;
    memcpy(r.x, padded + from, sizeof(r.x));
    return r;
  }
};

static_assert(Team<simd_thread<>> && Team<simd_thread<hierarchical_search>>);

}  // namespace HWY_NAMESPACE

#ifndef ESPALIER_MULTI_TARGET
using HWY_NAMESPACE::simd_thread;
#endif

}  // namespace espalier
HWY_AFTER_NAMESPACE();

#endif  // ESPALIER_TEAM_SIMD_THREAD_HPP
