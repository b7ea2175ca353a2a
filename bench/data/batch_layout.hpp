// batch_layout.hpp - keys of a tree with gaps between, before and after them, and batches of further keys with a given
// distribution relative to the tree's. Each key is a pure function of its number, and all keys are distinct.
//
// Keys are words, not fractions. An eighth of the key range (a sixteenth each) is reserved for batches before the first
// and after the last key. The rest is divided into cells of equal width, one per key of the tree, which has a random
// position in its cell. The words of the cells that are not keys are free; they are numbered in order, and a
// distribution is a choice of numbers.
//
//   append-sorted    consecutive words after the last cell; append-shuffled: the same in random order
//   cluster          every other free word of one location, which spans a few cells if they are narrow, in random order
//   clusters-1024    1,024 such locations, evenly spread
//   zipf             density proportional to 1 / number from the first free word on, in random order
//   ascending        one free word of each of n equal parts, in order
//   descending       consecutive words before the first cell, from the largest down
//   random           arbitrary free words
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "bench/data/random.hpp"
#include "bench/harness/cli_names.hpp"

namespace espalier::bench {

class batch_layout {
 public:
  /// The layout of a tree of n keys of type u32 or u64.
  batch_layout(scalar_kind key, std::uint64_t n, std::uint64_t seed)
      : margin_(std::uint64_t{1} << (8 * bytes_of(key) - 4)),
        seed_(seed),
        width_(14 * margin_ / std::max<std::uint64_t>(n, 1)),
        free_(width_ < 2 ? 0 : std::max<std::uint64_t>(n, 1) * (width_ - 1)) {}

  [[nodiscard]] bool has_room_for(std::uint64_t n) const { return n <= margin_ && n + clusters <= free_ / 2; }

  /// Returns the keys in ascending order.
  [[nodiscard]] std::uint64_t tree_key(std::uint64_t i) const { return margin_ + i * width_ + place_in(i); }

  [[nodiscard]] std::uint64_t before(std::uint64_t i) const { return margin_ - 1 - i; }
  [[nodiscard]] std::uint64_t behind(std::uint64_t i) const { return 15 * margin_ + i; }
  [[nodiscard]] std::uint64_t free_words() const { return free_; }
  [[nodiscard]] std::uint64_t free_word(std::uint64_t number) const {
    const std::uint64_t cell = number / (width_ - 1), place = number % (width_ - 1);
    return margin_ + cell * width_ + place + (place >= place_in(cell) ? 1 : 0);
  }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  static constexpr std::uint64_t clusters = 1024;

 private:
  [[nodiscard]] std::uint64_t place_in(std::uint64_t cell) const { return below(random_bits(seed_, cell), width_); }

  std::uint64_t margin_;  ///< number of words before the first cell, and after the last
  std::uint64_t seed_;
  std::uint64_t width_;  ///< width of a cell
  std::uint64_t free_;   ///< number of words of cells that are not keys
};

/// The keys of one batch that fits the layout.
class batch_keys {
 public:
  batch_keys(const batch_layout& layout, batch_distribution which, std::uint64_t n)
      : layout_(layout),
        which_(which),
        size_(n),
        seed_(mix(layout.seed() ^ 0x6261746368u)),
        order_(n, seed_),
        anywhere_(layout.free_words(), seed_) {}

  [[nodiscard]] std::uint64_t operator()(std::uint64_t i) const {
    switch (which_) {
      case batch_distribution::append_sorted:
        return layout_.behind(i);
      case batch_distribution::append_shuffled:
        return layout_.behind(order_(i));
      case batch_distribution::descending:
        return layout_.before(i);
      case batch_distribution::cluster:
        return layout_.free_word(in_cluster(layout_.free_words() / 2 - size_, order_(i)));
      case batch_distribution::clusters_1024:
        return layout_.free_word(in_one_of_clusters(order_(i)));
      case batch_distribution::zipf:
        return layout_.free_word(skewed(order_(i)));
      case batch_distribution::ascending:
        return layout_.free_word(in_part(i));
      default:
        return layout_.free_word(anywhere_(i));
    }
  }

 private:
  /// Returns free word number `first` or a nearby one: one of each pair from there on.
  [[nodiscard]] std::uint64_t in_cluster(std::uint64_t first, std::uint64_t k) const {
    return first + 2 * k + (random_bits(seed_, k) & 1);
  }
  [[nodiscard]] std::uint64_t in_one_of_clusters(std::uint64_t k) const {
    const std::uint64_t part = layout_.free_words() / batch_layout::clusters,
                        length = 2 * ((size_ + batch_layout::clusters - 1) / batch_layout::clusters);
    const std::uint64_t which = k % batch_layout::clusters;
    return in_cluster(which * part + below(random_bits(~seed_, which), part - length + 1), k / batch_layout::clusters);
  }
  [[nodiscard]] std::uint64_t in_part(std::uint64_t i) const {
    const std::uint64_t part = layout_.free_words() / size_;
    return i * part + below(random_bits(seed_, i), part);
  }
  /// Returns quantile k / size of P(number) ~ 1 / number. k is added to make the results distinct, since the first
  /// quantiles are too close.
  [[nodiscard]] std::uint64_t skewed(std::uint64_t k) const {
    const double room = static_cast<double>(layout_.free_words() - size_);
    const double u = static_cast<double>(k) / static_cast<double>(size_);
    const auto number = static_cast<std::uint64_t>(std::max(std::exp(u * std::log(room)) - 1, 0.0));
    return k + std::min(number, layout_.free_words() - size_);
  }

  batch_layout layout_;
  batch_distribution which_;
  std::uint64_t size_;
  std::uint64_t seed_;
  permutation order_;
  permutation anywhere_;
};

}  // namespace espalier::bench
