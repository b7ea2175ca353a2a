// answers.hpp - the explorer's responses as JSON text (docs/explorer-api.md). Each call locks its source.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "explorer/registry.hpp"

namespace espalier::explorer {

[[nodiscard]] std::string info_answer(registry& all, const std::string& index);
[[nodiscard]] std::string source_answer(source& s);
[[nodiscard]] std::string events_answer(source& s, std::uint64_t from, std::uint64_t count);
/// Without `at`, the last position is used.
[[nodiscard]] std::string state_answer(source& s, std::optional<std::uint64_t> at, const live_limits& limits);
[[nodiscard]] std::string summary_answer(source& s, std::optional<std::uint64_t> at, std::uint64_t cells);
[[nodiscard]] std::string around_answer(source& s, std::optional<std::uint64_t> at, const std::string& name,
                                        std::uint64_t reach);
[[nodiscard]] std::string path_answer(source& s, std::optional<std::uint64_t> at, std::uint64_t key);
/// Runs the operations in the library. Throws refused 409 while the session is busy or if its recording is full.
[[nodiscard]] std::string run_answer(source& s, const live_run& run, const live_limits& limits);
[[nodiscard]] std::string check_answer(const std::string& text);

/// A trace file in pieces, as of the time of the first piece.
class trace_download {
 public:
  explicit trace_download(std::shared_ptr<source> from);
  /// Returns the next piece; an empty one ends the file.
  [[nodiscard]] std::string next();

 private:
  std::shared_ptr<source> source_;
  std::uint64_t events_ = 0, sent_ = 0;
  std::string begin_, end_;
};

}  // namespace espalier::explorer
