#include "cli/query/progress_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace espalier::cli {
namespace {

constexpr auto before_first_report = std::chrono::milliseconds(500);
constexpr auto between_reports = std::chrono::milliseconds(100);

}  // namespace

progress_line::progress_line()
    : watch_(second_interrupt::ends_the_program),
      started_(std::chrono::steady_clock::now()),
      shown_(started_),
      on_terminal_(::isatty(STDERR_FILENO) != 0) {}

progress_line::~progress_line() {
  if (visible_) std::fputs("\r\033[K", stderr);
}

engine::progress progress_line::reporter() {
  return [this](std::string_view what, std::uint64_t done, std::uint64_t total) {
    if (interrupt_noted()) throw engine::query_cancelled();
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
