#include "cli/query/shell_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "engine/catalog.hpp"
#include "espalier/core/error.hpp"

namespace espalier::cli {
namespace {

constexpr std::string_view command_blanks = " \t\r";

std::string in_small_letters(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string_view without_blanks_and_semicolons(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of(command_blanks), line.size()));
  const auto last = line.find_last_not_of(" \t\r;");
  return line.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::vector<std::string> command_words(std::string_view text) {
  std::vector<std::string> words;
  bool in_word = false;
  bool quoted = false;
  for (const char c : text) {
    if (!quoted && command_blanks.find(c) != std::string_view::npos) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    words.back() += c;
    if (c == '"') quoted = !quoted;
  }
  return words;
}

std::string without_quotes(const std::string& word) {
  std::string name;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '"') {
      name += word[i];
    } else if (i > 0 && i + 2 < word.size() && word[i + 1] == '"') {
      name += word[i++];
    }
  }
  return name;
}

}  // namespace

void shell_command::require_words(std::size_t most, std::string_view usage) const {
  if (words.size() > most) {
    throw error(fmt::format("'{}' is one word too many: the command is {}.", words[most], usage));
  }
}

std::optional<shell_command> shell_command_in(std::string_view line, bool statement_begins) {
  const auto text = without_blanks_and_semicolons(line);
  if (text.starts_with("\\")) {
    auto words = command_words(text);
    const std::string name = words.front();
    words.erase(words.begin());
    return shell_command{name, std::move(words)};
  }
  if (!statement_begins) return std::nullopt;
  const std::string only = in_small_letters(std::string(text));
  if (only == "quit" || only == "exit") return shell_command{"\\q", {}};
  if (only == "help") return shell_command{"\\?", {}};
  return std::nullopt;
}

std::string table_named(const engine::database& db, const std::string& word) {
  if (word.starts_with('"') && word.ends_with('"') && word.size() > 1) return without_quotes(word);
  return db.tables().find(word) ? word : in_small_letters(word);
}

}  // namespace espalier::cli
