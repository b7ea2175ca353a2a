// open_transaction.hpp - the state that a session needs to roll back to BEGIN.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "engine/catalog.hpp"
#include "engine/statements/kept_index.hpp"
#include "engine/store/table_files.hpp"

namespace espalier::engine {

struct open_transaction {
  catalog tables;            ///< at BEGIN; entries are immutable, but their indexes are changed in place
  kept_indexes files;        ///< at BEGIN
  std::int64_t started = 0;  ///< microseconds since 1970, UTC
  bool read_only = false;
  /// True for the statements of a commit group: there is no transaction for the user, and no statement fails it.
  bool is_group = false;
  std::size_t statements = 0;                       ///< statements of the group that succeeded
  std::chrono::steady_clock::time_point opened_at;  ///< start of the first statement of the group
  bool has_failed = false;
  bool has_changes = false;
  /// Files from which changes were computed. Rows of a change may be read where they are mapped until COMMIT.
  std::set<std::shared_ptr<const table_files>> used;

  /// The undo information of an index, and the index itself, which the entries of `tables` may no longer reference.
  struct changed_index {
    std::shared_ptr<table_index> index;
    index_undo undo;
  };
  std::map<const table_index*, changed_index> changed;

  [[nodiscard]] index_undo& undo_of(const std::shared_ptr<table_index>& index) {
    auto& found = changed[index.get()];
    found.index = index;
    return found.undo;
  }
};

}  // namespace espalier::engine
