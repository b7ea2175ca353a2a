// folder.hpp - classifies the files in the folder of a database.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/store/catalog_file.hpp"

namespace espalier::engine {

inline constexpr std::string_view index_file_kind = "index";

enum class stored_kind : std::uint8_t { rows, live, index };

/// Returns "rows-000012.arrow", "live-000013.sections" or "index-000014.sections".
[[nodiscard]] std::string numbered_name(stored_kind kind, std::uint64_t number);

/// An empty file that exists during a commit, from before its first file is written until its catalog is in place.
/// Without it, the files of a killed commit could not be distinguished from files of a catalog newer than the one in
/// the folder.
struct commit_marker {
  std::uint64_t generation = 0;  ///< generation of the catalog to be written
  std::uint64_t first_file = 0;  ///< number of the commit's first file
};
/// Returns a name such as "writing-000008-000023".
[[nodiscard]] std::string marker_name(const commit_marker& marker);

struct numbered_file {
  std::string name;
  std::uint64_t number = 0;
};

/// Files in the folder with names of the store, except the catalog.
struct folder_contents {
  std::vector<numbered_file> numbered;
  std::vector<commit_marker> markers;
  std::vector<std::string> temporaries;

  [[nodiscard]] std::uint64_t next_number() const;  ///< greater than all numbers in use
};
[[nodiscard]] folder_contents contents_of(const std::filesystem::path& folder);

/// Throws if the folder is not a database: it has no catalog, but files that a database under creation would not have.
void require_database_folder(const std::filesystem::path& folder);
/// Throws if there is no database to read.
void require_database(const std::filesystem::path& folder);

/// Returns what a killed process left: temporary files, files that the catalog lists as obsolete, and those of a commit
/// whose catalog was not written. Other files that the catalog does not name may belong to a newer catalog.
[[nodiscard]] std::set<std::string> leftovers_in(const folder_contents& contents, const catalog_record& catalog);
/// Returns files with names of the store that `catalog` neither names nor lists as garbage.
[[nodiscard]] std::vector<std::string> unknown_files_in(const folder_contents& contents, const catalog_record& catalog);

/// Returns whether writing to `file` would change the folder of a database. Symbolic links are followed, and a hard
/// link to one of its files counts as the file.
[[nodiscard]] bool is_in_database(const std::filesystem::path& file, const std::filesystem::path& folder);

}  // namespace espalier::engine
