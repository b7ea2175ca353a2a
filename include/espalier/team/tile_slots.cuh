// tile_slots.cuh - N slots in the registers of the lanes of a tile, and the operations of one lane on its share.
//
// Slot i is in row i / (Lanes * Each), lane i / Each % Lanes, at position i % Each of that row. Mutable slots have Each
// = 1; read-only views have the Each that gives 16-byte loads. Bytes with Each >= 4 stay packed, four to a register,
// and are compared four at a time.
//
// Every loop is unrolled and every index is a compile-time constant: a register array indexed at run time would be
// placed in local memory.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "espalier/team/team.hpp"

namespace espalier::detail {

/// Slots that a lane loads at a time: at most 16 bytes, and equally many in every lane.
template <class X, unsigned N, unsigned Lanes>
consteval unsigned slots_per_load() {
  unsigned each = sizeof(X) < 16 && (sizeof(X) & (sizeof(X) - 1)) == 0 ? 16 / sizeof(X) : 1;
  while (each > 1 && N % (Lanes * each) != 0) each /= 2;
  return each;
}

template <class X, unsigned N, unsigned Lanes, unsigned Each>
struct tile_slots {
  static constexpr bool packed = std::is_same_v<X, std::uint8_t> && Each % 4 == 0;
  using word = std::conditional_t<packed, std::uint32_t, X>;
  static constexpr unsigned slots_per_word = packed ? 4 : 1;
  static constexpr unsigned words_per_row = Each / slots_per_word;
  static constexpr unsigned rows = (N + Lanes * Each - 1) / (Lanes * Each);
  static constexpr unsigned words = rows * words_per_row;
  static constexpr bool ragged = N % (Lanes * Each) != 0;  // some lanes have no slot in the last row

  word w[words];

  /// The slot number of the first slot in word k of this lane.
  [[nodiscard]] static __device__ __forceinline__ unsigned slot_of(unsigned k, unsigned lane) {
    return (k / words_per_row * Lanes + lane) * Each + k % words_per_row * slots_per_word;
  }
};

/// Loads `Bytes` bytes through the read-only path with one instruction; p is aligned to `Bytes`.
template <unsigned Bytes>
__device__ __forceinline__ void load_read_only(void* to, const void* p) {
  if constexpr (Bytes == 16) {
    const uint4 x = __ldg(static_cast<const uint4*>(p));
    memcpy(to, &x, 16);
  } else if constexpr (Bytes == 8) {
    const uint2 x = __ldg(static_cast<const uint2*>(p));
    memcpy(to, &x, 8);
  } else if constexpr (Bytes == 4) {
    const unsigned x = __ldg(static_cast<const unsigned*>(p));
    memcpy(to, &x, 4);
  } else if constexpr (Bytes == 2) {
    const unsigned short x = __ldg(static_cast<const unsigned short*>(p));
    memcpy(to, &x, 2);
  } else {
    static_assert(Bytes == 1);
    const unsigned char x = __ldg(static_cast<const unsigned char*>(p));
    memcpy(to, &x, 1);
  }
}

// Four byte compares at once. The results are the top bits of the bytes; the other bits are undefined. Each takes three
// instructions, where __vcmpltu4 takes seven: a subtraction with the top bits masked, then one three-input logic
// operation for the top bits.
inline constexpr std::uint32_t top_bits = 0x80808080u;

__device__ __forceinline__ std::uint32_t match_bytes(std::uint32_t x, std::uint32_t b, less_than<std::uint8_t>) {
  const std::uint32_t difference = (x | top_bits) - (b & ~top_bits);
  return (~x & b) | (~(x ^ b) & ~difference);
}
__device__ __forceinline__ std::uint32_t match_bytes(std::uint32_t x, std::uint32_t b, at_most<std::uint8_t>) {
  const std::uint32_t difference = (b | top_bits) - (x & ~top_bits);
  return (~x & b) | (~(x ^ b) & difference);
}
__device__ __forceinline__ std::uint32_t match_bytes(std::uint32_t x, std::uint32_t b, equals<std::uint8_t>) {
  const std::uint32_t y = x ^ b;
  return ~(((y & ~top_bits) + ~top_bits) | y);
}

template <class Pred>
concept BytePredicate = std::is_same_v<Pred, less_than<std::uint8_t>> || std::is_same_v<Pred, at_most<std::uint8_t>> ||
    std::is_same_v<Pred, equals<std::uint8_t>>;

/// Top bits of those bytes of a word whose slot numbers are at least First; the first byte is slot `slot`.
template <unsigned First>
__device__ __forceinline__ std::uint32_t bytes_from(unsigned slot) {
  if (slot + 1 > First) return top_bits;
  return slot + 4 <= First ? 0u : top_bits << (8 * (First - slot) % 32);
}

/// Counts the slots of this lane from First on that satisfy pred.
template <unsigned First, class X, unsigned N, unsigned Lanes, unsigned Each, class Pred>
__device__ __forceinline__ unsigned count_in_lane(const tile_slots<X, N, Lanes, Each>& v, unsigned lane, Pred pred) {
  using node = tile_slots<X, N, Lanes, Each>;
  unsigned n = 0;
  if constexpr (node::packed && BytePredicate<Pred>) {
    const std::uint32_t bound = pred.bound * 0x01010101u;
    std::uint32_t bits = 0;  // collects the results of up to eight words, because population count is slow
#pragma unroll
    for (unsigned k = 0; k < node::words; ++k) {
      if (k % 8 == 0) {
        n += __popc(bits);
        bits = 0;
      }
      bits = (bits >> 1) | (match_bytes(v.w[k], bound, pred) & bytes_from<First>(node::slot_of(k, lane)));
    }
    n += __popc(bits);
  } else {
#pragma unroll
    for (unsigned k = 0; k < node::words; ++k) {
#pragma unroll
      for (unsigned b = 0; b < node::slots_per_word; ++b) {
        const unsigned slot = node::slot_of(k, lane) + b;
        const X x = static_cast<X>(node::packed ? v.w[k] >> (8 * b) : v.w[k]);
        n += (First == 0 || slot + 1 > First) && (!node::ragged || slot < N) && pred(x) ? 1u : 0u;
      }
    }
  }
  return n;
}

/// The largest power of two below count.
consteval unsigned half_of(unsigned count) {
  unsigned half = 1;
  while (2 * half < count) half *= 2;
  return half;
}

/// Returns w[i] by selects, because i is known only at run time and registers have no addresses.
template <unsigned Count, class W>
__device__ __forceinline__ W pick(const W* w, unsigned i) {
  if constexpr (Count == 1) {
    return w[0];
  } else {
    constexpr unsigned low = half_of(Count);  // a selection tree that tests one bit of i per level
    const W a = pick<low>(w, i);
    const W b = pick<Count - low>(w + low, i);
    return (i & low) == 0 ? a : b;
  }
}

}  // namespace espalier::detail
