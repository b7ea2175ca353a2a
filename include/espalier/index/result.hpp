// result.hpp - result types, and checks of the sizes of batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "espalier/core/config.hpp"
#include "espalier/core/error.hpp"
#include "espalier/core/scalar.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/index/elements.hpp"

namespace espalier {

namespace detail {

[[nodiscard]] constexpr bool is_signed(scalar_kind kind) {
  return kind == scalar_kind::i8 || kind == scalar_kind::i16 || kind == scalar_kind::i32 || kind == scalar_kind::i64;
}

template <scalar_kind Kind>
consteval auto sum_example() {
  if constexpr (is_float(Kind)) {
    return double{};
  } else if constexpr (bytes_of(Kind) == 8) {
    return std::conditional_t<is_signed(Kind), int128, uint128>{};
  } else {
    return std::conditional_t<is_signed(Kind), std::int64_t, std::uint64_t>{};
  }
}

/// Converts a 128-bit sum to 64 bits; throws if it does not fit.
template <class T, class Wide>
[[nodiscard]] T narrow_sum(Wide wide, std::size_t query) {
  using rep_type = typename key_traits<T>::representation;
  const auto rep = static_cast<rep_type>(wide);
  if (static_cast<Wide>(rep) != wide) {
    throw overflow("sum: that of query " + std::to_string(query) + " does not fit 64 bits; ask for 128-bit sums.");
  }
  T narrow;
  std::memcpy(static_cast<void*>(&narrow), &rep, sizeof(T));
  return narrow;
}

inline void require_equal(const char* what, std::size_t expected, std::size_t got) {
  if (expected != got) {
    throw error(std::string(what) + ": the span has " + std::to_string(got) + " elements, and the batch needs " +
                std::to_string(expected) + ".");
  }
}
/// Checks the size of an output that may be omitted.
inline void require_optional(const char* what, std::size_t expected, std::size_t got) {
  if (got != 0) require_equal(what, expected, got);
}
/// The address of an output that may be omitted: null for an empty span, which may have an address too.
template <class T>
[[nodiscard]] T* optional_data(std::span<T> out) {
  return out.empty() ? nullptr : out.data();
}
/// Number of output positions of n rows; throws if it is too large.
inline std::size_t row_places(std::size_t n, std::uint64_t limit) {
  if (n != 0 && limit > (std::uint64_t{1} << 48) / n) {
    throw error("range rows: " + std::to_string(n) + " rows of " + std::to_string(limit) +
                " elements; give range_options::limit what a row has room for.");
  }
  return n * limit;
}
/// Checks the span sizes of range_rows().
inline void require_rows(std::size_t lo, std::size_t hi, std::size_t counts, std::uint64_t limit, std::size_t keys,
                         std::size_t values) {
  require_equal("upper ends of ranges", lo, hi);
  require_equal("counts of range rows", lo, counts);
  const std::size_t places = row_places(lo, limit);
  require_optional("keys of range rows", places, keys);
  require_optional("values of range rows", places, values);
}

}  // namespace detail

/// Exact sum type: 64 bits for integers up to 32 bits, 128 bits for 64-bit integers, double for floats.
template <class T>
using sum_of = decltype(detail::sum_example<scalar_kind_of<T>>());

/// Result of range(): query i owns elements [offsets[i], offsets[i + 1]) of keys and values, in key order.
template <class Key, class Value>
struct range_result {
  using value_element = std::conditional_t<std::is_void_v<Value>, unsigned char, Value>;
  buffer<std::uint64_t> offsets;
  buffer<Key> keys;
  buffer<value_element> values;  ///< empty for a set

  explicit range_result(detail::range_buffers&& raw)
      : offsets(std::move(raw.offsets)),
        keys(std::move(raw.keys), raw.total),
        values(std::move(raw.values), raw.total) {}
};

}  // namespace espalier
