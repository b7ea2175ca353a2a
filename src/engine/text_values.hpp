// text_values.hpp - converts text to numbers and times and back, in PostgreSQL's formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::engine {

/// Accepts digits with an optional sign and surrounding blanks, but neither hexadecimal digits nor fractions.
[[nodiscard]] std::optional<std::int64_t> integer_in(std::string_view text);
/// Accepts a decimal number with an optional exponent, or inf, infinity, nan in any case. Returns nothing if it is out
/// of range.
template <class Float>
[[nodiscard]] std::optional<Float> float_in(std::string_view text);
/// Parses YYYY-MM-DD, with one or two digits for month and day, and returns days since 1970.
[[nodiscard]] std::optional<std::int32_t> date_in(std::string_view text);
/// Parses a date, or a date and HH[:MM[:SS[.ffffff]]] separated by a blank or T, optionally followed by Z or +00, and
/// returns microseconds since 1970.
[[nodiscard]] std::optional<std::int64_t> timestamp_in(std::string_view text);

/// Returns the fewest digits that are read as the same value, with an exponent from 10^15 on (float: 10^6) and below
/// 10^-4.
template <class Float>
[[nodiscard]] std::string text_of_float(Float value);
[[nodiscard]] std::string text_of_date(std::int32_t days);
/// Trailing zeros of the fraction of a second are omitted.
[[nodiscard]] std::string text_of_timestamp(std::int64_t micros);

}  // namespace espalier::engine
