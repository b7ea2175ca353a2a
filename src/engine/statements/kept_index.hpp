// kept_index.hpp - what a session records about the file of an index in the folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/table/row_counts.hpp"

namespace espalier::engine {

/// The effect of a statement on the index files of the table that it changes.
enum class index_files : std::uint8_t {
  current,  ///< none; indexes without a file get one
  behind,   ///< rows were added or deleted; a file is kept as long as loading it and merging the changes is cheaper
  gone      ///< row ids have changed; files are discarded
};

struct kept_index {
  std::uint64_t content = 0;            ///< its content number in the store
  row_counts covers;                    ///< row counts when the file was written
  std::optional<std::string> layout{};  ///< table_index::layout() of the file; nothing while the index is not open

  /// Returns whether the file is worth keeping for a table with the counts `now`. Loading encodes and sorts the added
  /// rows and merges them in one pass over the keys; docs/design/opening.md has figures.
  [[nodiscard]] bool is_close_to(const row_counts& now) const {
    return changes_between(covers, now) <= std::max<std::uint64_t>(1024, covers.live / 16);
  }
};

/// Keyed by the name of the index.
using kept_indexes = std::map<std::string, kept_index>;

}  // namespace espalier::engine
