// replaced_file.hpp - an output file that appears under its name when it is complete.
#pragma once

#include <filesystem>

namespace espalier::engine {

/// Writes to a new file with a unique name in the same folder; `finish` syncs it and renames it to `path`. Symbolic
/// links are followed. A pipe or a device cannot be replaced and is written to directly.
class replaced_file {
 public:
  explicit replaced_file(const std::filesystem::path& path);
  replaced_file(const replaced_file&) = delete;
  replaced_file& operator=(const replaced_file&) = delete;
  ~replaced_file();  ///< without `finish`, the existing file is kept

  /// Returns a descriptor to write to, which the caller closes before `finish`.
  [[nodiscard]] int duplicate_handle() const;
  void finish();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;  ///< empty if `path_` is written to directly
  int handle_ = -1;
};

/// Resolves symbolic links, whether or not the target exists.
[[nodiscard]] std::filesystem::path followed_links(std::filesystem::path path);

}  // namespace espalier::engine
