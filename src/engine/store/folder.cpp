#include "engine/store/folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "engine/table/replaced_file.hpp"
#include "espalier/engine/engine_error.hpp"

namespace espalier::engine {
namespace {

struct name_pattern {
  std::string_view start;
  std::string_view end;
};

constexpr std::array<name_pattern, 3> patterns = {name_pattern{"rows-", ".arrow"}, name_pattern{"live-", ".sections"},
                                                  name_pattern{"index-", ".sections"}};

constexpr std::string_view marker_start = "writing-";
// Larger numbers are not from the store, which counts from 1.
constexpr std::uint64_t highest_number = std::uint64_t{1} << 62;

std::optional<std::uint64_t> number_of(std::string_view digits) {
  std::uint64_t number = 0;
  const char* const last = digits.data() + digits.size();
  const auto [end, failure] = std::from_chars(digits.data(), last, number);
  if (digits.empty() || failure != std::errc{} || end != last || number > highest_number) return std::nullopt;
  return number;
}

std::optional<std::uint64_t> number_in(std::string_view name) {
  for (const auto& [start, end] : patterns) {
    if (name.size() <= start.size() + end.size() || !name.starts_with(start) || !name.ends_with(end)) continue;
    return number_of(name.substr(start.size(), name.size() - start.size() - end.size()));
  }
  return std::nullopt;
}

std::optional<commit_marker> marker_in(std::string_view name) {
  if (!name.starts_with(marker_start)) return std::nullopt;
  name.remove_prefix(marker_start.size());
  const auto between = name.find('-');
  if (between == std::string_view::npos) return std::nullopt;
  const auto generation = number_of(name.substr(0, between));
  const auto first_file = number_of(name.substr(between + 1));
  if (!generation || !first_file) return std::nullopt;
  return commit_marker{*generation, *first_file};
}

bool is_temporary(std::string_view name) {
  if (!name.ends_with(temporary_ending)) return false;
  name.remove_suffix(temporary_ending.size());
  return name == catalog_file_name || number_in(name).has_value();
}

std::set<std::string> names_of_files(const catalog_record& catalog) {
  std::set<std::string> names;
  for (const auto& file : files_of(catalog)) names.insert(file.name);
  return names;
}

}  // namespace

std::string numbered_name(stored_kind kind, std::uint64_t number) {
  const auto& pattern = patterns[static_cast<std::size_t>(kind)];
  return fmt::format("{}{:06}{}", pattern.start, number, pattern.end);
}

std::string marker_name(const commit_marker& marker) {
  return fmt::format("{}{:06}-{:06}", marker_start, marker.generation, marker.first_file);
}

std::uint64_t folder_contents::next_number() const {
  std::uint64_t next = 0;
  for (const auto& file : numbered) next = std::max(next, file.number + 1);
  return next;
}

folder_contents contents_of(const std::filesystem::path& folder) {
  folder_contents contents;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto name = entry.path().filename().string();
    if (const auto number = number_in(name)) contents.numbered.push_back({name, *number});
    if (const auto marker = marker_in(name)) contents.markers.push_back(*marker);
    if (is_temporary(name)) contents.temporaries.push_back(name);
  }
  std::ranges::sort(contents.numbered, {}, &numbered_file::number);
  return contents;
}

void require_database_folder(const std::filesystem::path& folder) {
  if (!std::filesystem::exists(folder)) return;
  if (!std::filesystem::is_directory(folder)) {
    throw error(fmt::format("'{}' is not a folder; give the folder of a database, or a name that does not exist yet.",
                            folder.string()));
  }
  if (std::filesystem::exists(folder / catalog_file_name)) return;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto name = entry.path().filename().string();
    if (number_in(name)) {
      throw error(fmt::format("The file '{1}' of database '{0}' is missing; restore it from a copy.", folder.string(),
                              catalog_file_name));
    }
    if (name != "lock" && !is_temporary(name) && !marker_in(name)) {
      throw error(
          fmt::format("'{}' is neither a database nor an empty folder; choose another folder.", folder.string()));
    }
  }
}

void require_database(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder)) {
    throw engine_error(fmt::format("There is no database '{}'.", folder.string()), codes::undefined_file);
  }
  require_database_folder(folder);
  if (!std::filesystem::exists(folder / catalog_file_name)) {
    throw engine_error(fmt::format("'{}' is an empty folder and no database.", folder.string()), codes::undefined_file);
  }
}

std::set<std::string> leftovers_in(const folder_contents& contents, const catalog_record& catalog) {
  std::set<std::string> leftovers(contents.temporaries.begin(), contents.temporaries.end());
  const auto named = names_of_files(catalog);
  const std::set<std::string> obsolete(catalog.obsolete.begin(), catalog.obsolete.end());
  for (const auto& [name, number] : contents.numbered) {
    const bool of_a_killed_commit = std::ranges::any_of(contents.markers, [&, n = number](const commit_marker& marker) {
      return marker.generation == catalog.generation + 1 && n >= marker.first_file;
    });
    const bool is_obsolete = obsolete.contains(name) && number < catalog.next_file;
    if (!named.contains(name) && (is_obsolete || of_a_killed_commit)) leftovers.insert(name);
  }
  return leftovers;
}

std::vector<std::string> unknown_files_in(const folder_contents& contents, const catalog_record& catalog) {
  const auto named = names_of_files(catalog);
  const auto leftovers = leftovers_in(contents, catalog);
  std::vector<std::string> unknown;
  for (const auto& file : contents.numbered) {
    if (!named.contains(file.name) && !leftovers.contains(file.name)) unknown.push_back(file.name);
  }
  return unknown;
}

bool is_in_database(const std::filesystem::path& file, const std::filesystem::path& folder) {
  const auto target = followed_links(file);
  std::error_code none;  // a path that cannot be resolved is not in the folder
  if (std::filesystem::equivalent(target.has_parent_path() ? target.parent_path() : ".", folder, none)) return true;
  if (!std::filesystem::is_regular_file(target, none)) return false;
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (std::filesystem::equivalent(entry.path(), target, none)) return true;
  }
  return false;
}

}  // namespace espalier::engine
