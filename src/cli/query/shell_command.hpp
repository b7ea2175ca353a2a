// shell_command.hpp - parses a shell command: \d fruit, \timing off, quit.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/engine/database.hpp"

namespace espalier::cli {

struct shell_command {
  std::string name;                ///< including the backslash, also for `help`, `quit` and `exit`
  std::vector<std::string> words;  ///< arguments; double quotes are kept

  /// Returns an empty string if there is none.
  [[nodiscard]] std::string word(std::size_t i) const { return i < words.size() ? words[i] : ""; }
  /// Throws if there are more than `most` arguments; none is ignored.
  void require_words(std::size_t most, std::string_view usage) const;
};

/// Returns nothing for a line of SQL. A trailing semicolon is allowed. Words without a backslash are commands only at
/// the start of a statement.
[[nodiscard]] std::optional<shell_command> shell_command_in(std::string_view line, bool statement_begins);

/// Returns the table name that an argument denotes, by SQL rules: verbatim in double quotes, otherwise in lower case.
[[nodiscard]] std::string table_named(const engine::database& db, const std::string& word);

}  // namespace espalier::cli
