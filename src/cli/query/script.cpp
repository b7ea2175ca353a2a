#include "cli/query/script.hpp"

#include <algorithm>
#include <string>

#include "espalier/engine/database.hpp"

namespace espalier::cli {
namespace {

bool is_command_line(std::string_view line) {
  const auto first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line[first] == '\\';
}

// Returns whether a semicolon after the text would end a statement, so that the next character is not in a string or a
// comment.
bool is_outside_quotes(std::string_view text) { return engine::is_complete(std::string(text) + ";"); }

}  // namespace

std::vector<script_part> script_parts(std::string_view script) {
  std::vector<script_part> out;
  std::size_t begin = 0;  // start of the statements since the last command
  for (std::size_t line = 0; line < script.size();) {
    const auto end = std::min(script.find('\n', line), script.size());
    const auto text = script.substr(line, end - line);
    if (is_command_line(text) && is_outside_quotes(script.substr(begin, line - begin))) {
      if (begin < line) out.push_back({begin, line, std::nullopt});
      out.push_back({line, end, shell_command_in(text, true)});
      begin = std::min(end + 1, script.size());
    }
    line = end + 1;
  }
  if (begin < script.size()) out.push_back({begin, script.size(), std::nullopt});
  return out;
}

}  // namespace espalier::cli
