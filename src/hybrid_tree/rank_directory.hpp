// rank_directory.hpp - positions in a B-link tree in host memory, which stores none: how many elements lie below each
// of a few words. A search for a rank ends with a range of some leaves.
//
// Invariants: `starts` ascends strictly and begins with 0; ranks[i] is the number of elements with a word below
// starts[i]; an entry has at most most_elements elements. Valid until the next write.
// Positions of a batch are computed by the calling thread, the ranges by all threads of the tree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "espalier/blink_tree/index.hpp"
#include "espalier/core/scalar.hpp"
#include "espalier/index/options.hpp"

namespace espalier::detail {

template <class Word>
class rank_directory {
 public:
  /// Of a tree with `size` elements. O(leaves), in parallel. Entries that grew since the inner levels were built are
  /// cut by reading their keys.
  rank_directory(const blink_index& tree, std::size_t size, const execution& ex)
      : key_(tree.elements().key), size_(size) {
    std::vector<Word> cuts{0};
    tree.visit(
        visit_concurrency::writers,
        [&](const leaf_table& leaves) {
          const auto* const highs = static_cast<const Word*>(leaves.highs);
          for (std::uint64_t i = leaves_per_entry - 1; i + 1 < leaves.size; i += leaves_per_entry)
            cuts.push_back(static_cast<Word>(highs[i] + 1));  // only the last high may be the greatest word
        },
        ex.order);
    const std::size_t last = cuts.size() - 1;
    std::vector<std::uint64_t> counts(cuts.size());
    const std::vector<unsigned char> bounds = keys_of(cuts);
    range_options below_next;
    below_next.ends = interval::right_open;
    if (last != 0) tree.count(bounds.data(), bounds.data() + bytes_of(key_), last, below_next, counts.data(), ex);
    counts[last] =
        size_ - std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(last), std::uint64_t{0});
    std::uint64_t rank = 0;
    for (std::size_t i = 0; i < cuts.size(); rank += counts[i++]) {
      starts_.push_back(cuts[i]);
      ranks_.push_back(rank);
      if (counts[i] > most_elements) cut(tree, ex, cuts[i], i == last ? nullptr : &cuts[i + 1], rank);
    }
  }

  void rank(const blink_index& tree, bound_type bound, const void* keys, std::size_t n, std::uint64_t* ranks,
            const execution& ex) const {
    std::vector<Word> lo(n);
    std::vector<std::uint64_t> below(n);
    for (std::size_t i = 0; i < n; ++i) {
      const auto word = static_cast<Word>(encode_bits(key_, load_bits<Word>(key_, keys, i)));
      const std::size_t at = entry_of(starts_, word);
      lo[i] = starts_[at];
      below[i] = ranks_[at];
    }
    const std::vector<unsigned char> from = keys_of(lo);
    range_options options;
    options.ends = bound == bound_type::lower ? interval::right_open : interval::closed;
    tree.count(from.data(), keys, n, options, ranks, ex);
    for (std::size_t i = 0; i < n; ++i) ranks[i] += below[i];
  }

  /// Outputs may be null. Where a rank is not below the size, `found` is 0 and the outputs are zero bytes.
  void select(const blink_index& tree, const std::uint64_t* ranks, std::size_t n, void* out_keys, void* out_values,
              std::uint8_t* found, const execution& ex) const {
    const unsigned key_bytes = bytes_of(key_), value_bytes = tree.elements().value_bytes;
    for (std::size_t first = 0; first < n; first += queries_at_once) {
      const std::size_t many = std::min(queries_at_once, n - first);
      std::vector<Word> lo(many), hi(many, greatest());
      range_options options;
      options.limit = 1;
      for (std::size_t i = 0; i < many; ++i) {
        if (const std::uint64_t r = ranks[first + i]; r < size_) {
          const std::size_t at = entry_of(ranks_, r);
          lo[i] = starts_[at];
          options.limit = std::max(options.limit, r - ranks_[at] + 1);
        }
      }
      const std::size_t room = many * options.limit;
      std::vector<unsigned char> keys(room * key_bytes), values(room * value_bytes);
      std::vector<std::uint64_t> counts(many);
      const std::vector<unsigned char> from = keys_of(lo), to = keys_of(hi);
      tree.rows(from.data(), to.data(), many, options, keys.data(), value_bytes == 0 ? nullptr : values.data(),
                counts.data(), ex);
      for (std::size_t i = 0; i < many; ++i) {
        const std::uint64_t r = ranks[first + i];
        const bool is_there = r < size_;
        const std::size_t at = is_there ? i * options.limit + (r - ranks_[entry_of(ranks_, r)]) : 0;
        deliver(out_keys, first + i, keys, at, key_bytes, is_there);
        deliver(out_values, first + i, values, at, value_bytes, is_there);
        if (found != nullptr) found[first + i] = is_there ? 1 : 0;
      }
    }
  }

