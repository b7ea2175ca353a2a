#include "cli/query/interrupt.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>

namespace espalier::cli {
namespace {

std::atomic<bool> interrupt_came = false;  // set by the handler, read by any thread
static_assert(std::atomic<bool>::is_always_lock_free);

// Wakes the thread that waits for input, since the signal may be delivered to another thread.
class wake_pipe {
 public:
  wake_pipe() {
    if (::pipe2(ends_.data(), O_NONBLOCK | O_CLOEXEC) != 0) ends_ = {-1, -1};
  }
  [[nodiscard]] int reading_end() const { return ends_[0]; }
  void wake() const { (void)!::write(ends_[1], "", 1); }
  void drain() const {
    std::array<char, 64> waste;
    while (::read(ends_[0], waste.data(), waste.size()) > 0) continue;
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

const wake_pipe interrupt_wake;

void note_interrupt(int) {
  const int error_before = errno;
  interrupt_came = true;
  interrupt_wake.wake();
  errno = error_before;
}

}  // namespace

interrupt_watch::interrupt_watch(second_interrupt second) : before_() {
  struct sigaction noted {};
  noted.sa_handler = note_interrupt;
  noted.sa_flags = SA_RESTART;
  if (second == second_interrupt::ends_the_program) noted.sa_flags |= static_cast<int>(SA_RESETHAND);
  sigemptyset(&noted.sa_mask);
  ::sigaction(SIGINT, &noted, &before_);
}

interrupt_watch::~interrupt_watch() { ::sigaction(SIGINT, &before_, nullptr); }

bool interrupt_noted() noexcept { return interrupt_came.load(std::memory_order_relaxed); }
void forget_interrupt() noexcept {
  interrupt_wake.drain();
  interrupt_came = false;
}

bool input_before_interrupt(int descriptor) {
  std::array<pollfd, 2> ready{pollfd{descriptor, POLLIN, 0}, pollfd{interrupt_wake.reading_end(), POLLIN, 0}};
  int found = 0;
  while (!interrupt_noted() && found <= 0) {
    found = ::poll(ready.data(), ready.size(), -1);
    if (found < 0 && errno != EINTR) break;
  }
  return !interrupt_noted();
}

}  // namespace espalier::cli
