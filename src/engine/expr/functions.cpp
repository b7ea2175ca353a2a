#include "engine/expr/functions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/error.hpp"

namespace espalier::engine {
namespace {

constexpr column_type text_type{type_id::varchar};
constexpr column_type integer_type{type_id::int32};
constexpr column_type bigint_type{type_id::int64};
constexpr column_type double_type{type_id::float64};
constexpr column_type boolean_type{type_id::boolean};
constexpr column_type timestamp_type{type_id::timestamp};

// A function whose arguments and result have fixed types.
struct fixed_function {
  std::string_view name;
  std::vector<column_type> args;
  column_type result;
};

const std::vector<fixed_function>& fixed_functions() {
  static const std::vector<fixed_function> all = {
      {"sqrt", {double_type}, double_type},
      {"exp", {double_type}, double_type},
      {"ln", {double_type}, double_type},
      {"log", {double_type}, double_type},
      {"log10", {double_type}, double_type},
      {"sin", {double_type}, double_type},
      {"cos", {double_type}, double_type},
      {"tan", {double_type}, double_type},
      {"atan", {double_type}, double_type},
      {"atan2", {double_type, double_type}, double_type},
      {"to_timestamp", {double_type}, timestamp_type},
      {"power", {double_type, double_type}, double_type},
      {"pow", {double_type, double_type}, double_type},
      {"length", {text_type}, integer_type},
      {"char_length", {text_type}, integer_type},
      {"lower", {text_type}, text_type},
      {"upper", {text_type}, text_type},
      {"reverse", {text_type}, text_type},
      {"btrim", {text_type}, text_type},
      {"ltrim", {text_type}, text_type},
      {"rtrim", {text_type}, text_type},
      {"btrim", {text_type, text_type}, text_type},
      {"ltrim", {text_type, text_type}, text_type},
      {"rtrim", {text_type, text_type}, text_type},
      {"left", {text_type, integer_type}, text_type},
      {"right", {text_type, integer_type}, text_type},
      {"lpad", {text_type, integer_type}, text_type},
      {"rpad", {text_type, integer_type}, text_type},
      {"lpad", {text_type, integer_type, text_type}, text_type},
      {"rpad", {text_type, integer_type, text_type}, text_type},
      {"repeat", {text_type, integer_type}, text_type},
      {"split_part", {text_type, text_type, integer_type}, text_type},
      {"strpos", {text_type, text_type}, integer_type},
      {"position", {text_type, text_type}, integer_type},
      {"octet_length", {text_type}, integer_type},
      {"regexp_like", {text_type, text_type}, boolean_type},
      {"regexp_replace", {text_type, text_type, text_type}, text_type},
      {"regexp_replace", {text_type, text_type, text_type, text_type}, text_type},
      {"substring", {text_type, integer_type}, text_type},
      {"substring", {text_type, integer_type, integer_type}, text_type},
      {"substr", {text_type, integer_type}, text_type},
      {"substr", {text_type, integer_type, integer_type}, text_type},
      {"replace", {text_type, text_type, text_type}, text_type},
      {"starts_with", {text_type, text_type}, boolean_type},
      {"concat_texts", {text_type, text_type}, text_type},  // the operator ||
  };
  return all;
}

constexpr std::array<std::string_view, 6> number_functions = {"abs", "floor", "ceil", "ceiling", "round", "trunc"};
constexpr std::array<std::string_view, 16> aggregates = {
    "count",      "sum",      "min",      "max",     "avg",        "stddev",          "stddev_samp",
    "stddev_pop", "variance", "var_samp", "var_pop", "string_agg", "percentile_cont", "percentile_disc",
    "bool_and",   "bool_or"};
constexpr std::array<std::string_view, 11> window_functions = {
    "row_number", "rank", "dense_rank",  "percent_rank", "cume_dist", "ntile",
    "lag",        "lead", "first_value", "last_value",   "nth_value"};
constexpr std::array<std::string_view, 12> date_fields = {"year", "month", "day",     "hour", "minute", "second",
                                                          "dow",  "doy",   "quarter", "week", "isodow", "epoch"};
constexpr std::array<std::string_view, 10> trunc_fields = {"year", "quarter", "month",  "week",         "day",
                                                           "hour", "minute",  "second", "milliseconds", "millisecond"};

template <class List>
bool contains(const List& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

// `digits` is the number of decimal places in round(x, digits) and similar functions; without it x keeps its scale.
column_type rounded_decimal_type(const column_type& type, std::optional<std::int64_t> digits) {
  const int scale = digits ? static_cast<int>(std::clamp<std::int64_t>(*digits, 0, type.scale)) : type.scale;
  const int whole = type.precision - type.scale + 1;  // rounding 9.9 gives 10
  return {type_id::decimal, std::min(whole + scale, max_decimal_precision), scale};
}

function_signature number_signature(const std::string& name, const std::vector<column_type>& args,
                                    std::optional<std::int64_t> last_number, int position) {
  if (args.empty() || args.size() > 2 || (args.size() == 2 && name != "round") || !is_numeric(args[0].id)) {
    throw_sql_error(codes::undefined_function, position, fmt::format("{} takes a number.", name));
  }
  column_type type = args[0];
  if (type.id == type_id::float32) type = double_type;
  if (name == "round" && args.size() == 2) {
    if (is_float(type.id))
      throw_sql_error(codes::undefined_function, position,
                      "round with a number of digits takes numeric; cast its argument.");
    if (is_integer(type.id))
      throw_sql_error(codes::undefined_function, position,
                      "round with a number of digits takes numeric; an integer has none.");
    return {{type, integer_type}, rounded_decimal_type(type, last_number)};
  }
  if (type.id == type_id::decimal && name != "abs") return {{type}, rounded_decimal_type(type, 0)};
  return {{type}, type};
}

function_signature time_signature(const std::string& name, const std::vector<column_type>& args,
                                  const std::optional<std::string>& field, int position) {
  const bool truncates = name == "date_trunc";
  const auto is_time = [](type_id id) { return id == type_id::date || id == type_id::timestamp; };
  if (args.size() != 2 || !field || !is_time(args[1].id)) {
    throw_sql_error(position,
                    fmt::format("{} takes the name of a field, written as a constant, and a date or timestamp.", name));
  }
  const bool known = truncates ? contains(trunc_fields, *field) : contains(date_fields, *field);
  if (!known)
    throw_sql_error(codes::invalid_parameter_value, position,
                    fmt::format("The field '{}' is not supported by {}.", *field, name));
  if (truncates) return {{text_type, timestamp_type}, timestamp_type};
  const bool fraction = *field == "second" || *field == "epoch";
  return {{text_type, timestamp_type}, fraction ? double_type : bigint_type};
}

}  // namespace

bool is_window_function(std::string_view name) { return contains(window_functions, name); }

bool is_aggregate_function(std::string_view name) { return contains(aggregates, name) || name == "every"; }

std::optional<column_type> current_timestamp_type(std::string_view name) {
  if (name == "current_date") return column_type{type_id::date};
  if (name == "now" || name == "current_timestamp" || name == "localtimestamp") return timestamp_type;
  return std::nullopt;
}

bool is_scalar_function(std::string_view name) {
  if (contains(number_functions, name)) return true;
  if (name == "extract" || name == "date_part" || name == "date_trunc" || name == "date_bin" || name == "mod" ||
      name == "concat" || name == "concat_ws") {
    return true;
  }
  return std::any_of(fixed_functions().begin(), fixed_functions().end(), [&](const auto& f) { return f.name == name; });
}

std::vector<std::string> function_names() {
  std::vector<std::string> out{"extract", "date_part", "date_trunc", "date_bin", "mod", "now", "concat", "concat_ws"};
  out.insert(out.end(), aggregates.begin(), aggregates.end());
  out.insert(out.end(), window_functions.begin(), window_functions.end());
  out.insert(out.end(), number_functions.begin(), number_functions.end());
  for (const auto& f : fixed_functions()) {
    if (f.name != "concat_texts") out.emplace_back(f.name);
  }
  return out;
}

function_signature signature_of(const std::string& name, const std::vector<column_type>& args,
                                const constant_arguments& constants, int position) {
  if (contains(number_functions, name)) return number_signature(name, args, constants.last_number, position);
  if (name == "extract" || name == "date_part" || name == "date_trunc") {
    return time_signature(name, args, constants.first_text, position);
  }
  for (const auto& f : fixed_functions()) {
    if (f.name == name && f.args.size() == args.size()) return {f.args, f.result};
  }
  throw_sql_error(
      codes::undefined_function, position,
      fmt::format("The function {} does not take {} argument{}.", name, args.size(), args.size() == 1 ? "" : "s"));
}

column_type aggregate_type(const std::string& function, const column_type& argument, int position) {
  if (function == "count") return bigint_type;
  if (function == "min" || function == "max") {
    if (argument.id == type_id::boolean)
      throw_sql_error(codes::undefined_function, position, fmt::format("{} does not take boolean values.", function));
    return argument;
  }
  if (function == "string_agg") return text_type;
  if (function == "percentile_disc") return argument;
  if (!is_numeric(argument.id)) {
    throw_sql_error(codes::undefined_function, position,
                    fmt::format("{} takes numbers, not {}.", function, sql_name(argument)));
  }
  if (function != "sum" || is_float(argument.id)) return double_type;
  if (argument.id == type_id::int64) return {type_id::decimal, 38, 0};
  if (argument.id == type_id::decimal) return {type_id::decimal, 38, argument.scale};
  return bigint_type;
}

}  // namespace espalier::engine
