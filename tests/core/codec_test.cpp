// codec_test.cpp - the words that keys become: they come back, they keep the order, at compile and at run time.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ratio>
#include <type_traits>
#include <vector>

#include "espalier/core/scalar.hpp"

namespace espalier::test {
namespace {

using days = std::chrono::sys_days;
using timestamp = std::chrono::sys_time<std::chrono::nanoseconds>;
using days32 = std::chrono::sys_time<std::chrono::duration<std::int32_t, std::ratio<86400>>>;  // as Arrow has them

template <class T>
using raw_of = std::conditional_t<sizeof(T) == 1, std::uint8_t,
                                  std::conditional_t<sizeof(T) == 2, std::uint16_t,
                                                     std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>>>;

/// Every bit pattern is a key, but bool has only two.
template <class T>
T from_raw(raw_of<T> raw) {
  if constexpr (std::is_same_v<T, bool>) {
    return (raw & 1) != 0;
  } else {
    return std::bit_cast<T>(raw);
  }
}

/// The order that is promised: that of the type; -0.0 before +0.0, NaN last and equal to NaN.
template <class T>
bool less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return !std::isnan(a) && std::isnan(b);
    if (a == b) return std::signbit(a) && !std::signbit(b);
  }
  return a < b;
}

template <class T>
bool same(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) && std::isnan(b)) return true;
  }
  return std::bit_cast<raw_of<T>>(a) == std::bit_cast<raw_of<T>>(b);
}

template <class T>
bool comes_back(T x) {
  return same(key_codec<T>::decode(key_codec<T>::encode(x)), x);
}

template <class T>
bool keeps_order(T a, T b) {
  const auto x = key_codec<T>::encode(a), y = key_codec<T>::encode(b);
  return less(a, b) == (x < y) && less(b, a) == (y < x);
}

/// The run-time functions, through an array, do what codec<T> does.
template <class T>
bool same_at_run_time(T x) {
  using word = typename key_codec<T>::word;
  constexpr scalar_kind kind = scalar_kind_of<T>;
  const std::array<T, 3> keys{T{}, x, T{}};
  const word w = encode_bits(kind, load_bits<word>(kind, keys.data(), 1));
  if (w != key_codec<T>::encode(x) || bytes_of(kind) != sizeof(T)) return false;
  std::array<T, 3> back{};
  store_bits(kind, back.data(), 1, decode_bits(kind, w));
  return same(back[0], T{}) && same(back[1], x) && same(back[2], T{}) && same(key_codec<T>::decode(w), x);
}

/// Keys where codes tend to be wrong.
template <class T>
std::vector<T> edges() {
  if constexpr (std::is_floating_point_v<T>) {
    using limits = std::numeric_limits<T>;
    const T quiet = limits::quiet_NaN();
    return {-limits::infinity(),
            limits::lowest(),
            T{-1},
            -limits::min(),
            -limits::denorm_min(),
            T{-0.0},
            T{0.0},
            limits::denorm_min(),
            limits::min(),
            limits::epsilon(),
            T{1},
            limits::max(),
            limits::infinity(),
            quiet,
            -quiet,
            limits::signaling_NaN()};
  } else {
    constexpr auto ones = std::numeric_limits<raw_of<T>>::max();
    constexpr auto top = static_cast<raw_of<T>>(ones ^ (ones >> 1));
    return {from_raw<T>(0),
            from_raw<T>(1),
            from_raw<T>(static_cast<raw_of<T>>(top - 1)),
            from_raw<T>(top),
            from_raw<T>(static_cast<raw_of<T>>(top + 1)),
            from_raw<T>(static_cast<raw_of<T>>(ones - 1)),
            from_raw<T>(ones)};
  }
}

template <class T>
class codec_of : public testing::Test {};

using all_types = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                                 std::uint32_t, std::uint64_t, float, double, bool, days, timestamp, days32>;
TYPED_TEST_SUITE(codec_of, all_types);

/// Any bit pattern, a small number, or an edge. Drawn as u64 for all types: one generator to compile.
template <class T>
T any_key() {
  const auto raw = *rc::gen::inRange<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max());
  switch (*rc::gen::inRange(0, 3)) {
    case 0:
      return from_raw<T>(static_cast<raw_of<T>>(*rc::gen::arbitrary<std::uint64_t>()));
    case 1:
      return edges<T>()[raw % edges<T>().size()];
    default:
      return from_raw<T>(static_cast<raw_of<T>>(raw));
  }
}

