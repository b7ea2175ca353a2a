// catalog_file.hpp - the catalog file, which lists the files of a database. Renaming it is the commit: the database
// consists of the files that it names, and files that it lists as obsolete can be removed.
//
// It has two lines: a header with magic, version, and size and checksum of the second line, which has the contents as
// JSON. The version is 2 if an index has `covers`, which programs that only support version 1 would report as a damaged
// file; otherwise it is 1.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/store/files.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {

inline constexpr std::string_view catalog_file_name = "catalog.json";

/// A file that the catalog names. Each section has its own checksum; `checksum` of a sections file covers those.
struct file_record {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
  std::uint64_t rows = 0;  // for segments and live masks
};

struct index_record {
  std::string name;
  std::string spec;
  std::optional<file_record> file;
  std::optional<row_counts> covers{};  // row counts of the table when the file was written, if rows have changed since
};

struct table_record {
  std::string name;
  std::string about;
  std::vector<column> columns;
  std::vector<file_record> segments;
  std::optional<file_record> live;
  std::vector<index_record> indexes;
};

struct catalog_record {
  std::uint64_t generation = 0;  // number of commits
  std::uint64_t next_file = 1;   // file numbers are never reused
  std::vector<table_record> tables;
  std::vector<std::string> obsolete;  // files of earlier states that may still exist and can be removed
};

/// Returns every file of a state except the catalog itself.
[[nodiscard]] std::vector<file_record> files_of(const catalog_record& catalog);

[[nodiscard]] std::string catalog_text(const catalog_record& catalog);
/// Throws damaged_file with `path` for any invalid text.
[[nodiscard]] catalog_record parse_catalog(std::string_view text, const std::filesystem::path& path);
/// Parses the second line only, without its checksum.
[[nodiscard]] catalog_record parse_catalog_contents(std::string_view json, const std::filesystem::path& path);

[[nodiscard]] catalog_record read_catalog(const std::filesystem::path& folder);
/// Returns the first line of the catalog in the folder, which changes with every commit, or an empty string if there is
/// no catalog.
[[nodiscard]] std::string catalog_header(const std::filesystem::path& folder);
/// Commits. All files that the catalog names have been synced before. Returns the first line.
std::string write_catalog(file_layer& layer, const std::filesystem::path& folder, const catalog_record& catalog);

}  // namespace espalier::engine
