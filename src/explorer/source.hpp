// source.hpp - the data behind the page: a trace from a file, or a live session whose trace grows.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "espalier/inspect/replay.hpp"
#include "explorer/live_tree.hpp"
#include "explorer/questions.hpp"

namespace espalier::explorer {

/// The limits of live sessions; docs/explorer-api.md and GET /api/v1/info list all of them.
struct live_limits {
  std::uint64_t sessions = 8;
  std::uint64_t keys_per_call = 4096;
  std::uint64_t threads = 8;
  std::uint64_t events_per_session = 1'000'000;
  std::uint64_t keys_per_session = std::uint64_t{1} << 24;
  std::uint64_t nodes_per_session = std::uint64_t{1} << 21;  ///< initially; each takes about 1200 bytes
  std::uint64_t keys_in_all = std::uint64_t{1} << 25;        ///< total of initial fills
  std::uint64_t state_nodes = 4096;
  std::uint64_t events_per_page = 20'000;
  std::uint64_t calls_per_second = 50;
};

/// All members are protected by `mutex`.
class source {
 public:
  source(std::string id, std::string title, recorded_trace trace);
  source(std::string id, std::string title, std::unique_ptr<live_tree> tree, std::uint64_t filled);
  source(const source&) = delete;
  source& operator=(const source&) = delete;

  const std::string id, title;
  const std::uint64_t filled;  ///< number of initial keys
  std::mutex mutex;
  std::atomic<std::chrono::steady_clock::time_point> last_used = std::chrono::steady_clock::now();

  [[nodiscard]] const recorded_trace& trace() const { return trace_; }
  [[nodiscard]] bool is_live() const { return tree_ != nullptr; }
  /// Returns the tree at a position; throws `error` if there is none.
  [[nodiscard]] const trace_state& state_at(std::uint64_t position);
  /// Returns its levels at that position; cached for further queries at the same position.
  [[nodiscard]] const std::vector<level_order>& levels_at(std::uint64_t position);
  /// Runs a call on the tree and appends its events to the trace. Throws `error` if the tree does not support it.
  live_outcome run(const live_call& call, const live_limits& limits);
  void maintain();

 private:
  recorded_trace trace_;
  std::unique_ptr<live_tree> tree_;
  trace_replay replay_;
  std::vector<level_order> levels_;
  std::optional<std::uint64_t> levels_position_;
};

}  // namespace espalier::explorer
