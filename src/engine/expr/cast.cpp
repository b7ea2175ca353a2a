#include "engine/expr/cast.hpp"

#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/api_scalar.h>
#include <arrow/compute/cast.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <fmt/format.h>

#include <cctype>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "engine/error.hpp"
#include "engine/expr/decimal_double.hpp"
#include "engine/expr/kernels.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/expr/text_pieces.hpp"
#include "engine/text_values.hpp"

namespace espalier::engine {
namespace {

namespace compute = arrow::compute;

// PostgreSQL rounds ties of numeric away from zero and ties of floats to even.
arrow::Datum rounded_float(const arrow::Datum& value, int position) {
  return value_of(compute::Round(value, compute::RoundOptions(0, compute::RoundMode::HALF_TO_EVEN)), position);
}

// Rounding may add a digit (9.9 becomes 10), and Arrow requires the precision for it before it rounds.
arrow::Datum rounded_decimal(const arrow::Datum& value, int precision, int scale, int digits, int position) {
  const bool narrow = precision < max_decimal_precision;
  const auto roomy = narrow ? arrow::decimal128(precision + 1, scale) : arrow::decimal256(precision + 1, scale);
  const auto wide = value_of(compute::Cast(value, roomy), position);
  const compute::RoundOptions away_from_zero(digits, compute::RoundMode::HALF_TOWARDS_INFINITY);
  return value_of(compute::Round(wide, away_from_zero), position);
}

[[noreturn]] void refuse_text(std::string_view text, const column_type& to, int position) {
  if (to.id == type_id::date)
    throw_sql_error(codes::invalid_datetime_format, position,
                    fmt::format("'{}' is not a valid date; write YYYY-MM-DD.", text));
  if (to.id == type_id::timestamp) {
    throw_sql_error(codes::invalid_datetime_format, position,
                    fmt::format("'{}' is not a valid timestamp; write YYYY-MM-DD HH:MM:SS.", text));
  }
  if (is_integer(to.id)) {
    throw_sql_error(codes::invalid_text_representation, position,
                    fmt::format("'{}' cannot be cast to {}: write a whole number that fits it.", text, sql_name(to)));
  }
  throw_sql_error(codes::invalid_text_representation, position,
                  fmt::format("'{}' cannot be cast to {}.", text, sql_name(to)));
}

// Extracts the value, with its quotes, from an Arrow error message.
std::string quoted_value(const arrow::Status& problem) {
  const auto& text = problem.message();
  const auto first = text.find('\'');
  const auto last = text.rfind('\'');
  return first == last ? "A text" : text.substr(first, last - first + 1);
}

// A text is read with the maximum number of decimal places and then rounded to the requested scale.
constexpr int text_digits = 75, text_scale = 37;
arrow::Datum number_in_text(const arrow::Datum& text, int position) {
  const auto read = compute::Cast(text, arrow::decimal256(text_digits, text_scale));
  if (!read.ok())
    throw_sql_error(codes::invalid_text_representation, position,
                    quoted_value(read.status()) + " is no number of at most 38 digits.");
  return *read;
}

bool any_is_true(const arrow::Datum& booleans, int position) {
  if (booleans.is_scalar()) return booleans.scalar()->is_valid && booleans.scalar_as<arrow::BooleanScalar>().value;
  const auto any = call_kernel("any", {booleans}, position);  // NULL if there is no value at all
  return any.scalar()->is_valid && any.scalar_as<arrow::BooleanScalar>().value;
}

[[noreturn]] void refuse_size(const column_type& from, const column_type& to, int position) {
  throw_sql_error(codes::numeric_value_out_of_range, position,
                  fmt::format("A value of type {} does not fit {}.", sql_name(from), sql_name(to)));
}

// Rounds in double. 2^63 does not fit bigint, and converting it is undefined behaviour in C++; Arrow converts it
// nevertheless.
arrow::Datum float_as_integer(const arrow::Datum& value, const column_type& from, const column_type& to, int position) {
  const auto wide = rounded_float(value_of(compute::Cast(value, arrow::float64()), position), position);
  if (to.id == type_id::int64 &&
      any_is_true(call_kernel("greater_equal", {wide, arrow::Datum(9223372036854775808.0)}, position), position)) {
    refuse_size(from, to, position);
  }
  return wide;
}

// Accepts PostgreSQL's boolean texts: true, t, yes, y, on, 1, their opposites, and prefixes of the long words.
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

// Converts each text by `read`, which throws for invalid texts. NULL is converted to NULL.
template <class Type, class Read>
arrow::Datum each_text(const arrow::Datum& value, const std::shared_ptr<arrow::DataType>& type, const Read& read) {
  using traits = arrow::TypeTraits<Type>;
  if (value.is_scalar()) {
    if (!value.scalar()->is_valid) return arrow::MakeNullScalar(type);
    return value_of(arrow::MakeScalar(type, read(value.scalar_as<arrow::StringScalar>().view())));
  }
  const auto array = value.make_array();
  const auto& strings = static_cast<const arrow::StringArray&>(*array);
  typename traits::BuilderType builder(type, arrow::default_memory_pool());
  check(builder.Reserve(strings.length()));
  for (std::int64_t i = 0; i < strings.length(); ++i) {
    if (strings.IsNull(i)) {
      builder.UnsafeAppendNull();
    } else {
      builder.UnsafeAppend(read(strings.GetView(i)));
    }
  }
  return value_of(builder.Finish());
}

template <class Type>
arrow::Datum text_to_integers(const arrow::Datum& value, const column_type& to, int position) {
  using number = typename Type::c_type;
  return each_text<Type>(value, arrow_type(to), [&](std::string_view text) {
    const auto out = integer_in(text);
    if (!out || *out < std::numeric_limits<number>::min() || *out > std::numeric_limits<number>::max()) {
      refuse_text(text, to, position);
    }
    return static_cast<number>(*out);
  });
}

template <class Type, class Read>
arrow::Datum text_to_values(const arrow::Datum& value, const column_type& to, int position, const Read& read) {
  return each_text<Type>(value, arrow_type(to), [&](std::string_view text) {
    const auto out = read(text);
    if (!out) refuse_text(text, to, position);
    return *out;
  });
}

arrow::Datum text_to_boolean(const arrow::Datum& value, int position) {
  return each_text<arrow::BooleanType>(value, arrow::boolean(), [&](std::string_view text) {
    const auto out = truth_of(std::string(text));
    if (!out)
      throw_sql_error(codes::invalid_text_representation, position,
                      fmt::format("A value cannot be cast from varchar to boolean: '{}'.", text));
    return *out;
  });
}

// Converts to all types except decimal and varchar.
arrow::Datum text_to(const arrow::Datum& value, const column_type& to, int position) {
  switch (to.id) {
    case type_id::boolean:
      return text_to_boolean(value, position);
    case type_id::int8:
      return text_to_integers<arrow::Int8Type>(value, to, position);
    case type_id::int16:
      return text_to_integers<arrow::Int16Type>(value, to, position);
    case type_id::int32:
      return text_to_integers<arrow::Int32Type>(value, to, position);
    case type_id::int64:
      return text_to_integers<arrow::Int64Type>(value, to, position);
    case type_id::float32:
      return text_to_values<arrow::FloatType>(value, to, position, float_in<float>);
    case type_id::float64:
      return text_to_values<arrow::DoubleType>(value, to, position, float_in<double>);
    case type_id::date:
      return text_to_values<arrow::Date32Type>(value, to, position, date_in);
    default:
      return text_to_values<arrow::TimestampType>(value, to, position, timestamp_in);
  }
}

template <class Type, class Write>
arrow::Datum texts_of(const arrow::Datum& value, const Write& write) {
  using traits = arrow::TypeTraits<Type>;
  if (value.is_scalar()) {
    if (!value.scalar()->is_valid) return arrow::MakeNullScalar(arrow::utf8());
    const auto& scalar = value.scalar_as<typename traits::ScalarType>();
    return arrow::Datum(std::make_shared<arrow::StringScalar>(write(scalar.value)));
  }
  const auto array = value.make_array();
  const auto& values = static_cast<const typename traits::ArrayType&>(*array);
  arrow::StringBuilder builder;
  for (std::int64_t i = 0; i < values.length(); ++i) {
    check(values.IsNull(i) ? builder.AppendNull() : builder.Append(write(values.Value(i))));
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

// Prepares the value so that Arrow's cast, which does not round, converts it to `to` or rejects it.
arrow::Datum ready_for_arrow(const arrow::Datum& value, const column_type& from, const column_type& to, int position) {
  if (from.id == type_id::decimal) {
    const int digits = is_integer(to.id) ? 0 : to.id == type_id::decimal ? to.scale : from.scale;
    return digits < from.scale ? rounded_decimal(value, from.precision, from.scale, digits, position) : value;
  }
  if (is_float(from.id) && is_integer(to.id)) return float_as_integer(value, from, to, position);
  // Arrow requires a precision that fits every value of the integer type; here only the actual values have to fit.
  if (is_integer(from.id) && to.id == type_id::decimal)
    return value_of(compute::Cast(value, arrow::decimal128(19, 0)), position);
  if (from.id == type_id::varchar) {
    const auto text = call_kernel("ascii_trim_whitespace", {value}, position);
    return rounded_decimal(number_in_text(text, position), text_digits, text_scale, to.scale, position);
  }
  if (from.id == type_id::timestamp && to.id == type_id::date) {  // rounds down to the day, also before 1970
    const compute::RoundTemporalOptions day(1, compute::CalendarUnit::DAY);
    return value_of(compute::FloorTemporal(value, day), position);
  }
  return value;
}

}  // namespace

arrow::Datum cast(const arrow::Datum& value, const column_type& from, const column_type& to, int position) {
  if (from == to) return value;
  if (!can_cast(from, to))
    throw_sql_error(codes::cannot_coerce, position,
                    fmt::format("{} cannot be cast to {}.", sql_name(from), sql_name(to)));
  if (from.id == type_id::varchar && to.id != type_id::decimal) return text_to(value, to, position);
  if (from.id == type_id::decimal && is_float(to.id)) return decimals_as_floats(value, arrow_type(to));
  if (to.id == type_id::varchar) {
    if (from.id == type_id::float32) return texts_of<arrow::FloatType>(value, text_of_float<float>);
    if (from.id == type_id::float64) return texts_of<arrow::DoubleType>(value, text_of_float<double>);
    if (from.id == type_id::date) return texts_of<arrow::Date32Type>(value, text_of_date);
    if (from.id == type_id::timestamp) return texts_of<arrow::TimestampType>(value, text_of_timestamp);
  }
  const auto source = ready_for_arrow(value, from, to, position);
  compute::CastOptions options = compute::CastOptions::Safe(arrow_type(to));
  // A conversion to double rounds to the nearest value and loses digits by design.
  options.allow_float_truncate = is_float(to.id);
  options.allow_int_overflow = is_float(to.id) && is_integer(from.id);
  options.allow_time_truncate = from.id == type_id::timestamp && to.id == type_id::date;
  const auto result = compute::Cast(source, options);
  if (!result.ok()) {
    if (result.status().IsCapacityError()) throw text_overflow(position);
    if (is_numeric(from.id) && is_numeric(to.id)) refuse_size(from, to, position);
    throw_sql_error(position, fmt::format("A value cannot be cast from {} to {}: {}.", sql_name(from), sql_name(to),
                                          result.status().message()));
  }
  if (to.id == type_id::float32 && from.id == type_id::float64) {
    const auto became_infinite = call_kernel(
        "and_not", {call_kernel("is_inf", {*result}, position), call_kernel("is_inf", {source}, position)}, position);
    if (any_is_true(became_infinite, position)) refuse_size(from, to, position);
  }
  return *result;
}

}  // namespace espalier::engine
