// catalog_file.hpp - the file that says what a database consists of. Its rename is the commit: what it names is the
// database, and what it calls obsolete is left over.
//
// Two lines: a header with magic, version, and size and checksum of the second; then the contents as JSON. The version
// is 2 where an index has `covers`, which programs that know version 1 only would take for a damaged file; else 1.
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

/// A file the catalog names. Sections have checksums of their own, and theirs is the checksum of all of those.
struct file_record {
  std::string name;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
  std::uint64_t rows = 0;  // of segments and live masks
};

struct index_record {
  std::string name;
  std::string spec;
  std::optional<file_record> file;
  std::optional<row_counts> covers{};  // of the table when the file was written, where rows have changed since
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
  std::uint64_t generation = 0;  // how many commits there were
  std::uint64_t next_file = 1;   // files are numbered, and no number is used twice
  std::vector<table_record> tables;
  std::vector<std::string> obsolete;  // files of earlier states that may be removed, where they still exist
};

/// Every file that a state consists of, but the catalog itself.
[[nodiscard]] std::vector<file_record> files_of(const catalog_record& catalog);

[[nodiscard]] std::string catalog_text(const catalog_record& catalog);
/// Throws damaged_file naming `path`, whatever the text is.
[[nodiscard]] catalog_record parse_catalog(std::string_view text, const std::filesystem::path& path);
/// The second line alone, without its checksum.
[[nodiscard]] catalog_record parse_catalog_contents(std::string_view json, const std::filesystem::path& path);

[[nodiscard]] catalog_record read_catalog(const std::filesystem::path& folder);
/// The first line of the catalog in the folder, which changes with every commit; empty where there is none.
[[nodiscard]] std::string catalog_header(const std::filesystem::path& folder);
/// The commit. Everything it names has been synced before. Answers the first line.
std::string write_catalog(file_layer& layer, const std::filesystem::path& folder, const catalog_record& catalog);

}  // namespace espalier::engine
