// progress_line.hpp - a progress line for long statements on standard error, if it is a terminal, and Ctrl-C.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "cli/query/interrupt.hpp"
#include "engine/stop.hpp"
#include "espalier/engine/progress.hpp"

namespace espalier::cli {

/// During its lifetime, Ctrl-C cancels statements that use its reporter or its token, and a second Ctrl-C ends the
/// program. A Ctrl-C before that is not lost unless it was cleared, so one between two statements of a script counts.
class progress_line {
 public:
  progress_line();
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;
  ~progress_line();  ///< clears the line

  [[nodiscard]] engine::progress reporter();
  [[nodiscard]] static engine::cancellation_token stop() { return interrupt_noted; }

 private:
  void show(std::string_view what, std::uint64_t done, std::uint64_t total);

  interrupt_watch watch_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point shown_;
  bool on_terminal_ = false;
  bool visible_ = false;
};

}  // namespace espalier::cli
