// folder.hpp - which files in a database's folder are whose.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "engine/store/catalog_file.hpp"

namespace espalier::engine {

inline constexpr std::string_view index_file_kind = "index";

enum class stored_kind : std::uint8_t { rows, live, index };

/// "rows-000012.arrow", "live-000013.sections", "index-000014.sections"
[[nodiscard]] std::string numbered_name(stored_kind kind, std::uint64_t number);

/// Throws where the folder is something else than a database: it has no catalog, and files that a database just being
/// made would not have.
void require_database_or_nothing(const std::filesystem::path& folder);

/// Removes what the store wrote and `catalog` does not name: what a killed process left. Other files stay.
void remove_leftovers(file_layer& layer, const std::filesystem::path& folder, const catalog_record& catalog);

}  // namespace espalier::engine
