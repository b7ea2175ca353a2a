// text_width.hpp - the display width of a text on a terminal.
#pragma once

#include <cstddef>
#include <string_view>

namespace espalier::cli {

/// Returns the width of a UTF-8 text: 2 for each Chinese character, 0 for a combining accent. An invalid byte counts as
/// 1.
[[nodiscard]] std::size_t text_width(std::string_view text);

}  // namespace espalier::cli
