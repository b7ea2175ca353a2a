// error.hpp - what the library throws. Every message is one sentence that says what to do.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace espalier {

/// Base of everything thrown by Espalier. A call that throws has left every index as it was.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Memory of a device ran out: how much was asked for, and how much was free at that moment.
class out_of_memory : public error {
 public:
  out_of_memory(const std::string& device, std::size_t asked, std::size_t free);
  [[nodiscard]] std::size_t asked() const noexcept { return asked_; }
  [[nodiscard]] std::size_t free() const noexcept { return free_; }

 private:
  std::size_t asked_;
  std::size_t free_;
};

/// An exact integer result does not fit the type the caller asked for.
class overflow : public error {
 public:
  using error::error;
};

}  // namespace espalier
