// word_hash_map.hpp - numbers distinct words by first occurrence.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace espalier::engine {

/// Open addressing; word and number are adjacent, so that a lookup has one cache miss.
class word_hash_map {
 public:
  static constexpr std::uint32_t missing = std::numeric_limits<std::uint32_t>::max();

  explicit word_hash_map(std::size_t expected = 0)
      : slots_(std::bit_ceil(std::max<std::size_t>(expected, 32) * 2)), mask_(slots_.size() - 1) {}

  /// Every bit of the hash depends on all bits of the word.
  [[nodiscard]] static std::uint64_t hash(std::uint64_t word) {
    word ^= word >> 32;
    word *= 0x9E3779B97F4A7C15ULL;
    word ^= word >> 29;
    word *= 0xBF58476D1CE4E5B9ULL;
    return word ^ (word >> 32);
  }

  std::uint32_t add(std::uint64_t word, std::uint64_t h) {
    if (size_ * 2 >= slots_.size()) grow();
    slot& found = slots_[place(word, h)];
    if (found.number == missing) found = {word, size_++};
    return found.number;
  }
  [[nodiscard]] std::uint32_t find(std::uint64_t word, std::uint64_t h) const { return slots_[place(word, h)].number; }
  void prefetch(std::uint64_t h) const { __builtin_prefetch(&slots_[h & mask_]); }
  [[nodiscard]] std::uint32_t size() const { return size_; }

 private:
  struct slot {
    std::uint64_t word = 0;
    std::uint32_t number = missing;
  };

  [[nodiscard]] std::size_t place(std::uint64_t word, std::uint64_t h) const {
    for (std::size_t i = h & mask_;; i = (i + 1) & mask_) {
      if (slots_[i].number == missing || slots_[i].word == word) return i;
    }
  }

  void grow() {
    std::vector<slot> old(slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const slot& s : old) {
      if (s.number != missing) slots_[place(s.word, hash(s.word))] = s;
    }
  }

  std::vector<slot> slots_;
  std::size_t mask_;
  std::uint32_t size_ = 0;
};

}  // namespace espalier::engine
