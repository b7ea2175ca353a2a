// text_values.hpp - text as numbers and times and back, as PostgreSQL reads and writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::engine {

/// Digits with a sign or without; blanks around them are allowed, hexadecimal digits and fractions are not.
[[nodiscard]] std::optional<std::int64_t> integer_in(std::string_view text);
/// A decimal number with an exponent or without, or inf, infinity, nan in any case. None beyond the type's range.
template <class Float>
[[nodiscard]] std::optional<Float> float_in(std::string_view text);
/// YYYY-MM-DD, months and days with one digit or two: days since 1970.
[[nodiscard]] std::optional<std::int32_t> date_in(std::string_view text);
/// A date, or a date and HH[:MM[:SS[.ffffff]]] behind a blank or T, with Z or +00 at the end or without: microseconds
/// since 1970.
[[nodiscard]] std::optional<std::int64_t> timestamp_in(std::string_view text);

/// The fewest digits that are read as the same value; with an exponent from 10^15 on (float: 10^6) and below 10^-4.
template <class Float>
[[nodiscard]] std::string text_of_float(Float value);
[[nodiscard]] std::string text_of_date(std::int32_t days);
/// Digits of a second's fraction that say something only.
[[nodiscard]] std::string text_of_timestamp(std::int64_t micros);

}  // namespace espalier::engine
