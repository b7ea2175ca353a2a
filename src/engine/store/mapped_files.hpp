// mapped_files.hpp - files of a database, mapped when it is opened and read when they are used.
//
// A mapped file stays as it is when another process removes its name, so a reader keeps the state that it has opened.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "engine/store/catalog_file.hpp"
#include "engine/store/files.hpp"

namespace espalier::engine {

class mapped_files {
 public:
  explicit mapped_files(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Maps the file without reading it. False where that cannot be done, or its size is not that of the record.
  bool add(const file_record& file);
  /// The file that was added; maps it now where there is none. Throws where that cannot be done. It stays here until
  /// forget(): what is stopped while it reads can be done again, even if the file has lost its name since.
  [[nodiscard]] std::shared_ptr<mapped_file> take(const file_record& file);
  void forget(const file_record& file) noexcept;          ///< once for each add()
  [[nodiscard]] bool has(const file_record& file) const;  ///< added, or at least there
  [[nodiscard]] std::filesystem::path path_of(const file_record& file) const { return folder_ / file.name; }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

 private:
  std::filesystem::path folder_;
  std::multimap<std::string, std::shared_ptr<mapped_file>> mapped_;  // two tables may share rows
};

}  // namespace espalier::engine
