// store.hpp - a database in a folder: tables and indexes as of the last commit.
//
// The files of a state are immutable. A commit writes the files that only the new state has, syncs them and replaces
// the catalog; then it removes the files that only the old state had. A process that is killed at any moment therefore
// leaves the old or the new state, and files that are known to be garbage, which the next `open` removes after it has
// read all tables. Other files that the catalog does not name are neither removed nor overwritten.
//
// Opening maps all files and reads none of them, unless there is garbage to remove. `read` verifies the checksums of
// one table's rows, and a section of an index file is verified when it is first used.
//
// Concurrency: one process at a time has a folder open for changes; others may read what it has committed. A store is
// not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/store/files.hpp"
#include "engine/store/sections.hpp"
#include "engine/store/table_files.hpp"
#include "engine/table/row_counts.hpp"
#include "engine/table/table_version.hpp"
#include "espalier/engine/progress.hpp"

namespace espalier::engine {

/// An index as read from the folder. Without sections it has to be rebuilt: either only its definition was stored, or
/// `problem` describes why its file cannot be used.
struct loaded_index {
  std::string name;
  std::string spec;
  std::shared_ptr<const mapped_sections> sections;
  std::string problem{};
  std::optional<row_counts> covers{};  ///< row counts when the sections were written, if rows have changed since
};

struct loaded_table {
  std::string name;
  std::string about;
  table_version::pointer rows;  ///< null if they cannot be read; `problem` has the reason
  std::vector<loaded_index> indexes;
  std::string problem{};
  std::shared_ptr<table_files> files{};  ///< the files that the rows are mapped from; users of an index add its file
};

/// A table as listed in the catalog.
struct listed_table {
  std::string name;
  std::vector<std::string> indexes;
  std::string problem;  ///< a file is missing or has another size; as in `loaded_table`
};

/// An index to be stored. `content` is a file number that no other index ever has. A file of the current state with
/// this number is kept; otherwise `save` writes one. Without `save` and such a file, only name and spec are stored.
struct saved_index {
  std::string name;
  std::string spec;  ///< opaque to the store, as `about` of a table
  std::uint64_t content = 0;
  std::function<void(section_writer&)> save;
  std::optional<row_counts> covers{};  ///< row counts when the file was written; nothing means the current ones
};

struct saved_table {
  std::string name;
  std::string about;
  table_version::pointer rows;  ///< null if the table stays in the folder unchanged, damaged or not read
  std::vector<saved_index> indexes;
};

class store {
 public:
  /// Opens the database in a folder, or creates an empty one. Throws if another process has it open, if the catalog is
  /// damaged, and if the folder has files but is not a database. Damaged rows are reported when their table is read,
  /// and a damaged index file with its index.
  [[nodiscard]] static std::unique_ptr<store> open(const std::filesystem::path& folder,
                                                   file_layer& layer = plain_files(), const progress& tell = {});
  /// Opens the current state for reading. It does not lock, create, remove or write anything, and another process may
  /// commit meanwhile and afterwards. `commit` throws.
  [[nodiscard]] static std::unique_ptr<store> open_read_only(const std::filesystem::path& folder,
                                                             const progress& tell = {});
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  ~store();

  /// Returns the tables that were found on opening, without reading them.
  [[nodiscard]] const std::vector<listed_table>& list() const noexcept;
  /// Reads a table of the current catalog. Each table is read once: one rows pointer corresponds to one file.
  [[nodiscard]] loaded_table read(const std::string& table, const progress& tell = {});
  /// Returns all tables of list(); they are read at the first call.
  [[nodiscard]] const std::vector<loaded_table>& tables();
  /// Releases the tables that `tables()` returned, except those that the caller still references.
  void forget_tables() noexcept;
  /// Returns `content` of an index that was found, for the first commit that keeps it.
  [[nodiscard]] std::uint64_t content_of(const std::string& table, const std::string& index) const;
  /// Returns an unused number for `content`.
  [[nodiscard]] std::uint64_t new_content() noexcept;

  /// Replaces the tables of the database. If it throws, they are unchanged, with one exception: if the new catalog is
  /// in place but its folder could not be synced, the error says so, and the database has to be reopened. Before the
  /// catalog is replaced, it checks that no file of this thread's file_use_scope was truncated while it was copied.
  void commit(const std::vector<saved_table>& tables);
  /// Returns true after such an error: either state may be found after a power failure, so queries must not be answered
  /// from either.
  [[nodiscard]] bool poisoned() const noexcept;

  [[nodiscard]] const std::filesystem::path& folder() const noexcept;

 private:
  struct state;
  explicit store(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

struct verify_report {
  std::vector<std::string> problems;  ///< one sentence each; empty if there are none
  std::uint64_t tables = 0;
  std::uint64_t files = 0;
  std::uint64_t rows = 0;  ///< live rows
  std::uint64_t bytes = 0;
  std::vector<std::string> unnamed_files;  ///< files with names of the store from an unknown commit, which are kept
};

/// Checks every byte of every file that the catalog names, and every value. If `check` is given, it is called for each
/// index with its table, to compare their contents, and returns a problem or nothing.
[[nodiscard]] verify_report verify(
    const std::filesystem::path& folder,
    const std::function<std::string(const loaded_table&, const loaded_index&)>& check = {}, const progress& tell = {});

}  // namespace espalier::engine
