// error.hpp - exceptions of the library. Every message is one sentence that says what to do.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace espalier {

/// Base of the library's exceptions. A call that throws has changed no index, except writes of a blink_tree key by key,
/// whose `done` mask marks the elements that were written. The engine also throws statement_stopped
/// (engine/stop.hpp), which is not derived from it.
class error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A device had not enough memory. asked() and free() are the requested and the free bytes at that time.
class out_of_memory : public error {
 public:
  out_of_memory(const std::string& device, std::size_t asked, std::size_t free);
  [[nodiscard]] std::size_t asked() const noexcept { return asked_; }
  [[nodiscard]] std::size_t free() const noexcept { return free_; }

 private:
  std::size_t asked_;
  std::size_t free_;
};

/// An exact integer result does not fit into the type that the caller requested.
class overflow : public error {
 public:
  using error::error;
};

}  // namespace espalier
