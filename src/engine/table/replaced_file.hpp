// replaced_file.hpp - an output file that appears under its name when it is whole.
#pragma once

#include <filesystem>

namespace espalier::engine {

/// Bytes go to a new file in the same folder, whose name no other file has; `finish` syncs it and renames it to `path`.
/// Symbolic links are followed. A pipe or a device cannot be replaced: it is written to as it is.
class replaced_file {
 public:
  explicit replaced_file(const std::filesystem::path& path);
  replaced_file(const replaced_file&) = delete;
  replaced_file& operator=(const replaced_file&) = delete;
  ~replaced_file();  ///< without `finish`, what was there before stays

  /// A descriptor to write to, which the caller closes before `finish`.
  [[nodiscard]] int duplicate_handle() const;
  void finish();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;  ///< empty: `path_` is written to as it is
  int handle_ = -1;
};

/// What `path` leads to when symbolic links are followed, whether that exists or not.
[[nodiscard]] std::filesystem::path followed_links(std::filesystem::path path);

}  // namespace espalier::engine
