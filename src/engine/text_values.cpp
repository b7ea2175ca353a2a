#include "engine/text_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>

namespace espalier::engine {
namespace {

constexpr std::int64_t micros_of_second = 1'000'000;
constexpr std::int64_t micros_of_day = 86'400 * micros_of_second;

std::string_view without_blanks(std::string_view text) {
  const auto is_blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool same_word(std::string_view text, std::string_view lower) {
  return std::ranges::equal(text, lower,
                            [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
}

// Converts between days since 1970 and dates of the Gregorian calendar. The years of std::chrono end at 32767.
struct civil_day {
  std::int64_t year;
  int month, day;
};

std::int64_t days_of(const civil_day& d) {
  const std::int64_t year = d.month <= 2 ? d.year - 1 : d.year;  // years start in March, so that leap days are last
  const std::int64_t era = (year >= 0 ? year : year - 399) / 400;
  const std::int64_t year_of_era = year - era * 400;
  const std::int64_t day_of_year = (153 * (d.month + (d.month > 2 ? -3 : 9)) + 2) / 5 + d.day - 1;
  const std::int64_t day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
  return era * 146'097 + day_of_era - 719'468;
}

civil_day day_of(std::int64_t days) {
  days += 719'468;
  const std::int64_t era = (days >= 0 ? days : days - 146'096) / 146'097;
  const std::int64_t day_of_era = days - era * 146'097;
  const std::int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36'524 - day_of_era / 146'096) / 365;
  const std::int64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const std::int64_t month_from_march = (5 * day_of_year + 2) / 153;
  const int month = static_cast<int>(month_from_march < 10 ? month_from_march + 3 : month_from_march - 9);
  const int day = static_cast<int>(day_of_year - (153 * month_from_march + 2) / 5 + 1);
  return {year_of_era + era * 400 + (month <= 2 ? 1 : 0), month, day};
}

// Reads from the front of a text; invalid input sets `ok` to false.
struct field_reader {
  std::string_view rest;
  bool ok = true;

  int number(std::size_t fewest, std::size_t most) {
    std::size_t digits = 0;
    int out = 0;
    while (digits < most && digits < rest.size() && is_digit(rest[digits])) out = out * 10 + (rest[digits++] - '0');
    ok &= digits >= fewest;
    rest.remove_prefix(digits);
    return out;
  }
  bool take(char c) {
    if (rest.empty() || rest[0] != c) return false;
    rest.remove_prefix(1);
    return true;
  }
  void expect(char c) { ok &= take(c); }
};

std::optional<std::int64_t> read_day(field_reader& from) {
  const bool negative = from.take('-');
  civil_day day{from.number(4, 7), 1, 1};
  from.expect('-');
  day.month = from.number(1, 2);
  from.expect('-');
  day.day = from.number(1, 2);
  if (negative) day.year = -day.year;
  if (!from.ok || day.month < 1 || day.month > 12 || day.day < 1) return std::nullopt;
  const auto days = days_of(day);
  const auto back = day_of(days);  // rejects February 30, which would be another day
  if (back.month != day.month || back.day != day.day) return std::nullopt;
  return days;
}

// Reads .ffffff; more digits are rounded.
std::int64_t read_fraction(field_reader& from) {
  std::int64_t micros = 0, unit = 100'000;
  bool any = false, round_up = false;
  for (std::size_t place = 0; !from.rest.empty() && is_digit(from.rest[0]); ++place, from.rest.remove_prefix(1)) {
    any = true;
    const int digit = from.rest[0] - '0';
    if (place == 6) round_up = digit >= 5;
    micros += digit * unit;
    unit /= 10;
  }
  from.ok &= any;
  return micros + (round_up ? 1 : 0);
}

std::optional<std::int64_t> read_clock(field_reader& from) {
  const int hour = from.number(1, 2);
  int minute = 0, second = 0;
  std::int64_t fraction = 0;
  if (from.take(':')) {
    minute = from.number(2, 2);
    if (from.take(':')) {
      second = from.number(2, 2);
      if (from.take('.')) fraction = read_fraction(from);
    }
  }
  if (!from.ok || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  return (hour * 3600 + minute * 60 + second) * micros_of_second + fraction;
}

// Accepts Z, +00 and +00:00. A timestamp has no zone, so any other zone would be lost.
bool read_zone(field_reader& from) {
  static_cast<void>(from.take(' '));
  if (from.take('Z') || from.take('z')) return from.rest.empty();
  if (!from.take('+') && !from.take('-')) return false;
  if (from.number(2, 2) != 0) return false;
  static_cast<void>(from.take(':'));
  return from.ok && (from.rest.empty() || (from.number(2, 2) == 0 && from.ok)) && from.rest.empty();
}

}  // namespace

std::optional<std::int64_t> integer_in(std::string_view text) {
  text = without_blanks(text);
  const bool signed_text = !text.empty() && (text[0] == '+' || text[0] == '-');
  if (text.size() < (signed_text ? 2U : 1U) || !is_digit(text[signed_text ? 1 : 0])) return std::nullopt;
  if (text[0] == '+') text.remove_prefix(1);
  std::int64_t out = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}

template <class Float>
std::optional<Float> float_in(std::string_view text) {
  text = without_blanks(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  const Float sign = negative ? Float{-1} : Float{1};
  if (same_word(text, "nan")) return std::numeric_limits<Float>::quiet_NaN();
  if (same_word(text, "inf") || same_word(text, "infinity")) return sign * std::numeric_limits<Float>::infinity();
  if (text.empty() || !(is_digit(text[0]) || text[0] == '.')) return std::nullopt;
  Float out = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return sign * out;
}

template std::optional<float> float_in<float>(std::string_view);
template std::optional<double> float_in<double>(std::string_view);

std::optional<std::int32_t> date_in(std::string_view text) {
  field_reader from{without_blanks(text)};
  const auto days = read_day(from);
  const bool fits = days && *days >= INT32_MIN && *days <= INT32_MAX;
  if (!fits || !from.rest.empty()) return std::nullopt;
  return static_cast<std::int32_t>(*days);
}

std::optional<std::int64_t> timestamp_in(std::string_view text) {
  field_reader from{without_blanks(text)};
  const auto days = read_day(from);
  if (!days) return std::nullopt;
  std::int64_t clock = 0;
  if (!from.rest.empty()) {
    if (!from.take(' ') && !from.take('T') && !from.take('t')) return std::nullopt;
    const auto read = read_clock(from);
    if (!read || (!from.rest.empty() && !read_zone(from))) return std::nullopt;
    clock = *read;
  }
  std::int64_t out = 0;
  if (__builtin_mul_overflow(*days, micros_of_day, &out) || __builtin_add_overflow(out, clock, &out)) {
    return std::nullopt;
  }
  return out;
}

template <class Float>
std::string text_of_float(Float value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  constexpr int first_exponent = sizeof(Float) == 8 ? 15 : 6;
  std::array<char, 64> buffer{};
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific).ptr;
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
  const auto mark = text.find('e');
  int exponent = 0;
  const auto* const digits = text.data() + mark + (text[mark + 1] == '+' ? 2 : 1);
  std::from_chars(digits, text.data() + text.size(), exponent);
  if (exponent < -4 || exponent >= first_exponent) return std::string(text);
  const auto fixed = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed).ptr;
  return {buffer.data(), fixed};
}

template std::string text_of_float<float>(float);
template std::string text_of_float<double>(double);

std::string text_of_date(std::int32_t days) {
  const auto day = day_of(days);
  return fmt::format("{}{:04}-{:02}-{:02}", day.year < 0 ? "-" : "", std::abs(day.year), day.month, day.day);
}

std::string text_of_timestamp(std::int64_t micros) {
  std::int64_t days = micros / micros_of_day, clock = micros % micros_of_day;
  if (clock < 0) {
    clock += micros_of_day;
    --days;
  }
  const std::int64_t seconds = clock / micros_of_second;
  auto out = fmt::format("{} {:02}:{:02}:{:02}", text_of_date(static_cast<std::int32_t>(days)), seconds / 3600,
                         seconds / 60 % 60, seconds % 60);
  if (const auto fraction = clock % micros_of_second; fraction != 0) {
    out += fmt::format(".{:06}", fraction);
    out.erase(out.find_last_not_of('0') + 1);
  }
  return out;
}

}  // namespace espalier::engine
