// unsupported_syntax.hpp - sentences for the parts of the grammar that the engine has no meaning for.
#pragma once

#include <string>
#include <string_view>

namespace espalier::engine {

/// What a user reads instead of the parser's word for a statement, an expression or a part of FROM: that it is not
/// supported, and what to write instead where there is something.
[[nodiscard]] std::string refusal_of(std::string_view parser_word);

}  // namespace espalier::engine
