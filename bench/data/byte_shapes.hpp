// byte_shapes.hpp - implementation of the data sets of byte_generators.hpp. Private to them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "bench/data/byte_generators.hpp"
#include "bench/data/random.hpp"

namespace espalier::bench::detail {

/// Keys without extension. append(i, to) requires i < distinct().
class byte_shape {
 public:
  byte_shape() = default;
  byte_shape(const byte_shape&) = delete;
  byte_shape& operator=(const byte_shape&) = delete;
  virtual ~byte_shape() = default;
  [[nodiscard]] virtual std::uint64_t distinct() const = 0;
  virtual void append(std::uint64_t i, std::string& to) const = 0;
};

// text_shapes.cpp
inline constexpr unsigned least_url_length = 16;     ///< scheme, a letter of the host, slash, 6 digits: 2^30 keys
inline constexpr unsigned least_triple_length = 28;  ///< the shortest namespace of numbers, and a number
[[nodiscard]] std::shared_ptr<const byte_shape> make_url_shape(const byte_spec& spec);
[[nodiscard]] std::shared_ptr<const byte_shape> make_triple_shape(const byte_spec& spec);

/// The random numbers of one key.
class key_draws {
 public:
  explicit key_draws(std::uint64_t state) : state_(state) {}
  key_draws(std::uint64_t stream, std::uint64_t seed, std::uint64_t i) : state_(random_bits(seed ^ stream, i)) {}
  std::uint64_t next() { return state_ = mix(state_); }
  std::uint64_t next_below(std::uint64_t n) { return below(next(), n); }

 private:
  std::uint64_t state_;
};

inline constexpr std::string_view digit_characters = "0123456789abcdefghijklmnopqrstuvwxyz";

/// Appends exactly `width` digits.
template <unsigned Base>
void append_number(std::uint64_t x, unsigned width, std::string& to) {
  to.append(width, '0');
  for (auto at = to.rbegin(); width > 0; --width, ++at, x /= Base) *at = digit_characters[x % Base];
}

inline void append_big_endian(std::uint64_t x, unsigned bytes, std::string& to) {
  char text[8];
  for (unsigned k = 0; k < bytes; ++k) text[k] = static_cast<char>(x >> (8 * (bytes - 1 - k)) & 255);
  to.append(text, bytes);
}

inline void append_random_bytes(key_draws& draw, std::uint64_t count, std::string& to) {
  for (; count > 0; count -= std::min<std::uint64_t>(count, 8)) {
    append_big_endian(draw.next(), static_cast<unsigned>(std::min<std::uint64_t>(count, 8)), to);
  }
}

inline void append_random_digits(key_draws& draw, unsigned base, std::uint64_t count, std::string& to) {
  std::uint64_t bits = 0;
  for (std::uint64_t k = 0; k < count; ++k, bits >>= 8) {
    if (k % 8 == 0) bits = draw.next();
    to += digit_characters[(bits & 255) * base >> 8];
  }
}

}  // namespace espalier::bench::detail
