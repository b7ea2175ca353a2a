// checksum.hpp - xxHash (XXH3, 64 bits) of a buffer or of a sequence of pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace espalier::engine {

[[nodiscard]] std::uint64_t checksum_of(std::span<const std::byte> bytes) noexcept;

class running_checksum {
 public:
  running_checksum();
  running_checksum(running_checksum&&) noexcept;
  running_checksum& operator=(running_checksum&&) noexcept;
  ~running_checksum();

  void restart() noexcept;
  void add(std::span<const std::byte> bytes) noexcept;
  [[nodiscard]] std::uint64_t value() const noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace espalier::engine
