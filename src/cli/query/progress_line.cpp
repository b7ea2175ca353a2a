#include "cli/query/progress_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

namespace espalier::cli {
namespace {

constexpr auto before_first_report = std::chrono::milliseconds(500);
constexpr auto between_reports = std::chrono::milliseconds(100);

volatile std::sig_atomic_t stop_asked = 0;

void ask_to_stop(int) {
  stop_asked = 1;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

progress_line::progress_line()
    : started_(std::chrono::steady_clock::now()), shown_(started_), on_terminal_(::isatty(STDERR_FILENO) != 0) {
  stop_asked = 0;
  std::signal(SIGINT, ask_to_stop);
}

progress_line::~progress_line() {
  std::signal(SIGINT, SIG_DFL);
  if (visible_) std::fputs("\r\033[K", stderr);
}

engine::progress progress_line::reporter() {
  return [this](std::string_view what, std::uint64_t done, std::uint64_t total) {
    if (stop_asked != 0) throw statement_stopped();
    if (on_terminal_) show(what, done, total);
  };
}

void progress_line::show(std::string_view what, std::uint64_t done, std::uint64_t total) {
  const auto now = std::chrono::steady_clock::now();
  if (now - started_ < before_first_report || now - shown_ < between_reports) return;
  shown_ = now;
  visible_ = true;
  const std::string share =
      total == 0 ? std::string()
                 : fmt::format(" {:3.0f} %", 100.0 * static_cast<double>(done) / static_cast<double>(total));
  fmt::print(stderr, "\r\033[K{}{}", what, share);
  std::fflush(stderr);
}

}  // namespace espalier::cli
