// store.hpp - a database in a folder: tables and indexes as they were at the last commit.
//
// Files of a state never change. A commit writes the files that the new state has and the old one has not, syncs them,
// and replaces the catalog; then it removes what only the old state had. So a process that dies at any moment leaves
// the old state or the new one, and files that are known to be garbage, which the next `open` removes after it has read
// all tables. Other files that the catalog does not name are neither removed nor overwritten.
//
// Opening maps all files and reads none of them, unless there is garbage to remove: `read` compares the checksums of
// one table's rows, and a section of an index file is checked when it is first used.
//
// One process at a time has a folder open for changes; others may read what it has committed. Not for several threads
// at once.
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
#include "engine/table/row_counts.hpp"
#include "engine/table/table_version.hpp"
#include "espalier/engine/progress.hpp"

namespace espalier::engine {

/// What is read back of an index. Without sections it is built anew: only its definition was kept, or `problem` names
/// its file and says why that cannot be used.
struct loaded_index {
  std::string name;
  std::string spec;
  std::shared_ptr<const mapped_sections> sections;
  std::string problem{};
  std::optional<row_counts> covers{};  ///< the table when the sections were written, where its rows have changed since
};

struct loaded_table {
  std::string name;
  std::string about;
  table_version::pointer rows;  ///< null: they cannot be read, and `problem` is a sentence that says why
  std::vector<loaded_index> indexes;
  std::string problem{};
};

/// What the catalog says of a table.
struct listed_table {
  std::string name;
  std::vector<std::string> indexes;
  std::string problem;  ///< a file is missing or has another size: the sentence of `loaded_table`
};

/// What is to be kept of an index. `content` is the number of a file, which no other index ever has. The file of the
/// present state with this number is kept; where there is none, `save` writes one. Without `save` and such a file only
/// name and spec are kept.
struct saved_index {
  std::string name;
  std::string spec;  ///< text that only the caller understands, as `about` of a table
  std::uint64_t content = 0;
  std::function<void(section_writer&)> save;
  std::optional<row_counts> covers{};  ///< the table when the file was written, or nothing: as it is now
};

struct saved_table {
  std::string name;
  std::string about;
  table_version::pointer rows;  ///< null: the table stays in the folder as it is, damaged or not read
  std::vector<saved_index> indexes;
};

class store {
 public:
  /// Opens the database in a folder, or makes an empty one where there is none. Throws one sentence where another
  /// process has it open, where the catalog is damaged, and where the folder has files but is no database. Damaged rows
  /// are noted with their table when that is read, and a damaged file of an index with the index.
  [[nodiscard]] static std::unique_ptr<store> open(const std::filesystem::path& folder,
                                                   file_layer& layer = plain_files(), const progress& tell = {});
  /// The state of this moment, for reading: nothing is locked, made, removed or written, and another process may commit
  /// meanwhile and afterwards. `commit` throws.
  [[nodiscard]] static std::unique_ptr<store> open_read_only(const std::filesystem::path& folder,
                                                             const progress& tell = {});
  store(const store&) = delete;
  store& operator=(const store&) = delete;
  ~store();

  /// What was found when it was opened. Nothing is read for that.
  [[nodiscard]] const std::vector<listed_table>& list() const noexcept;
  /// A table of the present catalog. Each one is read once: the rows of one pointer are the rows of one file.
  [[nodiscard]] loaded_table read(const std::string& table, const progress& tell = {});
  /// All tables of list(), read at the first call.
  [[nodiscard]] const std::vector<loaded_table>& tables();
  /// Lets go of what `tables()` holds beyond what the caller has taken.
  void forget_tables() noexcept;
  /// `content` of an index that was found, for the first commit that keeps it as it is.
  [[nodiscard]] std::uint64_t content_of(const std::string& table, const std::string& index) const;
  /// A number for `content` that this store has not seen.
  [[nodiscard]] std::uint64_t new_content() noexcept;

  /// From now on these are the tables. If it throws, they are what they were, with one exception: where the new catalog
  /// was put in place but its folder could not be synced, the error says so, and the database has to be opened again.
  void commit(const std::vector<saved_table>& tables);
  /// After such an error: nobody knows which state a power failure would leave, so neither has to be answered from.
  [[nodiscard]] bool poisoned() const noexcept;

  [[nodiscard]] const std::filesystem::path& folder() const noexcept;

 private:
  struct state;
  explicit store(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

struct verify_report {
  std::vector<std::string> problems;  ///< one sentence each; empty if all is right
  std::uint64_t tables = 0;
  std::uint64_t files = 0;
  std::uint64_t rows = 0;  ///< live ones
  std::uint64_t bytes = 0;
  std::vector<std::string> unnamed_files;  ///< with the store's names, of no known commit: they are kept
};

/// Looks at every byte of every file that the catalog names, and at every value. What indexes mean is checked by
/// `check`, where it is given: it gets each index with its table and answers a problem or nothing.
[[nodiscard]] verify_report verify(
    const std::filesystem::path& folder,
    const std::function<std::string(const loaded_table&, const loaded_index&)>& check = {}, const progress& tell = {});

}  // namespace espalier::engine
