// progress_line.hpp - on a terminal, one line on standard error that tells how far a long statement is; and Ctrl-C.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "cli/query/interrupt.hpp"
#include "engine/stop.hpp"
#include "espalier/engine/progress.hpp"

namespace espalier::cli {

/// While it lives, Ctrl-C stops what is given its reporter or its question, and a second Ctrl-C ends the program. One
/// that came before and that nobody has forgotten counts, too: between two statements of a script nothing is lost.
class progress_line {
 public:
  progress_line();
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;
  ~progress_line();  ///< wipes the line

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
