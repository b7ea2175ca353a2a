// byte_key_test.cpp - the bytes that columns become: they come back, they have the order of the tuples, and no other
// bytes are read.
#include "espalier/core/byte_key.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ratio>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier::test {
namespace {

using namespace std::string_literals;
using namespace std::string_view_literals;

using key_day = std::chrono::sys_time<std::chrono::duration<std::int32_t, std::ratio<86400>>>;
using key_time = std::chrono::sys_time<std::chrono::nanoseconds>;

template <class... Columns>
std::string key_of(const std::tuple<Columns...>& columns) {
  return std::apply([](const auto&... column) { return byte_key(column...); }, columns);
}

/// std::tuple's order, but for float columns that of scalar.hpp, where -0.0 < +0.0 and NaN is last. std::strong_order
/// has it for the one NaN used here, which is positive.
template <class... Columns>
std::strong_ordering tuple_order(const std::tuple<Columns...>& a, const std::tuple<Columns...>& b) {
  auto order = std::strong_ordering::equal;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((order = order != 0 ? order : std::strong_order(std::get<I>(a), std::get<I>(b))), ...);
  }
  (std::index_sequence_for<Columns...>());
  return order;
}

template <class... Columns>
bool key_comes_back(const std::tuple<Columns...>& columns) {
  return tuple_order(byte_key_columns<Columns...>(key_of(columns)), columns) == 0;
}

/// Every pair is looked at, by transitivity: keys of ascending tuples ascend.
template <class... Columns>
void check_all_tuples(std::vector<std::tuple<Columns...>> tuples) {
  std::sort(tuples.begin(), tuples.end(), [](const auto& a, const auto& b) { return tuple_order(a, b) < 0; });
  for (std::size_t i = 0; i < tuples.size(); ++i) {
    ASSERT_TRUE(key_comes_back(tuples[i])) << i;
    if (i > 0) {
      ASSERT_LT(key_of(tuples[i - 1]), key_of(tuples[i])) << i;
    }
  }
}

/// Whether this is a key of such columns. If so, it must be the key of what it was read as.
template <class... Columns>
bool is_accepted(std::string_view key) {
  try {
    const auto columns = byte_key_columns<Columns...>(key);
    EXPECT_EQ(key_of(columns), key);
    return true;
  } catch (const error& e) {
    const std::string sentence = e.what();
    EXPECT_EQ(sentence.find("byte_key_columns: column "), 0u) << sentence;
    EXPECT_EQ(sentence.back(), '.') << sentence;
    return false;
  }
}

/// All strings of these bytes, up to this length.
std::vector<std::string> all_strings(std::string_view bytes, std::size_t longest) {
  std::vector<std::string> all{""};
  for (std::size_t i = 0; all[i].size() < longest; ++i) {
    for (const char byte : bytes) all.push_back(all[i] + byte);
  }
  return all;
}

template <class A, class B>
std::vector<std::tuple<A, B>> all_pairs(const std::vector<A>& first, const std::vector<B>& second) {
  std::vector<std::tuple<A, B>> all;
  for (const A& a : first) {
    for (const B& b : second) all.emplace_back(a, b);
  }
  return all;
}

/// Boundary values, ascending.
template <class T>
std::vector<T> ascending_edges() {
  using limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else if constexpr (std::is_floating_point_v<T>) {
    return {
        -limits::infinity(),   limits::lowest(),  T{-1},  -limits::min(),       std::nextafter(-limits::min(), T{0}),
        -limits::denorm_min(), T{-0.0},           T{0.0}, limits::denorm_min(), std::nextafter(limits::min(), T{0}),
        limits::min(),         limits::epsilon(), T{1},   limits::max(),        limits::infinity(),
        limits::quiet_NaN()};
  } else if constexpr (std::is_integral_v<T>) {
    std::vector<T> edges{limits::min(), limits::max()};
    for (unsigned bit = 0; bit < 8 * sizeof(T); ++bit) {  // where a byte or the sign changes, and all between
      for (const std::uint64_t word : {1ull << bit, (1ull << bit) - 1, ~(1ull << bit), ~0ull << bit}) {
        edges.push_back(static_cast<T>(word));
      }
    }
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    return edges;
  } else {
    std::vector<T> edges;
    for (const auto count : ascending_edges<typename T::rep>()) edges.push_back(T(typename T::duration(count)));
    return edges;
  }
}

// ---- vectors, which the implementation in Python has, too

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    hex += digits[value >> 4];
    hex += digits[value & 15];
  }
  return hex;
}

std::string text(std::string_view hex) {
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return bytes;
}

