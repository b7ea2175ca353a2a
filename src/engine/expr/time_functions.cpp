// time_functions.cpp - timestamp arithmetic that the binder generates for intervals (sql/interval.hpp): microseconds as
// integers, and months by the calendar.
#include <arrow/array.h>
#include <arrow/builder.h>
#include <arrow/compute/api_scalar.h>
#include <arrow/compute/cast.h>
#include <arrow/datum.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include <algorithm>
#include <chrono>

#include "engine/error.hpp"
#include "engine/expr/kernels.hpp"
#include "engine/expr/sql_arrow_status.hpp"

namespace espalier::engine {
namespace {

arrow::Datum as_micros(const arrow::Datum& time, int position) {
  return value_of(arrow::compute::Cast(time, arrow::int64()), position);
}

arrow::Datum as_time(const arrow::Datum& micros, int position) {
  return value_of(arrow::compute::Cast(micros, arrow_type({type_id::timestamp})), position);
}

// Adds months and keeps the day and time, or uses the last day of a shorter month.
std::int64_t months_later(std::int64_t micros, std::int64_t months, int position) {
  using namespace std::chrono;
  constexpr std::int64_t farthest_day = 11'000'000, farthest_month = 12 * 30'000;  // years of std::chrono have 16 bits
  const sys_time<microseconds> time{microseconds(micros)};
  const auto day = floor<days>(time);
  const auto since = std::int64_t{day.time_since_epoch().count()};
  if (since > farthest_day || since < -farthest_day || months > farthest_month || months < -farthest_month) {
    throw_sql_error(codes::datetime_overflow, position, "The timestamp is out of range.");
  }
  const year_month_day date{day};
  const std::int64_t month = int{date.year()} * 12LL + unsigned{date.month()} - 1 + months;
  if (month > farthest_month || month < -farthest_month)
    throw_sql_error(codes::datetime_overflow, position, "The timestamp is out of range.");
  const auto there = year(0) / January + std::chrono::months(month);
  const sys_days moved{there / std::min(date.day(), (there / std::chrono::last).day())};
  return micros + (moved - day).count() * std::int64_t{86'400'000'000};
}

// Calls body(micros) for every timestamp that is not NULL.
template <class Body>
arrow::Datum each_time(const arrow::Datum& times, const Body& body) {
  const auto one = times.is_scalar();
  const auto array = one ? value_of(arrow::MakeArrayFromScalar(*times.scalar(), 1)) : times.make_array();
  const auto& values = static_cast<const arrow::TimestampArray&>(*array);
  arrow::TimestampBuilder builder(arrow_type({type_id::timestamp}), arrow::default_memory_pool());
  check(builder.Reserve(values.length()));
  for (std::int64_t i = 0; i < values.length(); ++i) {
    if (values.IsNull(i)) {
      builder.UnsafeAppendNull();
    } else {
      builder.UnsafeAppend(body(values.Value(i)));
    }
  }
  const auto out = value_of(builder.Finish());
  return one ? arrow::Datum(value_of(out->GetScalar(0))) : arrow::Datum(out);
}

std::int64_t start_of_bin(std::int64_t time, std::int64_t width, std::int64_t origin, int position) {
  std::int64_t since = 0;
  if (__builtin_sub_overflow(time, origin, &since))
    throw_sql_error(codes::datetime_overflow, position, "The timestamp is out of range.");
  const std::int64_t over = since % width;
  return time - (over < 0 ? over + width : over);
}

std::optional<std::int64_t> constant_of(const arrow::Datum& value, int position) {
  if (!value.is_scalar()) throw_sql_error(position, "This argument has to be a constant.");
  const auto number = value_of(arrow::compute::Cast(value, arrow::int64()), position).scalar();
  if (!number->is_valid) return std::nullopt;
  return static_cast<const arrow::Int64Scalar&>(*number).value;
}

}  // namespace

bool is_time_arithmetic(std::string_view name) {
  return name == "shift_time" || name == "time_between" || name == "add_months" || name == "seconds_of" ||
         name == "date_bin";
}

arrow::Datum time_arithmetic(const expr& e, const std::vector<arrow::Datum>& args) {
  const int at = e.position;
  if (e.name == "shift_time") return as_time(call_kernel("add_checked", {as_micros(args[0], at), args[1]}, at), at);
  if (e.name == "time_between") {
    return call_kernel("subtract_checked", {as_micros(args[0], at), as_micros(args[1], at)}, at);
  }
  if (e.name == "seconds_of") {
    const auto seconds =
        value_of(arrow::compute::Cast(args[0], arrow::compute::CastOptions::Unsafe(arrow::float64())), at);
    return call_kernel("divide", {seconds, arrow::Datum(1e6)}, at);
  }
  const bool months = e.name == "add_months";
  const auto number = constant_of(args[months ? 1 : 0], at);
  const auto origin = months ? number : constant_of(args[2], at);
  if (!number || !origin) return arrow::MakeNullScalar(arrow_type(e.type));
  return each_time(args[months ? 0 : 1], [&](std::int64_t time) {
    return months ? months_later(time, *number, at) : start_of_bin(time, *number, *origin, at);
  });
}

}  // namespace espalier::engine
