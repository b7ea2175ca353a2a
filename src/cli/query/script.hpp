// script.hpp - a script with backslash commands, from a file, a pipe or -c.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/query/shell_command.hpp"

namespace espalier::cli {

/// Either a command or the statements of script[begin, end).
struct script_part {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::optional<shell_command> command;
};

/// A line that starts with a backslash outside of strings and comments is a command.
[[nodiscard]] std::vector<script_part> script_parts(std::string_view script);

}  // namespace espalier::cli
