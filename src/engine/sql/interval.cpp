#include "engine/sql/interval.hpp"

#include <arrow/scalar.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "engine/error.hpp"
#include "engine/expr/coerce.hpp"
#include "espalier/core/config.hpp"

namespace espalier::engine {
namespace {

constexpr column_type micros_type{type_id::int64};
constexpr column_type time_type{type_id::timestamp};
constexpr double day_micros = 86400e6;

// An interval before it is rounded to microseconds.
struct length {
  std::int64_t months = 0;
  double micros = 0;
};

struct time_unit {
  std::string_view name;  // singular
  int months;
  double micros;
};

constexpr std::array time_units = {
    time_unit{"microsecond", 0, 1},    time_unit{"us", 0, 1},         time_unit{"usec", 0, 1},
    time_unit{"millisecond", 0, 1e3},  time_unit{"ms", 0, 1e3},       time_unit{"msec", 0, 1e3},
    time_unit{"second", 0, 1e6},       time_unit{"sec", 0, 1e6},      time_unit{"s", 0, 1e6},
    time_unit{"minute", 0, 60e6},      time_unit{"min", 0, 60e6},     time_unit{"m", 0, 60e6},
    time_unit{"hour", 0, 3600e6},      time_unit{"hr", 0, 3600e6},    time_unit{"h", 0, 3600e6},
    time_unit{"day", 0, day_micros},   time_unit{"d", 0, day_micros}, time_unit{"week", 0, 7 * day_micros},
    time_unit{"w", 0, 7 * day_micros}, time_unit{"month", 1, 0},      time_unit{"mon", 1, 0},
    time_unit{"year", 12, 0},          time_unit{"yr", 12, 0},        time_unit{"y", 12, 0},
    time_unit{"decade", 120, 0},       time_unit{"century", 1200, 0},
};

const time_unit* unit_named(std::string_view name) {
  const auto find = [](std::string_view wanted) -> const time_unit* {
    for (const auto& unit : time_units) {
      if (unit.name == wanted) return &unit;
    }
    return nullptr;
  };
  if (const auto* unit = find(name)) return unit;
  return name.size() > 2 && name.back() == 's' ? find(name.substr(0, name.size() - 1)) : nullptr;
}

// INTERVAL '5' MINUTE: the parser encodes the unit as a mask of fields, as in PostgreSQL's datetime.h.
const time_unit* unit_of_mask(int mask) {
  constexpr std::pair<int, std::string_view> masks[] = {{1 << 1, "month"}, {1 << 2, "year"},    {1 << 3, "day"},
                                                        {1 << 10, "hour"}, {1 << 11, "minute"}, {1 << 12, "second"}};
  for (const auto& [bit, name] : masks) {
    if (mask == bit) return unit_named(name);
  }
  return nullptr;
}

class interval_reader {
 public:
  interval_reader(std::string_view text, const time_unit* unit, int position)
      : rest_(text), unit_(unit), position_(position) {}

  length read() {
    length out;
    bool any = false;
    while (skip_blank()) {
      if (std::isalpha(static_cast<unsigned char>(rest_[0])) && any) {
        if (word() != "ago" || skip_blank()) fail();
        return {-out.months, -out.micros};
      }
      add(out);
      any = true;
    }
    if (!any) fail();
    return out;
  }

 private:
  [[noreturn]] void fail() const {
    throw_sql_error(codes::invalid_datetime_format, position_,
                    "An interval is written as numbers with units, such as '1 day 2 hours', or as 'hh:mm:ss'.");
  }
  bool skip_blank() {
    while (!rest_.empty() && (std::isspace(static_cast<unsigned char>(rest_[0])) || rest_[0] == ',')) {
      rest_.remove_prefix(1);
    }
    return !rest_.empty();
  }
  std::string word() {
    std::string out;
    while (!rest_.empty() && std::isalpha(static_cast<unsigned char>(rest_[0]))) {
      out += static_cast<char>(std::tolower(static_cast<unsigned char>(rest_[0])));
      rest_.remove_prefix(1);
    }
    return out;
  }
  double number() {
    double out = 0;
    const auto [end, problem] =
        std::from_chars(rest_.data(), rest_.data() + rest_.size(), out, std::chars_format::fixed);
    if (problem != std::errc()) fail();
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return out;
  }
  void add(length& out) {
    const bool negative = rest_[0] == '-';
    if (negative || rest_[0] == '+') rest_.remove_prefix(1);
    if (rest_.empty() || !(std::isdigit(static_cast<unsigned char>(rest_[0])) || rest_[0] == '.')) fail();
    const double sign = negative ? -1 : 1;
    const double count = number();
    if (!rest_.empty() && rest_[0] == ':') {
      out.micros += sign * (count * 3600e6 + clock());
      return;
    }
    skip_blank();
    const auto name = word();
    const auto* unit = name.empty() ? unit_ : unit_named(name);
    if (!unit) fail();
    if (unit->months != 0 && count != std::floor(count)) {
      throw_sql_error(position_, "Months and years of an interval are whole numbers; write the rest as days.");
    }
    if (std::abs(count * unit->months) > 1e6) throw_sql_error(position_, "This interval is too long.");
    if (unit->months != 0) out.months += static_cast<std::int64_t>(sign * count) * unit->months;
    out.micros += sign * count * unit->micros;
  }
  // Reads :mm[:ss[.ffffff]] after the hours and returns microseconds.
  double clock() {
    rest_.remove_prefix(1);
    double out = number() * 60e6;
    if (!rest_.empty() && rest_[0] == ':') {
      rest_.remove_prefix(1);
      out += number() * 1e6;
    }
    return out;
  }

