// unsupported_syntax.hpp - error messages for syntax that the engine does not support.
#pragma once

#include <string>
#include <string_view>

namespace espalier::engine {

/// Returns the error message for a statement, expression or FROM item, given the parser's name for it. The message says
/// that it is not supported and, where known, what to write instead.
[[nodiscard]] std::string refusal_of(std::string_view parser_word);

/// Throws `coded_refusal` for `a ASOF JOIN b`, which PostgreSQL's grammar reads as an inner join of a table `a` that has
/// the alias "asof". An alias after AS or in double quotes is accepted.
void refuse_asof_join(std::string_view sql);

}  // namespace espalier::engine
