// functions.hpp - signatures of the scalar functions and aggregates of SQL.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types.hpp"

namespace espalier::engine {

/// The types that the arguments of a call are cast to, and the type of its result.
struct function_signature {
  std::vector<column_type> args;
  column_type result;
};

[[nodiscard]] bool is_aggregate_function(std::string_view name);
/// Returns whether the function exists as a window function only, such as row_number.
[[nodiscard]] bool is_window_function(std::string_view name);
/// Returns the type of now(), CURRENT_DATE and similar functions, or nothing for other names.
[[nodiscard]] std::optional<column_type> current_timestamp_type(std::string_view name);
[[nodiscard]] bool is_scalar_function(std::string_view name);
[[nodiscard]] std::vector<std::string> function_names();  ///< scalar functions and aggregates
/// Constant arguments that determine the result type: the field of extract and date_trunc, the digits of round.
struct constant_arguments {
  std::optional<std::string> first_text;
  std::optional<std::int64_t> last_number;
};

/// Throws `located_error` if the function does not accept the arguments.
[[nodiscard]] function_signature signature_of(const std::string& name, const std::vector<column_type>& args,
                                              const constant_arguments& constants, int position);
/// Returns the result type of sum, min, ... over values of the argument's type.
[[nodiscard]] column_type aggregate_type(const std::string& function, const column_type& argument, int position);

}  // namespace espalier::engine