TEST(byte_key, has_the_bytes_of_the_vectors) {
  using i8 = std::int8_t;
  using i16 = std::int16_t;
  using i32 = std::int32_t;
  using i64 = std::int64_t;
  using u8 = std::uint8_t;
  using u16 = std::uint16_t;
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  using f32 = float;
  using f64 = double;
  using boolean = bool;
#define ESPALIER_BYTE_KEY(key, ...) EXPECT_EQ(hex_of(byte_key(__VA_ARGS__)), key) << #__VA_ARGS__;
#include "byte_key_vectors.hpp"
#undef ESPALIER_BYTE_KEY
}

// ---- fixed width

template <class T>
class byte_key_of : public testing::Test {};

using byte_key_types =
    testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t,
                   std::uint64_t, char, float, double, bool, key_day, key_time>;
TYPED_TEST_SUITE(byte_key_of, byte_key_types);

TYPED_TEST(byte_key_of, edges_ascend_come_back_and_have_the_width_of_the_type) {
  using T = TypeParam;
  std::vector<std::tuple<T>> tuples;
  for (const T edge : ascending_edges<T>()) {
    EXPECT_EQ(byte_key(edge).size(), sizeof(T));
    if (!tuples.empty()) {
      EXPECT_LT(key_of(tuples.back()), byte_key(edge));
    }
    tuples.emplace_back(edge);
  }
  check_all_tuples(tuples);
}

TYPED_TEST(byte_key_of, edges_before_and_behind_strings) {
  using T = TypeParam;
  const auto strings = all_strings("\x00\x01\xff"sv, 2);
  check_all_tuples(all_pairs(ascending_edges<T>(), strings));
  check_all_tuples(all_pairs(strings, ascending_edges<T>()));
}

TYPED_TEST(byte_key_of, other_widths_are_refused) {
  using T = TypeParam;
  const std::string key = byte_key(T{});
  for (std::size_t bytes = 0; bytes < key.size(); ++bytes) EXPECT_FALSE(is_accepted<T>(key.substr(0, bytes)));
  EXPECT_TRUE(is_accepted<T>(key));
  EXPECT_FALSE(is_accepted<T>(key + '\0'));
  EXPECT_FALSE(is_accepted<T>(key + "\xff"));
}

template <class T>
void check_every_key() {
  std::string before;
  for (std::int64_t i = std::numeric_limits<T>::min(); i <= std::numeric_limits<T>::max(); ++i) {
    const std::string key = byte_key(static_cast<T>(i));
    ASSERT_LT(before, key) << i;
    ASSERT_EQ(std::get<0>(byte_key_columns<T>(key)), static_cast<T>(i));
    before = key;
  }
}

TEST(byte_key, every_key_of_8_and_16_bits) {
  check_every_key<std::int8_t>();
  check_every_key<std::uint8_t>();
  check_every_key<std::int16_t>();
  check_every_key<std::uint16_t>();
}

TEST(byte_key, fixed_width_is_big_endian) {
  EXPECT_EQ(byte_key(std::uint8_t{0xab}), "\xab"sv);
  EXPECT_EQ(byte_key(std::int8_t{-1}), "\x7f"sv);
  EXPECT_EQ(byte_key(true), "\x01"sv);
  EXPECT_EQ(byte_key(std::uint16_t{0x1234}), "\x12\x34"sv);
  EXPECT_EQ(byte_key(std::int16_t{1}), "\x80\x01"sv);
  EXPECT_EQ(byte_key(std::uint32_t{0x12345678}), "\x12\x34\x56\x78"sv);
  EXPECT_EQ(byte_key(std::int32_t{-2}), "\x7f\xff\xff\xfe"sv);
  EXPECT_EQ(byte_key(1.0f), "\xbf\x80\x00\x00"sv);
  EXPECT_EQ(byte_key(std::int64_t{0x0102030405060708}), "\x81\x02\x03\x04\x05\x06\x07\x08"sv);
  EXPECT_EQ(byte_key(key_day(std::chrono::days(3))), "\x80\x00\x00\x03"sv);
  EXPECT_EQ(byte_key(-1.0), "\x40\x0f\xff\xff\xff\xff\xff\xff"sv);  // ~bf f0 00 00 00 00 00 00
}

template <class T, class Raw>
void check_nans() {
  using limits = std::numeric_limits<T>;
  const std::string nan = byte_key(limits::quiet_NaN());
  EXPECT_GT(nan, byte_key(limits::infinity()));
  EXPECT_EQ(nan, byte_key(-limits::quiet_NaN()));
  EXPECT_EQ(nan, byte_key(std::bit_cast<T>(std::numeric_limits<Raw>::max())));
  for (std::string other : {nan, byte_key(limits::infinity()), byte_key(-limits::infinity())}) {
    const bool up = other != byte_key(-limits::infinity());
    for (std::size_t i = other.size(); i-- > 0;) {  // the next word, above or below: a NaN that is never written
      other[i] = static_cast<char>(other[i] + (up ? 1 : -1));
      if (other[i] != (up ? '\0' : '\xff')) break;
    }
    EXPECT_FALSE(is_accepted<T>(other));
  }
}

