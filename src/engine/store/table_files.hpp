// table_files.hpp - detects that another program has truncated files of a table that are in use.
//
// Rows and indexes are read where they are mapped, at any time during a statement. A truncation makes their values
// zeros (sigbus_handler.hpp), so the sizes of the files are compared when a statement first names the table, before a
// change is committed, and before rows are returned.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace espalier::engine {

class mapped_file;

/// The mapped files that hold rows of one table and those of its indexes that are in use. A file that is no longer
/// mapped is not checked. Thread-safe.
class table_files {
 public:
  explicit table_files(std::string table) : table_(std::move(table)) {}
  void add(const std::shared_ptr<const mapped_file>& file);
  /// Throws an `engine_error` of kind `damaged` that has the names of table and file if a file has been truncated.
  void require_whole() const;

 private:
  std::string table_;
  mutable std::mutex changing_;
  std::vector<std::weak_ptr<const mapped_file>> files_;
};

/// Collects the files that this thread's statement uses during its lifetime.
class file_use_scope {
 public:
  file_use_scope() noexcept;
  file_use_scope(const file_use_scope&) = delete;
  file_use_scope& operator=(const file_use_scope&) = delete;
  ~file_use_scope();

  /// Adds files to the scope of this thread, if there is one.
  static void add(const std::shared_ptr<const table_files>& files);
  /// Throws as table_files::require_whole for all files of this thread's scope.
  static void require_whole();
  /// Returns the files of this thread's scope.
  [[nodiscard]] static std::vector<std::shared_ptr<const table_files>> current();

 private:
  file_use_scope* before_;
  std::vector<std::shared_ptr<const table_files>> used_;
};

}  // namespace espalier::engine
