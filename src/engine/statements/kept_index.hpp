// kept_index.hpp - what a session knows of the file of an index in the folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

#include "engine/table/row_counts.hpp"

namespace espalier::engine {

/// What a statement does to the files of the indexes of the table that it changes.
enum class index_files : std::uint8_t {
  current,  ///< nothing; indexes without a file get one
  behind,   ///< rows were added or deleted: files stay as long as loading them and merging the changes pays
  gone      ///< row ids are others: files are given up
};

struct kept_index {
  std::uint64_t content = 0;  ///< its number in the store
  row_counts covers;          ///< of the table when the file was written
  std::string layout;         ///< table_index::layout() of the file

  /// Is it worth to keep the file when the table has come to `now`? Loading merges the changes in a pass over the keys,
  /// after it has encoded and sorted the rows that were added; docs/design/opening.md has figures.
  [[nodiscard]] bool is_close_to(const row_counts& now) const {
    return changes_between(covers, now) <= std::max<std::uint64_t>(1024, covers.live / 16);
  }
};

/// By the name of the index.
using kept_indexes = std::map<std::string, kept_index>;

}  // namespace espalier::engine
