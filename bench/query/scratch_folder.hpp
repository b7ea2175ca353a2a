// scratch_folder.hpp - a temporary folder for files that two engines load.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>

#include "espalier/core/error.hpp"

namespace espalier::bench {

class scratch_folder {
 public:
  scratch_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "espalier-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      throw error("No folder for temporary files can be made: let TMPDIR name one that can be written to.");
    }
    path_ = name;
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// A file that is removed as soon as it is not needed, since these files are large.
class scratch_file {
 public:
  scratch_file(const scratch_folder& folder, const std::string& name) : path_(folder.file(name)) {}
  scratch_file(const scratch_file&) = delete;
  scratch_file& operator=(const scratch_file&) = delete;
  ~scratch_file() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace espalier::bench
