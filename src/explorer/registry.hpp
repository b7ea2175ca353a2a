// registry.hpp - all sources of an explorer: traces from files and live sessions, within its limits.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "espalier/device/device.hpp"
#include "explorer/refused.hpp"
#include "explorer/requests.hpp"
#include "explorer/source.hpp"

namespace espalier::explorer {

/// Thread-safe.
class registry {
 public:
  registry(device dev, const live_limits& limits) : device_(std::move(dev)), limits_(limits) {}

  [[nodiscard]] const live_limits& limits() const { return limits_; }
  [[nodiscard]] const device& get_device() const { return device_; }
  void add_trace(const std::string& title, recorded_trace trace);
  /// Builds the tree. If there are too many sessions, drops one that was unused for half an hour.
  [[nodiscard]] std::shared_ptr<source> create(live_request request);
  /// Throws refused 404.
  [[nodiscard]] std::shared_ptr<source> at(const std::string& id);
  [[nodiscard]] std::vector<std::shared_ptr<source>> all();
  void remove_session(const std::string& id);
  /// Counts a call; throws refused 429 if there were too many in the last second.
  void take_turn();

 private:
  void make_place(std::uint64_t keys);

  device device_;
  const live_limits limits_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<source>> sources_;
  std::uint64_t traces_ = 0, sessions_made_ = 0;
  std::uint64_t being_made_ = 0, keys_being_made_ = 0;
  std::deque<std::chrono::steady_clock::time_point> calls_;
};

}  // namespace espalier::explorer
