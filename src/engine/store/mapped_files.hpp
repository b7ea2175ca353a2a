// mapped_files.hpp - files of a database, mapped when it is opened and read when they are used.
//
// A mapped file remains valid when another process removes its name, so a reader keeps the state that it has opened.
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

  /// Maps the file without reading it. Returns false if that fails or its size differs from the record.
  bool add(const file_record& file);
  /// Returns a file that was added, or maps it now; throws if that fails. The mapping is kept until forget(), so that
  /// an interrupted read can be repeated even if the file has been unlinked since.
  [[nodiscard]] std::shared_ptr<mapped_file> take(const file_record& file);
  void forget(const file_record& file) noexcept;          ///< called once per add()
  [[nodiscard]] bool has(const file_record& file) const;  ///< added, or exists in the folder
  [[nodiscard]] std::filesystem::path path_of(const file_record& file) const { return folder_ / file.name; }
  [[nodiscard]] const std::filesystem::path& folder() const noexcept { return folder_; }

 private:
  std::filesystem::path folder_;
  std::multimap<std::string, std::shared_ptr<mapped_file>> mapped_;  // two tables may share rows
};

}  // namespace espalier::engine
