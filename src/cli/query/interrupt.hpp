// interrupt.hpp - Ctrl-C as a flag that can be polled, instead of the end of the program.
#pragma once

#include <csignal>
#include <cstdint>

namespace espalier::cli {

enum class second_interrupt : std::uint8_t { is_noted, ends_the_program };

/// During its lifetime Ctrl-C sets a flag. The previous handler is restored at the end, so watches can be nested.
class interrupt_watch {
 public:
  explicit interrupt_watch(second_interrupt second);
  interrupt_watch(const interrupt_watch&) = delete;
  interrupt_watch& operator=(const interrupt_watch&) = delete;
  ~interrupt_watch();

 private:
  struct sigaction before_;
};

/// Returns whether Ctrl-C was pressed since `forget_interrupt`.
[[nodiscard]] bool interrupt_noted() noexcept;
void forget_interrupt() noexcept;

/// Waits for input or the end of the input. Returns false if Ctrl-C was pressed first.
[[nodiscard]] bool input_before_interrupt(int descriptor);

}  // namespace espalier::cli
