// fault_layer.hpp - real files whose n-th operation fails, or kills the process; a write is torn in the middle first.
#pragma once

#include <csignal>
#include <cstddef>
#include <string>
#include <vector>

#include "engine/store/files.hpp"
#include "espalier/core/error.hpp"

namespace espalier::test {

enum class fault { none, throws, kills };

class fault_layer final : public engine::file_layer {
 public:
  struct event {
    engine::file_operation operation;
    std::string name;
  };

  fault_layer() = default;
  fault_layer(fault kind, int at) : kind_(kind), at_(at) {}

  int operations() const { return static_cast<int>(events_.size()); }
  const std::vector<event>& events() const { return events_; }

 protected:
  std::size_t before(engine::file_operation operation, const std::filesystem::path& path, std::size_t bytes) override {
    if (torn_) strike();
    events_.push_back({operation, path.filename().string()});
    if (kind_ == fault::none || operations() != at_) return bytes;
    if (operation == engine::file_operation::write && bytes > 1) {
      torn_ = true;
      return bytes / 2;
    }
    strike();
    return bytes;
  }

 private:
  void strike() {
    torn_ = false;
    if (kind_ == fault::kills) ::raise(SIGKILL);
    throw error("The disk has failed on purpose.");
  }

  fault kind_ = fault::none;
  int at_ = 0;
  bool torn_ = false;
  std::vector<event> events_;
};

}  // namespace espalier::test
