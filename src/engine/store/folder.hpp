// folder.hpp - which files in a database's folder are whose.
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

/// "rows-000012.arrow", "live-000013.sections", "index-000014.sections"
[[nodiscard]] std::string numbered_name(stored_kind kind, std::uint64_t number);

/// An empty file that exists while a commit writes: from before its first file until after its catalog is in place.
/// Without it, files of a killed commit could not be told from files of a newer catalog than the one in the folder.
struct commit_marker {
  std::uint64_t generation = 0;  ///< of the catalog that is to be written
  std::uint64_t first_file = 0;  ///< the number of the commit's first file
};
/// "writing-000008-000023"
[[nodiscard]] std::string marker_name(const commit_marker& marker);

struct numbered_file {
  std::string name;
  std::uint64_t number = 0;
};

/// Files in the folder whose names are the store's, other than the catalog.
struct folder_contents {
  std::vector<numbered_file> numbered;
  std::vector<commit_marker> markers;
  std::vector<std::string> temporaries;

  [[nodiscard]] std::uint64_t next_number() const;  ///< above all that are there
};
[[nodiscard]] folder_contents contents_of(const std::filesystem::path& folder);

/// Throws where the folder is something else than a database: it has no catalog, and files that a database just being
/// made would not have.
void require_database_folder(const std::filesystem::path& folder);
/// Throws where there is no database to be read.
void require_database(const std::filesystem::path& folder);

/// What a killed process left: temporary files, files that the catalog calls obsolete, and those of a commit that did
/// not get to its catalog. Other files that the catalog does not name may belong to a newer catalog.
[[nodiscard]] std::set<std::string> leftovers_in(const folder_contents& contents, const catalog_record& catalog);
/// Files with the store's names that `catalog` neither names nor knows to be garbage.
[[nodiscard]] std::vector<std::string> unknown_files_in(const folder_contents& contents, const catalog_record& catalog);

/// Would writing to `file` add to, or change, the folder of a database? Symbolic links are followed, and another name
/// of one of its files (a hard link) counts as the file.
[[nodiscard]] bool is_in_database(const std::filesystem::path& file, const std::filesystem::path& folder);

}  // namespace espalier::engine
