#include "engine/sql/hints.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <vector>

#include "engine/table/read.hpp"

namespace espalier::engine {
namespace {

std::string in_lower_case(std::string_view text) {
  std::string out(text);
  for (auto& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Counts inserted, deleted and substituted characters and transpositions of adjacent ones.
std::size_t damerau_levenshtein(std::string_view a, std::string_view b) {
  const std::size_t width = b.size() + 1;
  std::vector<std::size_t> cost((a.size() + 1) * width);
  const auto at = [&](std::size_t i, std::size_t j) -> std::size_t& { return cost[i * width + j]; };
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        at(i, j) = i + j;
        continue;
      }
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return cost.back();
}

bool needs_quotes(std::string_view name) {
  return name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) ||
         std::any_of(name.begin(), name.end(), [](unsigned char c) {
           return c < 0x80 && !std::islower(c) && !std::isdigit(c) && c != '_' && c != '.';
         });
}

std::string how_to_read(file_format format, std::string_view path) {
  return fmt::format("a file is read by read_{}('{}')", to_string(format), path);
}

bool ends_with_word(std::string_view text, std::string_view word) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text.size() >= word.size() && in_lower_case(text.substr(text.size() - word.size())) == word;
}

}  // namespace

std::string did_you_mean(std::string_view name, std::span<const std::string> candidates) {
  constexpr std::size_t longest = 128;  // longer names are not typing errors, and the comparison is quadratic
  if (name.size() > longest) return {};
  const auto wanted = in_lower_case(name);
  const std::string* best = nullptr;
  std::size_t fewest = name.size() / 4 + 1;  // one error per four characters
  for (const auto& candidate : candidates) {
    if (candidate.size() > longest) continue;
    const auto mistakes = damerau_levenshtein(wanted, in_lower_case(candidate));
    if (mistakes >= fewest) continue;
    fewest = mistakes;
    best = &candidate;
  }
  if (!best) return {};
  if (needs_quotes(*best)) return fmt::format("; did you mean \"{}\", with double quotes?", *best);
  return fmt::format("; did you mean '{}'?", *best);
}

std::string no_such_table(std::string_view name, const catalog& tables) {
  auto hint = did_you_mean(name, tables.names());
  if (const auto format = format_from_path(name); hint.empty() && format)
    hint = "; " + how_to_read(*format, name) + ".";
  return fmt::format("There is no table '{}'{}", name, hint.empty() ? "." : hint);
}

std::string no_such_index(std::string_view name, const catalog& tables) {
  std::vector<std::string> names;
  for (const auto& table : tables.names()) {
    for (auto& index : tables.indexes_of(table)) names.push_back(std::move(index));
  }
  const auto hint = did_you_mean(name, names);
  return fmt::format("There is no index '{}'{}", name, hint.empty() ? "." : hint);
}

std::string no_such_column(std::string_view name, const table_version& table) {
  std::vector<std::string> names;
  for (const auto& column : table.columns()) names.push_back(column.name);
  const auto hint = did_you_mean(name, names);
  return fmt::format("The table has no column '{}'{}", name, hint.empty() ? "." : hint);
}

std::string syntax_hint(std::string_view text, int position) {
  if (position < 0 || static_cast<std::size_t>(position) >= text.size()) return {};
  const auto before = text.substr(0, static_cast<std::size_t>(position));
  const auto rest = text.substr(static_cast<std::size_t>(position));
  if (rest.starts_with("=>") && ends_with_word(before, "null"))
    return " NULL is a keyword; the option is called nullstr.";
  if (rest[0] != '\'' || !(ends_with_word(before, "from") || ends_with_word(before, "join"))) return {};
  const auto path = rest.substr(1, rest.find('\'', 1) - 1);
  const auto format = format_from_path(path);
  return format ? fmt::format(" In FROM {}.", how_to_read(*format, path)) : std::string();
}

}  // namespace espalier::engine
