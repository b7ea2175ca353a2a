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
arrow::Datum rounded(const arrow::Datum& value, const column_type& from, int digits, int position) {
  const auto mode =
      from.id == type_id::decimal ? compute::RoundMode::HALF_TOWARDS_INFINITY : compute::RoundMode::HALF_TO_EVEN;
  return value_of(compute::Round(value, compute::RoundOptions(digits, mode)), position);
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

arrow::Datum cast(const arrow::Datum& value, const column_type& from, const column_type& to, int position) {
  if (from == to) return value;
  if (!can_cast(from, to)) refuse(position, fmt::format("{} cannot be cast to {}.", sql_name(from), sql_name(to)));
  if (from.id == type_id::varchar && to.id == type_id::boolean) return text_to_boolean(value, position);
  arrow::Datum source = value;
  if (is_integer(from.id) && to.id == type_id::decimal) {
    // Arrow wants digits for every value of the integer's type; whether these values fit is what counts.
    source = value_of(compute::Cast(value, arrow::decimal128(19, 0)), position);
  }
  if (is_integer(to.id) && (is_float(from.id) || from.id == type_id::decimal))
    source = rounded(value, from, 0, position);
  if (to.id == type_id::decimal && from.id == type_id::decimal && from.scale > to.scale) {
    source = rounded(value, from, to.scale, position);
  }
  compute::CastOptions options = compute::CastOptions::Safe(arrow_type(to));
  // Rounded above, or lossy by nature: a double takes the nearest value, and a date is the day of a timestamp.
  options.allow_decimal_truncate = from.id == type_id::decimal && to.id == type_id::decimal && from.scale > to.scale;
  options.allow_float_truncate = is_float(to.id);
  options.allow_int_overflow = false;
  if (is_float(to.id) && is_integer(from.id)) options.allow_float_truncate = options.allow_int_overflow = true;
  options.allow_time_truncate = from.id == type_id::timestamp && to.id == type_id::date;
  if (to.id == type_id::decimal && is_float(from.id)) options.allow_decimal_truncate = true;
  if (options.allow_time_truncate) {
    const compute::RoundTemporalOptions day(1, compute::CalendarUnit::DAY);
    source = value_of(compute::FloorTemporal(source, day), position);
  }
  const auto result = compute::Cast(source, options);
  if (!result.ok()) {
    refuse(position, fmt::format("A value cannot be cast from {} to {}: {}.", sql_name(from), sql_name(to),
                                 result.status().message()));
  }
  if (from.id == type_id::timestamp && to.id == type_id::varchar) return without_zeros(*result, position);
  return *result;
}

}  // namespace espalier::engine
