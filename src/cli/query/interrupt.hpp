// interrupt.hpp - Ctrl-C as something to ask about, instead of the end of the program.
#pragma once

#include <csignal>
#include <cstdint>

namespace espalier::cli {

enum class second_interrupt : std::uint8_t { is_noted, ends_the_program };

/// While it lives, Ctrl-C is noted. What Ctrl-C did before comes back with its end, so one may live inside another.
class interrupt_watch {
 public:
  explicit interrupt_watch(second_interrupt second);
  interrupt_watch(const interrupt_watch&) = delete;
  interrupt_watch& operator=(const interrupt_watch&) = delete;
  ~interrupt_watch();

 private:
  struct sigaction before_;
};

/// Since `forget_interrupt`.
[[nodiscard]] bool interrupt_noted() noexcept;
void forget_interrupt() noexcept;

/// Waits for something to read, or for the end of the input; false if Ctrl-C came first.
[[nodiscard]] bool input_before_interrupt(int descriptor);

}  // namespace espalier::cli
