#include "engine/store/folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <vector>

#include "espalier/core/error.hpp"

namespace espalier::engine {
namespace {

struct name_pattern {
  std::string_view start;
  std::string_view end;
};

constexpr std::array<name_pattern, 3> patterns = {name_pattern{"rows-", ".arrow"}, name_pattern{"live-", ".sections"},
                                                  name_pattern{"index-", ".sections"}};

bool is_number(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_numbered(std::string_view name) {
  return std::ranges::any_of(patterns, [&](const name_pattern& pattern) {
    return name.size() > pattern.start.size() + pattern.end.size() && name.starts_with(pattern.start) &&
           name.ends_with(pattern.end) &&
           is_number(name.substr(pattern.start.size(), name.size() - pattern.start.size() - pattern.end.size()));
  });
}

bool is_temporary(std::string_view name) {
  if (!name.ends_with(temporary_ending)) return false;
  name.remove_suffix(temporary_ending.size());
  return name == catalog_file_name || is_numbered(name);
}

}  // namespace

std::string numbered_name(stored_kind kind, std::uint64_t number) {
  const auto& pattern = patterns[static_cast<std::size_t>(kind)];
  return fmt::format("{}{:06}{}", pattern.start, number, pattern.end);
}

void require_database_or_nothing(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder)) return;
  if (!std::filesystem::is_directory(folder)) {
    throw error(fmt::format("'{}' is not a folder: a database needs one of its own.", folder.string()));
  }
  if (std::filesystem::exists(folder / catalog_file_name)) return;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto name = entry.path().filename().string();
    if (is_numbered(name)) {
      throw error(
          fmt::format("Database '{}' has lost its {}: restore it from a copy.", folder.string(), catalog_file_name));
    }
    if (name != "lock" && !is_temporary(name)) {
      throw error(fmt::format("'{}' is no database and not empty: name another folder.", folder.string()));
    }
  }
}

void remove_leftovers(file_layer& layer, const std::filesystem::path& folder, const catalog_record& catalog) {
  std::set<std::string> named;
  for (const auto& file : files_of(catalog)) named.insert(file.name);
  std::vector<std::filesystem::path> leftovers;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto name = entry.path().filename().string();
    if (is_temporary(name) || (is_numbered(name) && !named.contains(name))) leftovers.push_back(entry.path());
  }
  for (const auto& path : leftovers) layer.remove(path);
}

}  // namespace espalier::engine
