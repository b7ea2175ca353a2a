// string_dictionary.hpp - numbers distinct texts by first occurrence.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <string_view>
#include <vector>

namespace espalier::engine {

/// Stores views of texts that it does not own. Open addressing; a slot stores some bits of the hash, so that different
/// texts are rarely compared.
class string_dictionary {
 public:
  static constexpr std::uint32_t missing = std::numeric_limits<std::uint32_t>::max();

  string_dictionary() : slots_(64) {}

  std::uint32_t add(std::string_view text) {
    if (texts_.size() * 2 >= slots_.size()) grow();
    const std::uint64_t h = std::hash<std::string_view>{}(text);
    slot& found = slots_[place(text, h)];
    if (found.number == missing) {
      found = {static_cast<std::uint32_t>(h >> 32), static_cast<std::uint32_t>(texts_.size())};
      texts_.push_back(text);
    }
    return found.number;
  }
  [[nodiscard]] std::uint32_t find(std::string_view text) const {
    return slots_[place(text, std::hash<std::string_view>{}(text))].number;
  }
  [[nodiscard]] const std::vector<std::string_view>& texts() const { return texts_; }

 private:
  struct slot {
    std::uint32_t hash = 0;
    std::uint32_t number = missing;
  };

  [[nodiscard]] std::size_t place(std::string_view text, std::uint64_t h) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = h & mask;; i = (i + 1) & mask) {
      if (slots_[i].number == missing) return i;
      if (slots_[i].hash == static_cast<std::uint32_t>(h >> 32) && texts_[slots_[i].number] == text) return i;
    }
  }

  void grow() {
    slots_.assign(slots_.size() * 2, {});
    const std::size_t mask = slots_.size() - 1;
    for (std::uint32_t number = 0; number < texts_.size(); ++number) {
      const std::uint64_t h = std::hash<std::string_view>{}(texts_[number]);
      std::size_t i = h & mask;
      while (slots_[i].number != missing) i = (i + 1) & mask;
      slots_[i] = {static_cast<std::uint32_t>(h >> 32), number};
    }
  }

  std::vector<slot> slots_;
  std::vector<std::string_view> texts_;
};

}  // namespace espalier::engine
