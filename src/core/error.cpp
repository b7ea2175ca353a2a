// error.cpp - the sentences of error.hpp.
#include "espalier/core/error.hpp"

#include <array>
#include <cstdio>

namespace espalier {
namespace {

/// "1536 bytes (1.5 KiB)"; numbers under 1024 need no second unit.
std::string bytes_in_words(std::size_t bytes) {
  constexpr std::array<const char*, 6> units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::string words = std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  if (bytes < 1024) return words;
  double amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // 1023.95 would be printed as 1024.0 of the smaller unit.
  while (amount >= 1023.95 && unit + 1 < units.size()) {
    amount /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), " (%.1f %s)", amount, units[unit]);
  return words + text.data();
}

std::string out_of_memory_message(const std::string& device, std::size_t asked, std::size_t free) {
  return device + " has no memory for " + bytes_in_words(asked) + ": " + bytes_in_words(free) +
         (free == 1 ? " is" : " are") +
         " free, so free other memory of this device, use a smaller batch or index, or choose another device.";
}

}  // namespace

out_of_memory::out_of_memory(const std::string& device, std::size_t asked, std::size_t free)
    : error(out_of_memory_message(device, asked, free), error_kind::out_of_memory), asked_(asked), free_(free) {}

}  // namespace espalier
