#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/api_scalar.h>
#include <arrow/compute/cast.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <algorithm>
#include <string>

#include "engine/error.hpp"
#include "engine/expr/cast.hpp"
#include "engine/expr/kernels.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/expr/text_pieces.hpp"
#include "engine/memory_budget.hpp"
#include "engine/table/text_limit.hpp"

namespace espalier::engine {
namespace {

namespace compute = arrow::compute;

// Returns a constant argument, or nothing for NULL, which makes the result NULL.
std::optional<std::string> constant_text(const arrow::Datum& value, const expr& e) {
  if (!value.is_scalar()) throw_sql_error(e.position, "This argument of " + e.name + " has to be a constant.");
  if (!value.scalar()->is_valid) return std::nullopt;
  return value.scalar_as<arrow::StringScalar>().value->ToString();
}

std::optional<std::int64_t> constant_number(const arrow::Datum& value, const expr& e) {
  if (!value.is_scalar()) throw_sql_error(e.position, "This argument of " + e.name + " has to be a constant.");
  if (!value.scalar()->is_valid) return std::nullopt;
  return value.scalar_as<arrow::Int32Scalar>().value;
}

arrow::Datum null_of(const expr& e) { return arrow::MakeNullScalar(arrow_type(e.type)); }

// Returns the scale of decimals. For floats it is more digits than round accepts.
int scale_of(const arrow::Datum& value) {
  constexpr int of_floats = 39;
  if (value.type()->id() != arrow::Type::DECIMAL128) return of_floats;
  return static_cast<const arrow::Decimal128Type&>(*value.type()).scale();
}

// Rounding may add a digit (9.9 becomes 10), and Arrow requires the precision for it before it rounds.
arrow::Datum roomy(const expr& e, const arrow::Datum& value) {
  if (value.type()->id() != arrow::Type::DECIMAL128) return value;
  const auto& type = static_cast<const arrow::Decimal128Type&>(*value.type());
  const bool narrow = type.precision() < max_decimal_precision;
  return value_of(compute::Cast(value, narrow ? arrow::decimal128(type.precision() + 1, type.scale())
                                              : arrow::decimal256(type.precision() + 1, type.scale())),
                  e.position);
}

// Converts rounded decimals to the scale of the result.
arrow::Datum as_answer(const expr& e, const arrow::Datum& value) {
  const auto type = arrow_type(e.type);
  if (value.type()->Equals(*type)) return value;
  const auto out = compute::Cast(value, type);
  if (!out.ok())
    throw_sql_error(codes::numeric_value_out_of_range, e.position, "The rounded number has more than 38 digits.");
  return *out;
}

arrow::Datum number_function(const expr& e, const std::vector<arrow::Datum>& args) {
  if (e.name == "abs") return call_kernel("abs_checked", args, e.position);
  if (is_integer(e.type.id)) return args[0];
  if (e.name == "round") {
    const auto digits = args.size() == 2 ? constant_number(args[1], e) : 0;
    if (!digits) return null_of(e);
    const auto mode =
        e.type.id == type_id::decimal ? compute::RoundMode::HALF_TOWARDS_INFINITY : compute::RoundMode::HALF_TO_EVEN;
    if (*digits > 38 || *digits < -38)
      throw_sql_error(codes::invalid_parameter_value, e.position, "round takes at most 38 digits.");
    if (*digits >= scale_of(args[0])) return as_answer(e, args[0]);
    return as_answer(e, value_of(compute::Round(roomy(e, args[0]), compute::RoundOptions(*digits, mode)), e.position));
  }
  return as_answer(e, call_kernel(e.name == "floor"   ? "floor"
                                  : e.name == "trunc" ? "trunc"
                                                      : "ceil",
                                  {roomy(e, args[0])}, e.position));
}

std::optional<compute::CalendarUnit> calendar_unit(const std::string& field) {
  if (field == "year") return compute::CalendarUnit::YEAR;
  if (field == "quarter") return compute::CalendarUnit::QUARTER;
  if (field == "month") return compute::CalendarUnit::MONTH;
  if (field == "week") return compute::CalendarUnit::WEEK;
  if (field == "day") return compute::CalendarUnit::DAY;
  if (field == "hour") return compute::CalendarUnit::HOUR;
  if (field == "minute") return compute::CalendarUnit::MINUTE;
  if (field == "second") return compute::CalendarUnit::SECOND;
  if (field == "milliseconds" || field == "millisecond") return compute::CalendarUnit::MILLISECOND;
  return std::nullopt;
}

arrow::Datum field_of(const expr& e, const std::string& field, const arrow::Datum& time) {
  const int at = e.position;
  if (field == "second") {
    const auto whole = value_of(compute::Cast(call_kernel("second", {time}, at), arrow::float64()), at);
    return call_kernel("add", {whole, call_kernel("subsecond", {time}, at)}, at);
  }
  if (field == "epoch") {
    const auto micros = value_of(compute::Cast(time, arrow::int64()), at);
    const auto exact = value_of(compute::Cast(micros, compute::CastOptions::Unsafe(arrow::float64())), at);
    return call_kernel("divide", {exact, arrow::Datum(1e6)}, at);
  }
  if (field == "dow" || field == "isodow") {
    const compute::DayOfWeekOptions from_one(/*count_from_zero=*/field == "dow", /*week_start=*/field == "dow" ? 7 : 1);
    return call_kernel("day_of_week", {time}, at, &from_one);
  }
  const char* name = field == "doy" ? "day_of_year" : field == "week" ? "iso_week" : field.c_str();
  return call_kernel(name, {time}, at);
}

// Arrow's years have 16 bits.
void refuse_far_years(const expr& e, const arrow::Datum& time) {
  constexpr std::int64_t farthest = std::int64_t{11'000'000} * 86'400'000'000;  // about 30,000 years
  const auto check_time = [&](std::int64_t micros) {
    if (micros > farthest || micros < -farthest)
      throw_sql_error(codes::datetime_overflow, e.position, "The timestamp is out of range.");
  };
  if (time.is_scalar()) {
    if (time.scalar()->is_valid) check_time(time.scalar_as<arrow::TimestampScalar>().value);
    return;
  }
  const auto array = time.make_array();
  const auto& times = static_cast<const arrow::TimestampArray&>(*array);
  for (std::int64_t i = 0; i < times.length(); ++i) {
    if (times.IsValid(i)) check_time(times.Value(i));
  }
}

arrow::Datum time_function(const expr& e, const std::vector<arrow::Datum>& args) {
  const auto field = constant_text(args[0], e);
  if (!field) return null_of(e);
  if (*field != "epoch") refuse_far_years(e, args[1]);
  if (e.name != "date_trunc") {
    const auto out = field_of(e, *field, args[1]);
    return out.type()->Equals(arrow_type(e.type)) ? out : value_of(compute::Cast(out, arrow_type(e.type)), e.position);
  }
  const auto unit = calendar_unit(*field);
  if (!unit) throw_sql_error(e.position, "The field '" + *field + "' is not supported by date_trunc.");
  return value_of(compute::FloorTemporal(args[1], compute::RoundTemporalOptions(1, *unit)), e.position);
}

// substring(s from a for n): positions start at 1, and positions below 1 count towards n.
arrow::Datum substring(const expr& e, const std::vector<arrow::Datum>& args) {
  const auto from = constant_number(args[1], e);
  const auto count = args.size() == 3 ? constant_number(args[2], e) : std::optional<std::int64_t>(1LL << 40);
  if (!from || !count) return null_of(e);
  if (*count < 0) throw_sql_error(codes::substring_error, e.position, "The length of a substring cannot be negative.");
  const std::int64_t start = std::max<std::int64_t>(*from - 1, 0);
  const std::int64_t stop = std::max<std::int64_t>(*from - 1 + *count, start);
  const compute::SliceOptions options(start, stop);
  return call_kernel("utf8_slice_codeunits", {args[0]}, e.position, &options);
}

// The offsets of Arrow's texts have 32 bits, and its kernel does not check for overflow.
arrow::Datum replaced(const expr& e, const arrow::Datum& texts, const std::string& pattern,
                      const std::string& replacement) {
  const compute::MatchSubstringOptions wanted(pattern);
  const auto found = call_kernel("sum", {call_kernel("count_substring", {texts}, e.position, &wanted)}, e.position);
  if (found.scalar()->is_valid) {
    const auto count = found.scalar_as<arrow::Int64Scalar>().value;
    const auto growth = std::max<std::int64_t>(std::ssize(replacement) - std::ssize(pattern), 0);
    std::int64_t more = 0;
    if (__builtin_mul_overflow(count, growth, &more) || more > most_text_bytes()) throw text_overflow(e.position);
    require_text_fits(text_bytes(texts, 1) + more, e.position);
    require_memory(static_cast<std::size_t>(text_bytes(texts, 1) + more));
  }
  const compute::ReplaceSubstringOptions options(pattern, replacement);
  return call_kernel("replace_substring", {texts}, e.position, &options);
}

// Changing the case of Unicode letters may triple the bytes, and Arrow allocates for that; ASCII does not grow.
arrow::Datum in_other_case(const expr& e, const std::vector<arrow::Datum>& args) {
  const bool lower = e.name == "lower";
  const bool is_long = text_bytes(args[0], 1) > most_text_bytes() / 3;
  const auto is_ascii = [&] {
    const auto all = call_kernel("string_is_ascii", args, e.position);
    if (all.is_scalar()) return !all.scalar()->is_valid || all.scalar_as<arrow::BooleanScalar>().value;
    const auto every = call_kernel("all", {all}, e.position);  // NULL if there are no values
    return !every.scalar()->is_valid || every.scalar_as<arrow::BooleanScalar>().value;
  };
  if (is_long && is_ascii()) return call_kernel(lower ? "ascii_lower" : "ascii_upper", args, e.position);
  return call_kernel(lower ? "utf8_lower" : "utf8_upper", args, e.position);
}

arrow::Datum text_function(const expr& e, const std::vector<arrow::Datum>& args) {
  const int at = e.position;
  if (e.name == "length" || e.name == "char_length") return call_kernel("utf8_length", args, at);
  if (e.name == "lower" || e.name == "upper") return in_other_case(e, args);
  if (e.name == "reverse") return call_kernel("utf8_reverse", args, at);
  if (e.name == "substring" || e.name == "substr") return substring(e, args);
  if (is_text_kernel(e.name)) return text_kernel_values(e, args);
  if (e.name == "concat_texts") {
    const arrow::Datum nothing(std::make_shared<arrow::StringScalar>(""));
    return call_kernel("binary_join_element_wise", {args[0], args[1], nothing}, at);
  }
  if (e.name == "starts_with") {
    const auto prefix = constant_text(args[1], e);
    if (!prefix) return null_of(e);
    const compute::MatchSubstringOptions options(*prefix);
    return call_kernel("starts_with", {args[0]}, at, &options);
  }
  if (e.name == "replace") {
    const auto pattern = constant_text(args[1], e);
    const auto replacement = constant_text(args[2], e);
    if (!pattern || !replacement) return null_of(e);
    if (pattern->empty()) return args[0];
    return replaced(e, args[0], *pattern, *replacement);
  }
  return call_kernel("binary_length", args, at);  // octet_length
}

// Converts seconds since 1970 to a timestamp, rounded to the nearest microsecond.
arrow::Datum epoch_timestamp(const expr& e, const arrow::Datum& seconds) {
  const auto micros = call_kernel("multiply", {seconds, arrow::Datum(1e6)}, e.position);
  const auto whole = cast(micros, {type_id::float64}, {type_id::int64}, e.position);
  return value_of(compute::Cast(whole, arrow_type(e.type)), e.position);
}

// The arguments are the value of a subquery and its row count; the result is NULL for no rows.
arrow::Datum single_row(const expr& e, const std::vector<arrow::Datum>& args) {
  const auto check_count = [&](const arrow::Int64Scalar& rows) {
    if (rows.is_valid && rows.value > 1) refuse_second_row(e.position);
  };
  if (args[1].is_scalar()) {
    check_count(args[1].scalar_as<arrow::Int64Scalar>());
  } else {
    const auto counts = args[1].make_array();
    const auto& numbers = static_cast<const arrow::Int64Array&>(*counts);
    for (std::int64_t i = 0; i < numbers.length(); ++i) {
      if (numbers.IsValid(i) && numbers.Value(i) > 1) refuse_second_row(e.position);
    }
  }
  return args[0];
}

}  // namespace

void refuse_second_row(int position) {
  throw_sql_error(codes::cardinality_violation, position,
                  "A subquery that stands for one value returned more than one row.");
}

arrow::Datum call_function(const expr& e, const std::vector<arrow::Datum>& args) {
  const int at = e.position;
  if (e.name == "abs" || e.name == "floor" || e.name == "ceil" || e.name == "ceiling" || e.name == "round" ||
      e.name == "trunc") {
    return number_function(e, args);
  }
  if (e.name == "extract" || e.name == "date_part" || e.name == "date_trunc") return time_function(e, args);
  if (is_time_arithmetic(e.name)) return time_arithmetic(e, args);
  if (e.name == "single_row") return single_row(e, args);
  if (e.name == "sqrt") return call_kernel("sqrt_checked", args, at);
  if (e.name == "exp") return call_kernel("exp", args, at);
  if (e.name == "ln") return call_kernel("ln_checked", args, at);
  if (e.name == "log" || e.name == "log10") return call_kernel("log10_checked", args, at);
  if (e.name == "sin" || e.name == "cos" || e.name == "tan" || e.name == "atan" || e.name == "atan2") {
    return call_kernel(e.name.c_str(), args, at);
  }
  if (e.name == "to_timestamp") return epoch_timestamp(e, args[0]);
  if (e.name == "power" || e.name == "pow") return call_kernel("power", args, at);
  return text_function(e, args);
}

}  // namespace espalier::engine
