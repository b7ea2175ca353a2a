// shell_command.hpp - a line that tells the shell what to do, taken apart: \d fruit, \timing off, quit.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/engine/database.hpp"

namespace espalier::cli {

struct shell_command {
  std::string name;                ///< with its backslash, also for `help`, `quit` and `exit`
  std::vector<std::string> words;  ///< behind the name; what stands in double quotes keeps them

  /// Empty if there is none.
  [[nodiscard]] std::string word(std::size_t i) const { return i < words.size() ? words[i] : ""; }
  /// Throws if there are more than `most`: none is passed over.
  void require_words(std::size_t most, std::string_view usage) const;
};

/// Nothing for a line of SQL. A semicolon at the end is allowed. Words without a backslash are commands only where a
/// statement would begin.
[[nodiscard]] std::optional<shell_command> shell_command_in(std::string_view line, bool statement_begins);

/// The table that a word of a command means, as SQL would: in double quotes as it is, else in small letters.
[[nodiscard]] std::string table_named(const engine::database& db, const std::string& word);

}  // namespace espalier::cli
