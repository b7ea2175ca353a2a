// scratch_working_folder.hpp - changes the working directory to a new folder during its lifetime, so that statements
// with relative file names access nothing else. It does not need GoogleTest, since the fuzzers use it, too.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <iterator>
#include <stdexcept>
#include <string>
#include <system_error>

namespace espalier::test {

class scratch_working_folder {
 public:
  scratch_working_folder() : before_(std::filesystem::current_path()) {
    std::string name = (std::filesystem::temp_directory_path() / "espalier-files-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder can be made for temporary files");
    path_ = name;
    std::filesystem::current_path(path_);
  }
  scratch_working_folder(const scratch_working_folder&) = delete;
  scratch_working_folder& operator=(const scratch_working_folder&) = delete;
  ~scratch_working_folder() {
    std::error_code ignored;
    std::filesystem::current_path(before_, ignored);
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }
  void remove_files() const {
    for (const auto& entry : std::filesystem::directory_iterator(path_)) std::filesystem::remove_all(entry.path());
  }

 private:
  std::filesystem::path before_;
  std::filesystem::path path_;
};

}  // namespace espalier::test