TEST(byte_key, all_nans_are_one_and_only_that_one_is_read) {
  check_nans<float, std::uint32_t>();
  check_nans<double, std::uint64_t>();
}

TEST(byte_key, bytes_that_are_neither_false_nor_true_are_refused) {
  for (int byte = 0; byte < 256; ++byte)
    EXPECT_EQ(is_accepted<bool>(std::string(1, static_cast<char>(byte))), byte < 2);
}

// ---- strings

TEST(byte_key, a_last_string_stays_as_it_is) {
  EXPECT_EQ(byte_key(""), "");
  EXPECT_EQ(byte_key("a\x00\x01\xff"sv), "a\x00\x01\xff"sv);
  EXPECT_EQ(byte_key(std::uint8_t{7}, "\x00\x01"sv), "\x07\x00\x01"sv);
}

TEST(byte_key, a_string_before_others_is_escaped_and_ended) {
  EXPECT_EQ(byte_key("", ""), "\x00"sv);
  EXPECT_EQ(byte_key("ab", "c"),
            "ab\x00"
            "c"sv);
  EXPECT_EQ(byte_key("\x00\x01\x02\xff"sv, std::uint8_t{0xff}), "\x01\x01\x01\x02\x02\xff\x00\xff"sv);
}

TEST(byte_key, every_kind_of_string_gives_the_same_bytes) {
  const char* pointer = "ab";
  for (const std::string& key : {byte_key("ab", "ab"), byte_key(pointer, pointer), byte_key("ab"s, "ab"s)}) {
    EXPECT_EQ(key, byte_key("ab"sv, "ab"sv));
  }
  static_assert(!KeyColumn<std::vector<int>> && !KeyColumn<long double> && !DecodedColumn<std::string_view>);
}

TEST(byte_key, all_short_strings_before_a_byte) {
  const std::vector<std::uint8_t> bytes{0x00, 0x01, 0x02, 0x03, 0x7f, 0x80, 0xfe, 0xff};
  check_all_tuples(all_pairs(all_strings("\x00\x01\x02\xff"sv, 4), bytes));
}

TEST(byte_key, all_pairs_and_triples_of_short_strings) {
  const auto strings = all_strings("\x00\x01\x02\xff"sv, 2);
  const auto longer = all_strings("\x00\x01\x02\xff"sv, 3);
  check_all_tuples(all_pairs(longer, longer));
  std::vector<std::tuple<std::string, std::string, std::string>> triples;
  for (const auto& [a, b] : all_pairs(strings, strings)) {
    for (const auto& c : strings) triples.emplace_back(a, b, c);
  }
  check_all_tuples(triples);
}

TEST(byte_key, malformed_strings_are_refused) {
  using std::string, std::uint8_t;
  EXPECT_FALSE((is_accepted<string, string>("")));
  EXPECT_FALSE((is_accepted<string, string>("ab")));
  EXPECT_FALSE((is_accepted<string, string>("ab\x01")));
  EXPECT_FALSE((is_accepted<string, string>("ab\x01\x00"sv)));
  EXPECT_FALSE((is_accepted<string, string>("ab\x01\x03\x00"sv)));
  EXPECT_FALSE((is_accepted<string, string>("ab\x01\xff\x00"sv)));
  EXPECT_FALSE((is_accepted<string, uint8_t>("ab\x00"sv)));
  EXPECT_FALSE((is_accepted<string, uint8_t>("ab\x00\x07\x07"sv)));
  EXPECT_TRUE((is_accepted<string, uint8_t>("ab\x00\x07"sv)));
}

TEST(byte_key, the_column_that_is_wrong_is_named) {
  try {
    static_cast<void>(
        byte_key_columns<std::uint8_t, std::string, std::string>("\x07"
                                                                 "ab"));
    FAIL();
  } catch (const error& e) {
    EXPECT_NE(std::string_view(e.what()).find("column 2 of 3 is cut short"), std::string_view::npos) << e.what();
  }
}

TEST(byte_key, any_short_bytes_are_refused_or_the_key_of_what_they_are_read_as) {
  std::size_t accepted = 0;
  const auto all = all_strings("\x00\x01\x02\x03\xff"sv, 5);
  for (const std::string& key : all) {
    accepted += is_accepted<std::string, std::uint8_t>(key);
    is_accepted<std::string, std::string>(key);
    is_accepted<std::string, std::string, bool>(key);
    is_accepted<std::uint16_t, std::string, std::string>(key);
  }
  // Every one of these tuples whose key has at most five bytes: the string's code has at most three.
  std::size_t expected = 0;
  for (const std::string& text : all_strings("\x00\x01\x02\x03\xff"sv, 3)) {
    const auto escapes = std::count_if(text.begin(), text.end(), [](char byte) { return byte == 0 || byte == 1; });
    if (text.size() + static_cast<std::size_t>(escapes) <= 3) expected += 5;
  }
  EXPECT_EQ(accepted, expected);
}

