// sorted_positions.hpp - positions of an array's elements in key order, equal keys in input order.
#pragma once

#include <tbb/parallel_sort.h>

#include <cstdint>
#include <memory>
#include <span>

#include "bench/data/generators.hpp"
#include "espalier/core/scalar.hpp"

namespace espalier::bench {

/// Sorting by (word, input position) makes any sort stable.
struct wide_entry {
  std::uint64_t word;
  std::uint64_t position;
  friend bool operator<(const wide_entry& a, const wide_entry& b) {
    return a.word != b.word ? a.word < b.word : a.position < b.position;
  }
};

/// 32-bit keys and positions share one word, which takes half the memory and is faster to compare.
struct narrow_entry {
  std::uint64_t both;
  narrow_entry() = default;
  narrow_entry(std::uint64_t word, std::uint64_t position) : both(word << 32 | position) {}
  friend bool operator<(const narrow_entry& a, const narrow_entry& b) { return a.both < b.both; }
};

template <class Key>
class sorted_positions {
  static constexpr bool narrow = sizeof(Key) == 4;
  using entry = std::conditional_t<narrow, narrow_entry, wide_entry>;

 public:
  explicit sorted_positions(std::span<const Key> keys)
      : size_(keys.size()), entries_(std::make_unique_for_overwrite<entry[]>(keys.size())) {
    parallel_indices(size_, [&](std::uint64_t i) { entries_[i] = {key_codec<Key>::encode(keys[i]), i}; });
    tbb::parallel_sort(entries_.get(), entries_.get() + size_);
  }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// Returns the input position of the element of this rank.
  [[nodiscard]] std::uint64_t operator()(std::uint64_t rank) const {
    if constexpr (narrow) {
      return entries_[rank].both & 0xffffffffu;
    } else {
      return entries_[rank].position;
    }
  }
  [[nodiscard]] std::uint64_t word(std::uint64_t rank) const {
    if constexpr (narrow) {
      return entries_[rank].both >> 32;
    } else {
      return entries_[rank].word;
    }
  }

 private:
  std::uint64_t size_;
  std::unique_ptr<entry[]> entries_;
};

}  // namespace espalier::bench
