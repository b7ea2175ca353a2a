// text_width.hpp - how many columns of a terminal a text takes.
#pragma once

#include <cstddef>
#include <string_view>

namespace espalier::cli {

/// Of UTF-8: 2 for each Chinese character, 0 for an accent that joins the letter before it. A byte that is no UTF-8
/// counts 1.
[[nodiscard]] std::size_t text_width(std::string_view text);

}  // namespace espalier::cli
