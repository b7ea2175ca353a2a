// progress.hpp - a progress bar on a terminal; silent in pipes and files.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <string>

namespace espalier::bench {

class progress {
 public:
  explicit progress(std::size_t steps) : steps_(std::max<std::size_t>(steps, 1)), shown_(isatty(STDERR_FILENO) == 1) {}
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;
  ~progress() { clear(); }

  /// Shows the current step without counting it as done.
  void say(const std::string& what) {
    if (!shown_) return;
    const std::size_t filled = std::min(width, done_ * width / steps_);
    const std::string bar = std::string(filled, '#') + std::string(width - filled, '.');
    std::fprintf(stderr, "\r\033[K[%s] %zu/%zu  %s", bar.c_str(), done_, steps_, what.c_str());
    std::fflush(stderr);
  }
  void step(std::size_t steps = 1) { done_ += steps; }
  void clear() {
    if (shown_) std::fprintf(stderr, "\r\033[K");
  }

 private:
  static constexpr std::size_t width = 24;
  std::size_t steps_;
  std::size_t done_ = 0;
  bool shown_;
};

}  // namespace espalier::bench
