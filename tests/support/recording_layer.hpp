// recording_layer.hpp - real files, and copies of the folder as a crash before each operation would leave it.
//
// There are two copies per operation. `killed-<n>` is what a killed process leaves, with a write torn in the middle.
// `power-<n>` is the minimum that a disk keeps after a power failure: names as of the last sync of the folder, and the
// synced content of their files.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/store/files.hpp"

namespace espalier::test {

class recording_layer final : public engine::file_layer {
 public:
  /// The current content of `folder` counts as durable. Copies are written to `copies`.
  recording_layer(std::filesystem::path folder, std::filesystem::path copies)
      : folder_(std::move(folder)), copies_(std::move(copies)) {
    for (const auto& name : names()) durable_[name] = synced_[name] = bytes_of(folder_ / name);
  }

  [[nodiscard]] const std::vector<std::filesystem::path>& crashes() const { return crashes_; }
  /// Returns what a power failure would leave now.
  std::filesystem::path power_failure() {
    const auto copy = copies_ / ("power-" + std::to_string(operations_));
    std::filesystem::create_directories(copy);
    for (const auto& [name, bytes] : durable_) std::ofstream(copy / name, std::ios::binary) << bytes;
    return copy;
  }

 protected:
  std::size_t before(engine::file_operation operation, const std::filesystem::path& path, std::size_t bytes) override {
    ++operations_;
    const auto copy = copies_ / ("killed-" + std::to_string(operations_));
    std::filesystem::create_directories(copies_);
    std::filesystem::copy(folder_, copy);
    crashes_.push_back(copy);
    crashes_.push_back(power_failure());
    auto temporary = path;
    temporary += engine::temporary_ending;
    const auto name = path.filename().string();
    if (operation == engine::file_operation::sync) synced_[name] = bytes_of(temporary);
    if (operation == engine::file_operation::sync_folder) {
      durable_.clear();
      for (const auto& there : names()) durable_[there] = synced_[there];
    }
    return bytes > 1 ? bytes / 2 : bytes;
  }

 private:
  static std::string bytes_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      found.push_back(entry.path().filename().string());
    }
    return found;
  }

  std::filesystem::path folder_, copies_;
  std::map<std::string, std::string> synced_;   // by final name, for every file that was ever synced
  std::map<std::string, std::string> durable_;  // what a power failure leaves
  std::vector<std::filesystem::path> crashes_;
  int operations_ = 0;
};

}  // namespace espalier::test
