// interval.hpp - intervals in expressions: ts + interval '1 hour', a.ts - b.ts < interval '5 minutes'.
//
// An interval cannot be the type of a table column. A bound interval is a bigint of microseconds with `is_interval`
// set. Months have no fixed length and are stored separately, in the `number` of a literal. A day has 24 hours, since
// timestamps have no time zone.
#pragma once

#include <string>

#include "engine/expr/expr.hpp"
#include "engine/sql/ast.hpp"

namespace espalier::engine {

/// Parses INTERVAL 'text' [unit]. The text has pairs of a number and a unit, hh:mm:ss, and ago. `type` has PostgreSQL's
/// field mask of a unit that follows the text, if there is one.
[[nodiscard]] expr_ptr interval_literal(const std::string& text, const ast::type_name& type, int position);

/// Binds +, -, * and / with an interval operand, and differences of timestamps. Returns null for other operands.
[[nodiscard]] expr_ptr interval_arithmetic(op kind, const expr_ptr& left, const expr_ptr& right, int position);
[[nodiscard]] expr_ptr negative_interval(const expr_ptr& e, int position);
/// Returns the interval as a bigint for comparisons; a month counts as 30 days.
[[nodiscard]] expr_ptr comparable_interval(const expr_ptr& e);
/// Returns extract(epoch from interval), in seconds.
[[nodiscard]] expr_ptr interval_seconds(const expr_ptr& e, int position);
/// Binds date_bin(interval, ts, origin), which returns the start of the bin of ts.
[[nodiscard]] expr_ptr date_bin(const std::vector<expr_ptr>& args, int position);

}  // namespace espalier::engine
