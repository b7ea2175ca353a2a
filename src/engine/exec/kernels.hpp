// kernels.hpp - the operations on arrays that Arrow's functions do not have, or not as SQL means them.
#pragma once

#include <string_view>
#include <vector>

#include "engine/sql/expr.hpp"

namespace arrow {
struct Datum;
namespace compute {
class FunctionOptions;
}
}  // namespace arrow

namespace espalier::engine {

/// One of Arrow's functions. Errors point to `position`.
[[nodiscard]] arrow::Datum call_kernel(const char* name, const std::vector<arrow::Datum>& args, int position,
                                       const arrow::compute::FunctionOptions* options = nullptr);
/// =, <>, <, ... of two values of one type. Floats as in PostgreSQL: NaN equals itself and is above all numbers.
[[nodiscard]] arrow::Datum compare(op kind, const arrow::Datum& left, const arrow::Datum& right,
                                   const column_type& type, int position);
/// Floats with one bit pattern for all that compare as equal: 0.0 for -0.0, one NaN. Other types are returned as they
/// are. What hashes or compares bits needs this.
[[nodiscard]] arrow::Datum canonical_floats(const arrow::Datum& values);
/// +, -, *, /, % of two values whose types the binder has made fit.
[[nodiscard]] arrow::Datum arithmetic(const expr& e, const arrow::Datum& left, const arrow::Datum& right);
/// Of a subquery that stands for one value and returned several.
[[noreturn]] void refuse_second_row(int position);
/// A function of sql/functions.hpp.
[[nodiscard]] arrow::Datum call_function(const expr& e, const std::vector<arrow::Datum>& args);
/// Functions of texts (text_functions.cpp), with what lengths of columns and casts became.
[[nodiscard]] bool is_text_kernel(std::string_view name);
[[nodiscard]] arrow::Datum text_kernel_values(const expr& e, const std::vector<arrow::Datum>& args);
/// What intervals became (sql/interval.hpp).
[[nodiscard]] bool is_time_arithmetic(std::string_view name);
[[nodiscard]] arrow::Datum time_arithmetic(const expr& e, const std::vector<arrow::Datum>& args);

}  // namespace espalier::engine