  std::string_view rest_;
  const time_unit* unit_;
  int position_;
};

expr_ptr as_interval(const expr_ptr& e) {
  auto out = std::make_shared<expr>(*e);
  out->is_interval = true;
  return out;
}

expr_ptr literal_of(const length& value, int position) {
  if (!(std::abs(value.micros) < 9.2e18) || std::abs(value.months) > 10'000'000) {
    throw_sql_error(position, "This interval is too long.");
  }
  const auto micros = std::make_shared<arrow::Int64Scalar>(static_cast<std::int64_t>(std::llround(value.micros)));
  auto out = std::make_shared<expr>(*make_literal(micros, micros_type, position));
  out->is_interval = true;
  out->number = static_cast<int>(value.months);
  return out;
}

// Returns whether the interval is a known constant. NULL and a difference of columns are not.
bool is_length(const expr_ptr& e) { return is_literal(e) && e->value->is_valid; }
std::int64_t micros_of(const expr& literal) { return static_cast<const arrow::Int64Scalar&>(*literal.value).value; }
length length_of(const expr& literal) { return {literal.number, static_cast<double>(micros_of(literal))}; }

// Adds or subtracts exactly, without conversion to double.
expr_ptr sum_of(const expr& left, const expr& right, int sign, int position) {
  std::int64_t micros = 0;
  const bool too_long = sign < 0 ? __builtin_sub_overflow(micros_of(left), micros_of(right), &micros)
                                 : __builtin_add_overflow(micros_of(left), micros_of(right), &micros);
  if (too_long) throw_sql_error(position, "This interval is too long.");
  auto out = std::make_shared<expr>(*literal_of({left.number + sign * right.number, 0}, position));
  out->value = std::make_shared<arrow::Int64Scalar>(micros);
  return out;
}

expr_ptr time_function(const char* name, const column_type& type, std::vector<expr_ptr> args, int position) {
  auto out = std::make_shared<expr>(*make_call(op::function, type, std::move(args), position));
  out->name = name;
  return folded(out);
}

expr_ptr months_literal(std::int64_t months, int position) {
  return make_literal(std::make_shared<arrow::Int64Scalar>(months), micros_type, position);
}

// Returns time + interval, or time - interval if `back` is set.
expr_ptr shifted(expr_ptr time, expr_ptr by, bool back, int position) {
  time = coerced(time, time_type);
  if (is_length(by) && by->number != 0) {
    time = time_function("add_months", time_type, {time, months_literal(back ? -by->number : by->number, position)},
                         position);
    if (micros_of(*by) == 0) return time;
  }
  if (back) by = negative_interval(by, position);
  auto micros = std::make_shared<expr>(*by);
  micros->is_interval = false;
  micros->number = 0;
  return time_function("shift_time", time_type, {time, micros}, position);
}

expr_ptr multiplied(const expr_ptr& interval, const expr_ptr& factor, bool divides, int position) {
  if (!is_numeric(factor->type.id)) throw_sql_error(position, "An interval is multiplied or divided by a number.");
  if (is_length(interval) && is_literal(factor) && factor->value->is_valid) {
    const auto number = coerced(factor, {type_id::float64});
    const double times = static_cast<const arrow::DoubleScalar&>(*number->value).value;
    if (divides && times == 0) throw_sql_error(codes::division_by_zero, position, "Division by zero.");
    const double by = divides ? 1 / times : times;
    const auto have = length_of(*interval);
    const double months = static_cast<double>(have.months) * by;
    if (!(std::abs(months) < 1e7)) throw_sql_error(position, "This interval is too long.");
    if (months != std::floor(months))
      throw_sql_error(position, "This would be a fraction of a month; write it as days.");
    return literal_of({static_cast<std::int64_t>(months), divides ? have.micros / times : have.micros * times},
                      position);
  }
  const bool has_months = is_length(interval) && interval->number != 0;
  if (divides || has_months || !is_integer(factor->type.id)) {
    throw_sql_error(position,
                    "Intervals of days or less can be multiplied by integer columns; other factors are constants.");
  }
  auto micros = std::make_shared<expr>(*interval);
  micros->is_interval = false;
  return as_interval(folded(make_call(op::multiply, micros_type, {micros, coerced(factor, micros_type)}, position)));
}

bool is_time(const expr_ptr& e) {
  return !e->is_interval && !e->open && (e->type.id == type_id::timestamp || e->type.id == type_id::date);
}

}  // namespace

expr_ptr interval_literal(const std::string& text, const ast::type_name& type, int position) {
  const auto* unit = unit_named("second");
  if (!type.modifiers.empty()) {
    unit = type.modifiers.size() == 1 ? unit_of_mask(type.modifiers[0]) : nullptr;
    if (!unit) throw_sql_error(type.position, "Write the units of this interval inside its text.");
  }
  return literal_of(interval_reader(text, unit, position).read(), position);
}

expr_ptr negative_interval(const expr_ptr& e, int position) {
  if (is_length(e)) {
    const auto zero = literal_of({}, position);
    return sum_of(*zero, *e, -1, position);
  }
  return as_interval(make_call(op::negate, micros_type, {e}, position));
}

expr_ptr interval_arithmetic(op kind, const expr_ptr& left, const expr_ptr& right, int position) {
  const bool adds = kind == op::add, takes = kind == op::subtract;
  if (left->is_interval && right->is_interval && (adds || takes)) {
    if (is_length(left) && is_length(right)) return sum_of(*left, *right, takes ? -1 : 1, position);
    if ((is_length(left) && left->number != 0) || (is_length(right) && right->number != 0)) {
      throw_sql_error(position, "Months cannot be added to a difference of timestamps; write them as days.");
    }
    return as_interval(make_call(kind, micros_type, {left, right}, position));
  }
  if (is_time(left) && right->is_interval && (adds || takes)) return shifted(left, right, takes, position);
  if (left->is_interval && is_time(right) && adds) return shifted(right, left, false, position);
  if (takes && is_time(left) && is_time(right) &&
      (left->type.id == type_id::timestamp || right->type.id == type_id::timestamp)) {
    return as_interval(
        time_function("time_between", micros_type, {coerced(left, time_type), coerced(right, time_type)}, position));
  }
  if (!left->is_interval && !right->is_interval) return nullptr;
  if (kind == op::multiply) {
    return left->is_interval ? multiplied(left, right, false, position) : multiplied(right, left, false, position);
  }
  if (kind == op::divide && left->is_interval) return multiplied(left, right, true, position);
  throw_sql_error(position, "Intervals are added to timestamps and dates, to each other, and multiplied by numbers.");
}

expr_ptr comparable_interval(const expr_ptr& e) {
  if (!e->is_interval) return e;
  auto out = std::make_shared<expr>(*e);
  out->is_interval = false;
  out->number = 0;
  if (!is_length(e) || e->number == 0) return out;
  constexpr int128 month = int128{30} * 86'400'000'000;
  const int128 micros = micros_of(*e) + e->number * month;
  if (micros >= INT64_MIN && micros <= INT64_MAX) {
    out->value = std::make_shared<arrow::Int64Scalar>(static_cast<std::int64_t>(micros));
    return out;
  }
  // The interval is longer than any difference of timestamps, so it is compared as a decimal.
  const arrow::Decimal128 wide(static_cast<std::int64_t>(micros >> 64), static_cast<std::uint64_t>(micros));
  out->type = {type_id::decimal, max_decimal_precision, 0};
  out->value = std::make_shared<arrow::Decimal128Scalar>(wide, arrow_type(out->type));
  return out;
}

expr_ptr interval_seconds(const expr_ptr& e, int position) {
  if (is_length(e) && e->number != 0)
    throw_sql_error(position, "A month has no length in seconds; write the interval in days.");
  return time_function("seconds_of", {type_id::float64}, {comparable_interval(e)}, position);
}

expr_ptr date_bin(const std::vector<expr_ptr>& args, int position) {
  const bool fits =
      args.size() == 3 && args[0]->is_interval && is_length(args[0]) && !args[1]->is_interval && !args[2]->is_interval;
  if (!fits) throw_sql_error(position, "date_bin takes a constant interval, a timestamp and the start of a bin.");
  if (args[0]->number != 0 || micros_of(*args[0]) <= 0) {
    throw_sql_error(position, "date_bin requires a positive stride without months.");
  }
  return time_function("date_bin", time_type,
                       {comparable_interval(args[0]), coerced(args[1], time_type), coerced(args[2], time_type)},
                       position);
}

}  // namespace espalier::engine