TYPED_TEST(codec_of, any_key_comes_back_and_any_two_keep_their_order) {
  using T = TypeParam;
  EXPECT_TRUE(rc::check([] {
    for (int i = 0; i < 20; ++i) {
      const T a = any_key<T>(), b = any_key<T>();
      RC_ASSERT(comes_back(a));
      RC_ASSERT(same_at_run_time(a));
      RC_ASSERT(keeps_order(a, b));
    }
  }));
}

TYPED_TEST(codec_of, edges_come_back_and_keep_their_order) {
  using T = TypeParam;
  for (const T a : edges<T>()) {
    EXPECT_TRUE(comes_back(a));
    EXPECT_TRUE(same_at_run_time(a));
    for (const T b : edges<T>()) EXPECT_TRUE(keeps_order(a, b));
  }
}

/// All values of a type of 8 or 16 bits: ascending keys have strictly ascending words.
template <class T>
void check_every_value() {
  const std::int64_t lowest = std::numeric_limits<T>::min(), highest = std::numeric_limits<T>::max();
  for (std::int64_t i = lowest; i <= highest; ++i) {
    const auto key = static_cast<T>(i);
    ASSERT_TRUE(comes_back(key)) << i;
    ASSERT_TRUE(same_at_run_time(key)) << i;
    if (i > lowest) {
      ASSERT_LT(key_codec<T>::encode(static_cast<T>(i - 1)), key_codec<T>::encode(key)) << i;
    }
  }
}

TEST(key_codec, every_key_of_8_bits) {
  check_every_value<std::int8_t>();
  check_every_value<std::uint8_t>();
  check_every_value<bool>();
}
TEST(key_codec, every_key_of_16_bits) {
  check_every_value<std::int16_t>();
  check_every_value<std::uint16_t>();
}

template <class T>
void check_float_edges() {
  using limits = std::numeric_limits<T>;
  const std::vector<T> ascending{
      -limits::infinity(),  limits::lowest(), T{-1}, -limits::min(), -limits::denorm_min(), T{-0.0}, T{0.0},
      limits::denorm_min(), limits::min(),    T{1},  limits::max(),  limits::infinity()};
  for (std::size_t i = 0; i + 1 < ascending.size(); ++i) {
    EXPECT_LT(key_codec<T>::encode(ascending[i]), key_codec<T>::encode(ascending[i + 1])) << i;
  }
  const auto nan = key_codec<T>::encode(limits::quiet_NaN());
  EXPECT_GT(nan, key_codec<T>::encode(limits::infinity()));
  EXPECT_EQ(nan, key_codec<T>::encode(-limits::quiet_NaN()));
  EXPECT_EQ(nan, key_codec<T>::encode(limits::signaling_NaN()));
  EXPECT_EQ(nan, key_codec<T>::encode(std::bit_cast<T>(std::numeric_limits<raw_of<T>>::max())));
  EXPECT_TRUE(std::isnan(key_codec<T>::decode(nan)));
  EXPECT_TRUE(std::signbit(key_codec<T>::decode(key_codec<T>::encode(T{-0.0}))));
}

TEST(key_codec, zeros_infinities_denormals_and_nan_of_float) { check_float_edges<float>(); }
TEST(key_codec, zeros_infinities_denormals_and_nan_of_double) { check_float_edges<double>(); }

TEST(key_codec, kinds_and_words_are_those_of_the_type) {
  EXPECT_EQ(scalar_kind_of<bool>, scalar_kind::u8);
  EXPECT_EQ(scalar_kind_of<days>, scalar_kind_of<days::rep>);
  EXPECT_EQ(scalar_kind_of<days32>, scalar_kind::i32);
  EXPECT_EQ(scalar_kind_of<timestamp>, scalar_kind::i64);
  EXPECT_EQ((scalar_kind_of<std::array<char, 3>>), scalar_kind::opaque);
  EXPECT_EQ(bytes_of(scalar_kind::opaque), 0u);
  EXPECT_TRUE((std::is_same_v<word_of<std::int8_t>, std::uint32_t>));
  EXPECT_TRUE((std::is_same_v<word_of<double>, std::uint64_t>));
  static_assert(!KeyType<std::array<char, 3>> && KeyType<long long> && KeyType<char>);
}

}  // namespace
}  // namespace espalier::test
