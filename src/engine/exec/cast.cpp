#include "engine/exec/cast.hpp"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/api_scalar.h>
#include <arrow/compute/cast.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include <cctype>
#include <optional>
#include <string>

#include "engine/exec/arrow_result.hpp"
#include "engine/exec/kernels.hpp"
#include "engine/sql/error.hpp"

namespace espalier::engine {
namespace {

namespace compute = arrow::compute;

// PostgreSQL rounds numeric away from zero and floats to even where two integers are equally near.
arrow::Datum rounded_float(const arrow::Datum& value, int position) {
  return value_of(compute::Round(value, compute::RoundOptions(0, compute::RoundMode::HALF_TO_EVEN)), position);
}

// With a digit more in front, for 9.9 becomes 10: Arrow wants room for it before it rounds.
arrow::Datum rounded_decimal(const arrow::Datum& value, int precision, int scale, int digits, int position) {
  const bool narrow = precision < max_decimal_precision;
  const auto roomy = narrow ? arrow::decimal128(precision + 1, scale) : arrow::decimal256(precision + 1, scale);
  const auto wide = value_of(compute::Cast(value, roomy), position);
  const compute::RoundOptions away_from_zero(digits, compute::RoundMode::HALF_TOWARDS_INFINITY);
  return value_of(compute::Round(wide, away_from_zero), position);
}

// Of a sentence of Arrow's the value, with its quotes.
std::string quoted_value(const arrow::Status& problem) {
  const auto& text = problem.message();
  const auto first = text.find('\'');
  const auto last = text.rfind('\'');
  return first == last ? "A text" : text.substr(first, last - first + 1);
}

[[noreturn]] void refuse_text(const arrow::Status& problem, const column_type& to, int position) {
  const auto value = quoted_value(problem);
  if (to.id == type_id::date) refuse(position, value + " is no date; write YYYY-MM-DD.");
  if (to.id == type_id::timestamp) refuse(position, value + " is no timestamp; write YYYY-MM-DD HH:MM:SS.");
  if (is_integer(to.id)) {
    refuse(position, fmt::format("{} cannot be cast to {}: write a whole number that fits it.", value, sql_name(to)));
  }
  refuse(position, fmt::format("{} cannot be cast to {}.", value, sql_name(to)));
}

// Text as a number with as many digits behind the point as there may be, to be rounded to those that are wanted.
constexpr int text_digits = 75, text_scale = 37;
arrow::Datum number_in_text(const arrow::Datum& text, int position) {
  const auto read = compute::Cast(text, arrow::decimal256(text_digits, text_scale));
  if (!read.ok()) refuse(position, quoted_value(read.status()) + " is no number of at most 38 digits.");
  return *read;
}

bool any_is_true(const arrow::Datum& booleans, int position) {
  if (booleans.is_scalar()) return booleans.scalar()->is_valid && booleans.scalar_as<arrow::BooleanScalar>().value;
  const auto any = call_kernel("any", {booleans}, position);  // NULL where there is no value at all
  return any.scalar()->is_valid && any.scalar_as<arrow::BooleanScalar>().value;
}

[[noreturn]] void refuse_size(const column_type& from, const column_type& to, int position) {
  refuse(position, fmt::format("A value of type {} does not fit {}.", sql_name(from), sql_name(to)));
}

// Rounded, as doubles. 2^63 is no bigint, and converting it to one is undefined in C++: Arrow tries.
arrow::Datum float_as_integer(const arrow::Datum& value, const column_type& from, const column_type& to, int position) {
  const auto wide = rounded_float(value_of(compute::Cast(value, arrow::float64()), position), position);
  if (to.id == type_id::int64 &&
      any_is_true(call_kernel("greater_equal", {wide, arrow::Datum(9223372036854775808.0)}, position), position)) {
    refuse_size(from, to, position);
  }
  return wide;
}

arrow::Datum without_zeros(const arrow::Datum& text, int position) {
  // Arrow writes all six digits of a second's fraction, PostgreSQL those that say something.
  const compute::ReplaceSubstringOptions zeros(R"((\.\d*?)0+$)", R"(\1)");
  const compute::ReplaceSubstringOptions point(R"(\.$)", "");
  const auto shorter = call_kernel("replace_substring_regex", {text}, position, &zeros);
  return call_kernel("replace_substring_regex", {shorter}, position, &point);
}

// As PostgreSQL reads booleans: true, t, yes, y, on, 1, their opposites, and prefixes of the long words.
std::optional<bool> truth_of(std::string text) {
  const auto first = text.find_first_not_of(" \t\n");
  const auto last = text.find_last_not_of(" \t\n");
  if (first == std::string::npos) return std::nullopt;
  text = text.substr(first, last - first + 1);
  for (auto& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto begins = [&](std::string_view word) { return word.starts_with(text); };
  if (text == "1" || text == "on" || begins("true") || begins("yes")) return true;
  if (text == "0" || text == "of" || text == "off" || begins("false") || begins("no")) return false;
  return std::nullopt;
}

arrow::Datum text_to_boolean(const arrow::Datum& value, int position) {
  const auto parsed = [&](std::string_view text) {
    const auto out = truth_of(std::string(text));
    if (!out) refuse(position, fmt::format("A value cannot be cast from varchar to boolean: '{}'.", text));
    return *out;
  };
  if (value.is_scalar()) {
    if (!value.scalar()->is_valid) return arrow::MakeNullScalar(arrow::boolean());
    return arrow::Datum(parsed(value.scalar_as<arrow::StringScalar>().view()));
  }
  const auto array = value.make_array();
  const auto& strings = static_cast<const arrow::StringArray&>(*array);
  arrow::BooleanBuilder builder;
  for (std::int64_t i = 0; i < strings.length(); ++i) {
    check(strings.IsNull(i) ? builder.AppendNull() : builder.Append(parsed(strings.GetView(i))));
  }
  return value_of(builder.Finish());
}

}  // namespace

bool can_cast(const column_type& from, const column_type& to) {
  if (from.id == to.id || from.id == type_id::varchar || to.id == type_id::varchar) return true;
  if (is_numeric(from.id) && is_numeric(to.id)) return true;
  if (from.id == type_id::boolean || to.id == type_id::boolean) {
    return is_integer(from.id) || is_integer(to.id);
  }
  const auto is_time = [](type_id id) { return id == type_id::date || id == type_id::timestamp; };
  return is_time(from.id) && is_time(to.id);
}

namespace {

// The value as Arrow's cast, which rounds nothing, turns it into `to` or refuses it.
arrow::Datum ready_for_arrow(const arrow::Datum& value, const column_type& from, const column_type& to, int position) {
  if (from.id == type_id::decimal) {
    const int digits = is_integer(to.id) ? 0 : to.id == type_id::decimal ? to.scale : from.scale;
    return digits < from.scale ? rounded_decimal(value, from.precision, from.scale, digits, position) : value;
  }
  if (is_float(from.id) && is_integer(to.id)) return float_as_integer(value, from, to, position);
  // Arrow wants digits for every value of the integer's type; whether these values fit is what counts.
  if (is_integer(from.id) && to.id == type_id::decimal)
    return value_of(compute::Cast(value, arrow::decimal128(19, 0)), position);
  if (from.id == type_id::varchar && to.id != type_id::varchar) {
    const auto text = call_kernel("ascii_trim_whitespace", {value}, position);
    if (to.id != type_id::decimal) return text;
    return rounded_decimal(number_in_text(text, position), text_digits, text_scale, to.scale, position);
  }
  if (from.id == type_id::timestamp && to.id == type_id::date) {  // the day that it is in, before 1970 too
    const compute::RoundTemporalOptions day(1, compute::CalendarUnit::DAY);
    return value_of(compute::FloorTemporal(value, day), position);
  }
  return value;
}

}  // namespace

arrow::Datum cast(const arrow::Datum& value, const column_type& from, const column_type& to, int position) {
  if (from == to) return value;
  if (!can_cast(from, to)) refuse(position, fmt::format("{} cannot be cast to {}.", sql_name(from), sql_name(to)));
  if (from.id == type_id::varchar && to.id == type_id::boolean) return text_to_boolean(value, position);
  const auto source = ready_for_arrow(value, from, to, position);
  compute::CastOptions options = compute::CastOptions::Safe(arrow_type(to));
  // Lossy by nature: a double takes the nearest value.
  options.allow_float_truncate = is_float(to.id);
  options.allow_int_overflow = is_float(to.id) && is_integer(from.id);
  options.allow_time_truncate = from.id == type_id::timestamp && to.id == type_id::date;
  const auto result = compute::Cast(source, options);
  if (!result.ok()) {
    if (is_numeric(from.id) && is_numeric(to.id)) refuse_size(from, to, position);
    if (from.id == type_id::varchar) refuse_text(result.status(), to, position);
    refuse(position, fmt::format("A value cannot be cast from {} to {}: {}.", sql_name(from), sql_name(to),
                                 result.status().message()));
  }
  if (to.id == type_id::float32 && from.id == type_id::float64) {
    const auto became_infinite = call_kernel(
        "and_not", {call_kernel("is_inf", {*result}, position), call_kernel("is_inf", {source}, position)}, position);
    if (any_is_true(became_infinite, position)) refuse_size(from, to, position);
  }
  if (from.id == type_id::timestamp && to.id == type_id::varchar) return without_zeros(*result, position);
  return *result;
}

}  // namespace espalier::engine
