// scalar.hpp - order-preserving mapping of fixed-width types to unsigned words.
//
// The trees have two key types, u32 and u64. Every other fixed-width type is mapped to one of them by an
// order-preserving function:
//   unsigned   x                       widened to 32 bits if narrower
//   signed     x ^ sign bit            so that -1 < 0
//   float      negative: ~x, else x ^ sign bit   (the usual total order: -0.0 < +0.0)
//              every NaN becomes one positive quiet NaN, so NaN sorts last and finds itself
//   bool       0 or 1
//   enum       the underlying integer; std::byte is one
//   chrono     the representation of sys_days / time_point / duration, as that integer
//   others     the representation that a specialization of key_traits names
// The mapping is a bijection, except that NaN payloads are not kept.
//
// `scalar_kind` is the type at run time: one compiled kernel serves all key types of a width.
#pragma once

#include <bit>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "espalier/core/config.hpp"

namespace espalier {

enum class scalar_kind : std::uint8_t { u8, i8, u16, i16, u32, i32, f32, u64, i64, f64, opaque };

/// Bytes of a scalar of this kind; 0 for opaque types.
[[nodiscard]] ESPALIER_HD constexpr unsigned bytes_of(scalar_kind kind) {
  switch (kind) {
    case scalar_kind::u8:
    case scalar_kind::i8:
      return 1;
    case scalar_kind::u16:
    case scalar_kind::i16:
      return 2;
    case scalar_kind::u32:
    case scalar_kind::i32:
    case scalar_kind::f32:
      return 4;
    case scalar_kind::u64:
    case scalar_kind::i64:
    case scalar_kind::f64:
      return 8;
    case scalar_kind::opaque:
      return 0;
  }
  return 0;
}

/// The number whose bits and order a type has. Keys of that type are ordered as the number; values of that type have
/// its sums, minima and maxima. Specialize it for strong typedefs:
///
///   struct order_id { std::uint64_t number; };
///   template <>
///   struct espalier::key_traits<order_id> { using representation = std::uint64_t; };
///
/// Preconditions: the type is trivially copyable and consists of exactly one object of the representation.
template <class T>
struct key_traits {
  using representation = T;
};
template <class T>
requires std::is_enum_v<T>
struct key_traits<T> {
  using representation = std::underlying_type_t<T>;
};
template <class Rep, class Period>
struct key_traits<std::chrono::duration<Rep, Period>> {
  using representation = Rep;
};
template <class Clock, class Duration>
struct key_traits<std::chrono::time_point<Clock, Duration>> {
  using representation = typename Duration::rep;
};

namespace detail {

template <class T>
consteval scalar_kind kind_of() {
  if constexpr (std::is_same_v<T, bool>) {
    return scalar_kind::u8;
  } else if constexpr (std::is_floating_point_v<T> && sizeof(T) == 4) {
    return scalar_kind::f32;
  } else if constexpr (std::is_floating_point_v<T> && sizeof(T) == 8) {
    return scalar_kind::f64;
  } else if constexpr (std::is_integral_v<T> && sizeof(T) <= 8) {
    constexpr bool is_signed = std::is_signed_v<T>;
    if constexpr (sizeof(T) == 1) return is_signed ? scalar_kind::i8 : scalar_kind::u8;
    if constexpr (sizeof(T) == 2) return is_signed ? scalar_kind::i16 : scalar_kind::u16;
    if constexpr (sizeof(T) == 4) return is_signed ? scalar_kind::i32 : scalar_kind::u32;
    if constexpr (sizeof(T) == 8) return is_signed ? scalar_kind::i64 : scalar_kind::u64;
  } else {
    return scalar_kind::opaque;
  }
}

template <class T>
consteval scalar_kind kind_by_traits() {
  using representation = typename key_traits<T>::representation;
  if constexpr (!std::is_same_v<T, representation>) {
    static_assert(sizeof(T) == sizeof(representation) && std::is_trivially_copyable_v<T>,
                  "a type with key_traits is trivially copyable and has the size of its representation");
    static_assert(kind_of<representation>() != scalar_kind::opaque,
                  "the representation in key_traits is an integer, float, double or bool");
  }
  return kind_of<representation>();
}

}  // namespace detail

/// The kind of `T`: that of its representation in key_traits for integers, float, double and bool; every other type is
/// opaque.
template <class T>
inline constexpr scalar_kind scalar_kind_of = detail::kind_by_traits<T>();

/// A type that can be a key, because it has an order-preserving word.
template <class T>
concept KeyType = scalar_kind_of<T>
!= scalar_kind::opaque;

/// The word of a key of type T: 32 bits for types of up to four bytes, otherwise 64 bits.
template <class T>
using word_of = std::conditional_t<(sizeof(T) <= 4), std::uint32_t, std::uint64_t>;

/// Returns the order-preserving word of the raw bits (zero-extended to Word) of a scalar of this kind.
template <std::unsigned_integral Word>
[[nodiscard]] ESPALIER_HD constexpr Word encode_bits(scalar_kind kind, Word raw) {
  switch (kind) {
    case scalar_kind::i8:
      return raw ^ Word { 0x80 };
    case scalar_kind::i16:
      return raw ^ Word { 0x8000 };
    case scalar_kind::i32:
      return raw ^ Word { 0x80000000u };
    case scalar_kind::i64:
      if constexpr (sizeof(Word) == 8) return raw ^ (Word{1} << 63);
      return raw;
    case scalar_kind::f32: {
      const auto bits = static_cast<std::uint32_t>(raw);
      if ((bits & 0x7fffffffu) > 0x7f800000u) return Word{0xffc00000u};
      return Word{(bits & 0x80000000u) != 0 ? ~bits : bits ^ 0x80000000u};
    }
    case scalar_kind::f64:
      if constexpr (sizeof(Word) == 8) {
        constexpr Word sign = Word{1} << 63;
        if ((raw & ~sign) > Word{0x7ff0000000000000u}) return Word{0xfff8000000000000u};
        return (raw & sign) != 0 ? ~raw : raw ^ sign;
      }
      return raw;
    default:
      return raw;
  }
}

/// Inverse of encode_bits.
template <std::unsigned_integral Word>
[[nodiscard]] ESPALIER_HD constexpr Word decode_bits(scalar_kind kind, Word word) {
  switch (kind) {
    case scalar_kind::f32: {
      const auto bits = static_cast<std::uint32_t>(word);
      return Word{(bits & 0x80000000u) != 0 ? bits ^ 0x80000000u : ~bits};
    }
    case scalar_kind::f64:
      if constexpr (sizeof(Word) == 8) {
        constexpr Word sign = Word{1} << 63;
        return (word & sign) != 0 ? word ^ sign : ~word;
      }
      return word;
    default:
      return encode_bits(kind, word);  // flipping a sign bit is its own inverse
  }
}

// Queries and answers are read and written once. On a GPU these accesses use the streaming cache hint (.cs), so that a
// large batch does not evict the tree from the caches. (H200, u32: 20.7 to 21.2 G/s at 2^27 keys and 14.5 to 15.8 at
// 2^29, in two runs between which this was the main change.)
template <class T>
[[nodiscard]] ESPALIER_INLINE T load_streaming(const T* p) {
#ifdef __CUDA_ARCH__
  return __ldcs(p);
#else
  return *p;
#endif
}
template <class T>
ESPALIER_INLINE void store_streaming(T* p, T x) {
#ifdef __CUDA_ARCH__
  __stcs(p, x);
#else
  *p = x;
#endif
}

/// Loads element `i` of an array of scalars of this kind, zero-extended: the raw bits, not yet encoded.
template <std::unsigned_integral Word>
[[nodiscard]] ESPALIER_INLINE Word load_bits(scalar_kind kind, const void* array, std::size_t i) {
  switch (bytes_of(kind)) {
    case 1:
      return load_streaming(static_cast<const std::uint8_t*>(array) + i);
    case 2:
      return load_streaming(static_cast<const std::uint16_t*>(array) + i);
    case 4:
      return load_streaming(static_cast<const std::uint32_t*>(array) + i);
    default:
      if constexpr (sizeof(Word) == 8) return load_streaming(static_cast<const std::uint64_t*>(array) + i);
      return 0;
  }
}

/// Stores the low bytes of `raw` as element `i`.
template <std::unsigned_integral Word>
ESPALIER_INLINE void store_bits(scalar_kind kind, void* array, std::size_t i, Word raw) {
  switch (bytes_of(kind)) {
    case 1:
      store_streaming(static_cast<std::uint8_t*>(array) + i, static_cast<std::uint8_t>(raw));
      break;
    case 2:
      store_streaming(static_cast<std::uint16_t*>(array) + i, static_cast<std::uint16_t>(raw));
      break;
    case 4:
      store_streaming(static_cast<std::uint32_t*>(array) + i, static_cast<std::uint32_t>(raw));
      break;
    default:
      if constexpr (sizeof(Word) == 8)
        store_streaming(static_cast<std::uint64_t*>(array) + i, static_cast<std::uint64_t>(raw));
      break;
  }
}

/// Converts a typed key to its order-preserving word, and back.
template <KeyType T>
struct key_codec {
  using word = word_of<T>;
  static constexpr scalar_kind kind = scalar_kind_of<T>;

  [[nodiscard]] ESPALIER_HD static word encode(T key) {
    word raw = 0;
    memcpy(&raw, &key, sizeof(T));  // little-endian: the low bytes
    return encode_bits(kind, raw);
  }
  [[nodiscard]] ESPALIER_HD static T decode(word w) {
    const word raw = decode_bits(kind, w);
    T key;
    memcpy(static_cast<void*>(&key), &raw, sizeof(T));  // the cast: chrono types are not trivial, but copyable
    return key;
  }
};

static_assert(std::endian::native == std::endian::little, "Espalier supports little-endian machines");

}  // namespace espalier