// ---- any tuples

std::string any_text() {
  return *rc::gen::container<std::string>(rc::gen::element('\x00', '\x01', '\x02', 'a', '\xfe', '\xff'));
}

std::size_t any_below(std::size_t end) { return *rc::gen::inRange<std::size_t>(0, end); }

template <class T>
T any_column() {
  if constexpr (std::is_same_v<T, std::string>) {
    return any_text();
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    if (any_below(2) == 0) return static_cast<T>(*rc::gen::arbitrary<std::uint64_t>());
  }
  if constexpr (!std::is_same_v<T, std::string>) {
    const auto edges = ascending_edges<T>();
    return edges[any_below(edges.size())];
  }
}

/// The same, something new, or for a string one that shares a beginning with it.
template <class T>
T any_relative(const T& of) {
  const std::size_t choice = any_below(4);
  if (choice < 2) return of;
  if constexpr (std::is_same_v<T, std::string>) {
    const std::string beginning = of.substr(0, any_below(of.size() + 1));
    return choice == 2 ? beginning : beginning + any_text();
  }
  return any_column<T>();
}

template <class... Columns>
void check_any_two() {
  EXPECT_TRUE(rc::check([] {
    for (int i = 0; i < 10; ++i) {
      const std::tuple<Columns...> a{any_column<Columns>()...};
      const auto b = std::apply([](const auto&... of) { return std::tuple<Columns...>{any_relative(of)...}; }, a);
      RC_ASSERT(key_comes_back(a));
      RC_ASSERT(key_comes_back(b));
      RC_ASSERT((key_of(a) <=> key_of(b)) == tuple_order(a, b));
      if constexpr (!(std::is_floating_point_v<Columns> || ...)) RC_ASSERT((key_of(a) < key_of(b)) == (a < b));
    }
  }));
}

TEST(byte_key, any_string_and_byte) { check_any_two<std::string, std::uint8_t>(); }
TEST(byte_key, any_two_strings) { check_any_two<std::string, std::string>(); }
TEST(byte_key, any_numbers) { check_any_two<std::int16_t, double, std::uint64_t, bool, float>(); }
TEST(byte_key, any_number_between_strings) { check_any_two<std::string, std::int64_t, std::string>(); }
TEST(byte_key, any_strings_between_floats) { check_any_two<float, std::string, std::string, double>(); }
TEST(byte_key, any_strings_and_times) { check_any_two<std::string, key_day, bool, std::string, key_time>(); }

// ---- prefixes

TEST(byte_key, after_prefix_is_the_least_string_above_all_that_begin_so) {
  const auto strings = all_strings("\x00\x01\x7f\x80\xfe\xff"sv, 3);
  for (const std::string& prefix : strings) {
    const auto after = byte_key_after_prefix(prefix);
    EXPECT_EQ(after.has_value(), prefix.find_first_not_of('\xff') != std::string::npos);
    const std::string above_the_rest = prefix + std::string(8, '\xff');  // above every shorter one that begins so
    for (const std::string& text : strings) {
      if (!after) {
        ASSERT_LT(text, above_the_rest);
      } else if (text < *after) {
        ASSERT_LT(text, above_the_rest);
      } else {
        ASSERT_FALSE(text.starts_with(prefix));
      }
    }
  }
}

TEST(byte_key, leading_columns_and_beginnings_of_strings_are_ranges) {
  const auto strings = all_strings("\x00\x01\x02\xff"sv, 2);
  for (const std::string& wanted : strings) {
    std::string column;
    append_key_bytes(column, std::int16_t{-1});
    append_key_bytes(column, wanted);
    const std::string beginning = column.substr(0, column.size() - 1);
    const auto in_range = [](std::string_view prefix, const std::string& key) {
      return prefix <= key && key < byte_key_after_prefix(prefix).value();
    };
    for (const auto& [text, last] : all_pairs(strings, strings)) {
      for (const auto number : {std::int16_t{-2}, std::int16_t{-1}, std::int16_t{0}}) {
        const std::string key = byte_key(number, text, last);
        ASSERT_EQ(in_range(column, key), number == -1 && text == wanted);
        ASSERT_EQ(in_range(beginning, key), number == -1 && text.starts_with(wanted));
      }
    }
  }
}

}  // namespace
}  // namespace espalier::test
