// functions.hpp - the scalar functions of SQL that the engine knows: which arguments they take, what they give.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types.hpp"

namespace espalier::engine {

/// What a call of a function means: the types its arguments are cast to, and the type of the answer.
struct function_signature {
  std::vector<column_type> args;
  column_type result;
};

[[nodiscard]] bool is_aggregate_function(std::string_view name);
/// Of now() and the words that stand for a moment; nothing for other names.
[[nodiscard]] std::optional<column_type> current_timestamp_type(std::string_view name);
[[nodiscard]] bool is_scalar_function(std::string_view name);
[[nodiscard]] std::vector<std::string> function_names();  ///< of both kinds
/// Arguments that are constants and decide about types: the field of extract and date_trunc, the digits of round.
struct constant_arguments {
  std::optional<std::string> first_text;
  std::optional<std::int64_t> last_number;
};

/// Throws `located_error` where the function does not take such arguments.
[[nodiscard]] function_signature signature_of(const std::string& name, const std::vector<column_type>& args,
                                              const constant_arguments& constants, int position);
/// The type that sum, min, ... of such values have.
[[nodiscard]] column_type aggregate_type(const std::string& function, const column_type& argument, int position);

}  // namespace espalier::engine
