// interval.hpp - lengths of time in expressions: ts + interval '1 hour', a.ts - b.ts < interval '5 minutes'.
//
// An interval is no type of a column. Bound, it is a bigint of microseconds with `is_interval` set; months, which have
// no length, stand beside the microseconds of a literal, as its `number`. A day has 24 hours, for timestamps have no
// time zone.
#pragma once

#include <string>

#include "engine/sql/ast.hpp"
#include "engine/sql/expr.hpp"

namespace espalier::engine {

/// INTERVAL 'text' [unit]: pairs of a number and a unit, hh:mm:ss, ago. `unit` is what PostgreSQL's parser makes of a
/// unit behind the text, or nothing.
[[nodiscard]] expr_ptr interval_literal(const std::string& text, const ast::type_name& type, int position);

/// +, -, * and / where a side is an interval, and differences of timestamps; null for what is neither.
[[nodiscard]] expr_ptr interval_arithmetic(op kind, const expr_ptr& left, const expr_ptr& right, int position);
[[nodiscard]] expr_ptr negative_interval(const expr_ptr& e, int position);
/// As a bigint that is compared: a month counts 30 days.
[[nodiscard]] expr_ptr comparable_interval(const expr_ptr& e);
/// extract(epoch from interval), in seconds.
[[nodiscard]] expr_ptr interval_seconds(const expr_ptr& e, int position);
/// date_bin(interval, ts, origin): the start of the bin that ts is in.
[[nodiscard]] expr_ptr date_bin(const std::vector<expr_ptr>& args, int position);

}  // namespace espalier::engine
