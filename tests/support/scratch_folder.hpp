// scratch_folder.hpp - a temporary folder for one test.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace espalier::test {

/// Shards of one program, and two checkouts, may run concurrently, so a test that writes files must not use a fixed
/// path. The system chooses a unique name.
class scratch_folder {
 public:
  scratch_folder() {
    std::string name = (std::filesystem::path(::testing::TempDir()) / "espalier-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder can be made in " + ::testing::TempDir());
    path_ = name;
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace espalier::test
