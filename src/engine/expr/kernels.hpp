// kernels.hpp - operations on arrays that Arrow does not implement, or not with SQL semantics.
#pragma once

#include <string_view>
#include <vector>

#include "engine/expr/expr.hpp"

namespace arrow {
struct Datum;
namespace compute {
class FunctionOptions;
}
}  // namespace arrow

namespace espalier::engine {

/// Calls an Arrow compute function. Errors point to `position`.
[[nodiscard]] arrow::Datum call_kernel(const char* name, const std::vector<arrow::Datum>& args, int position,
                                       const arrow::compute::FunctionOptions* options = nullptr);
/// Compares two values of one type by =, <>, <, ... As in PostgreSQL, NaN equals NaN and is greater than all numbers.
[[nodiscard]] arrow::Datum compare(op kind, const arrow::Datum& left, const arrow::Datum& right,
                                   const column_type& type, int position);
/// Maps floats that compare as equal to one bit pattern: -0.0 to 0.0, and all NaNs to one. Other types are returned
/// unchanged. Code that hashes or compares bits requires this.
[[nodiscard]] arrow::Datum canonical_floats(const arrow::Datum& values);
/// Computes +, -, *, / or % of two values whose types the binder has matched.
[[nodiscard]] arrow::Datum arithmetic(const expr& e, const arrow::Datum& left, const arrow::Datum& right);
/// Throws the error for a scalar subquery that returned several rows.
[[noreturn]] void refuse_second_row(int position);
/// Calls a function of expr/functions.hpp.
[[nodiscard]] arrow::Datum call_function(const expr& e, const std::vector<arrow::Datum>& args);
/// Text functions (text_functions.cpp), including those that the binder generates for column lengths and casts.
[[nodiscard]] bool is_text_kernel(std::string_view name);
[[nodiscard]] arrow::Datum text_kernel_values(const expr& e, const std::vector<arrow::Datum>& args);
/// Functions that the binder generates for intervals (sql/interval.hpp).
[[nodiscard]] bool is_time_arithmetic(std::string_view name);
[[nodiscard]] arrow::Datum time_arithmetic(const expr& e, const std::vector<arrow::Datum>& args);

}  // namespace espalier::engine
