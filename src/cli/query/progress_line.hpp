// progress_line.hpp - on a terminal, one line on standard error that tells how far a long statement is; and Ctrl-C.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string_view>

#include "cli/query/interrupt.hpp"
#include "engine/progress.hpp"

namespace espalier::cli {

/// Thrown through a statement that is to stop. No `error`, which the engine would blame on a place in the statement.
class statement_stopped : public std::runtime_error {
 public:
  statement_stopped() : std::runtime_error("Stopped: everything is as it was before the statement.") {}
};

/// While it lives, Ctrl-C stops the statement at its next report of progress, and a second Ctrl-C ends the program.
class progress_line {
 public:
  progress_line();
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;
  ~progress_line();  ///< wipes the line

  [[nodiscard]] engine::progress reporter();

 private:
  void show(std::string_view what, std::uint64_t done, std::uint64_t total);

  interrupt_watch watch_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point shown_;
  bool on_terminal_ = false;
  bool visible_ = false;
};

}  // namespace espalier::cli
