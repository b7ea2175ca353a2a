// error.hpp - exceptions of the library. Every message is one sentence that says what to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace espalier {

/// What went wrong, for code that handles errors by kind instead of by class.
enum class error_kind : std::uint8_t {
  invalid_argument,  ///< the call cannot be executed as it was made: sizes, options, unsupported types or devices
  out_of_memory,     ///< class out_of_memory
  overflow,          ///< class overflow
  device,            ///< class device_error
};

/// Base of the library's exceptions. A call that throws has changed no index, except writes of a blink_tree key by key,
/// whose `done` mask marks the elements that were written. The engine also throws query_cancelled
/// (engine/stop.hpp), which is not derived from it.
class error : public std::runtime_error {
 public:
  explicit error(const std::string& sentence, error_kind kind = error_kind::invalid_argument)
      : std::runtime_error(sentence), kind_(kind) {}
  [[nodiscard]] error_kind kind() const noexcept { return kind_; }

 private:
  error_kind kind_;
};

/// A call to the device's driver failed. code() is its cudaError_t.
class device_error : public error {
 public:
  device_error(const std::string& sentence, int code) : error(sentence, error_kind::device), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
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
  explicit overflow(const std::string& sentence) : error(sentence, error_kind::overflow) {}
};

}  // namespace espalier