 private:
  static constexpr std::size_t leaves_per_entry = 8, queries_at_once = 1024;
  static constexpr std::uint64_t most_elements = 2048, elements_after_a_cut = 512,
                                 keys_at_once = std::uint64_t{1} << 16;

  [[nodiscard]] Word greatest() const {
    const unsigned bits = 8 * bytes_of(key_);
    return bits >= 8 * sizeof(Word) ? std::numeric_limits<Word>::max() : static_cast<Word>((Word{1} << bits) - 1);
  }
  /// The last entry whose bound is not above x. Of empty entries it is the one that has elements.
  template <class X>
  [[nodiscard]] static std::size_t entry_of(const std::vector<X>& bounds, X x) {
    return static_cast<std::size_t>(std::upper_bound(bounds.begin(), bounds.end(), x) - bounds.begin()) - 1;
  }
  /// Keys that bound the same elements from below as these words. A word below that of -inf is the code of a NaN, which
  /// as a key is above all others; a word between those of +inf and NaN becomes NaN, and there is no element between.
  [[nodiscard]] std::vector<unsigned char> keys_of(const std::vector<Word>& words) const {
    Word least = 0;
    if (key_ == scalar_kind::f32) least = static_cast<Word>(~std::uint32_t{0xff800000});
    if (key_ == scalar_kind::f64) least = static_cast<Word>(~std::uint64_t{0xfff0000000000000});
    std::vector<unsigned char> keys(words.size() * bytes_of(key_));
    for (std::size_t i = 0; i < words.size(); ++i)
      store_bits(key_, keys.data(), i, decode_bits(key_, std::max(words[i], least)));
    return keys;
  }
  static void deliver(void* out, std::size_t to, const std::vector<unsigned char>& from, std::size_t at, unsigned bytes,
                      bool is_there) {
    if (out == nullptr || bytes == 0) return;
    auto* const place = static_cast<unsigned char*>(out) + to * bytes;
    if (is_there) {
      std::copy_n(from.data() + at * bytes, bytes, place);
    } else {
      std::fill_n(place, bytes, static_cast<unsigned char>(0));
    }
  }
  /// Adds entries from `lo` on, whose first element has this rank, up to those of `next`, or up to the end.
  void cut(const blink_index& tree, const execution& ex, Word lo, const Word* next, std::uint64_t rank) {
    const std::vector<unsigned char> end = keys_of({next == nullptr ? greatest() : *next});
    std::vector<unsigned char> keys(keys_at_once * bytes_of(key_));
    range_options options;
    options.limit = keys_at_once;
    options.ends = next == nullptr ? interval::closed : interval::right_open;
    for (;;) {
      const std::vector<unsigned char> begin = keys_of({lo});
      std::uint64_t got = 0;
      tree.rows(begin.data(), end.data(), 1, options, keys.data(), nullptr, &got, ex);
      for (std::uint64_t i = elements_after_a_cut; i < got; i += elements_after_a_cut) {
        starts_.push_back(word_at(keys, i));
        ranks_.push_back(rank + i);
      }
      if (got < keys_at_once) return;
      const Word last = word_at(keys, got - 1);
      if (last == greatest() || (next != nullptr && last + 1 == *next)) return;
      lo = static_cast<Word>(last + 1);
      rank += got;
      starts_.push_back(lo);
      ranks_.push_back(rank);
    }
  }
  [[nodiscard]] Word word_at(const std::vector<unsigned char>& keys, std::uint64_t i) const {
    return static_cast<Word>(encode_bits(key_, load_bits<Word>(key_, keys.data(), i)));
  }

  scalar_kind key_;
  std::uint64_t size_;
  std::vector<Word> starts_;
  std::vector<std::uint64_t> ranks_;
};

}  // namespace espalier::detail
