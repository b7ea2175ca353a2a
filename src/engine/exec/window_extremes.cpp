// window_extremes.cpp - min and max over windows in any order: a sparse table over blocks of positions.
#include <arrow/chunked_array.h>

#include <bit>
#include <optional>

#include "engine/exec/window_rows.hpp"
#include "engine/expr/relation.hpp"
#include "engine/memory_budget.hpp"
#include "engine/stop.hpp"
#include "espalier/core/config.hpp"

namespace espalier::engine {
namespace {

constexpr std::uint32_t nothing = 0xffffffffu;
constexpr std::size_t places_per_block = 16;

// The places of values that are not NULL, in the order of the positions, and how many of them precede a position.
struct present_places {
  present_places(const sort_key_column& codes, const window_order& order) {
    if (codes.nulls.empty()) return;
    before.resize(order.rows() + 1);
    for_each_row(order.rows(), [&](std::size_t i) {
      before[i + 1] = before[i];
      if (codes.is_null(order.row(i))) return;
      ++before[i + 1];
      positions.push_back(static_cast<std::uint32_t>(i));
    });
  }
  [[nodiscard]] std::size_t count(const window_order& order) const {
    return before.empty() ? order.rows() : positions.size();
  }
  [[nodiscard]] std::size_t place(std::size_t position) const { return before.empty() ? position : before[position]; }
  [[nodiscard]] std::size_t position(std::size_t place) const { return before.empty() ? place : positions[place]; }

  std::vector<std::uint32_t> before, positions;  ///< empty if there are no NULLs
};

// Answers which place of a range has the least word, the first of several.
template <class Word>
class least_places {
 public:
  explicit least_places(std::vector<Word> words) : words_(std::move(words)) {
    const std::size_t blocks = words_.size() / places_per_block;
    if (blocks == 0) return;
    levels_.emplace_back(blocks);
    parallel_pieces(blocks, [&](std::size_t begin, std::size_t end) {
      for (std::size_t b = begin; b < end; ++b)
        levels_[0][b] = scan(nothing, b * places_per_block, (b + 1) * places_per_block);
    });
    for (std::size_t width = 2; width <= blocks; width *= 2) {
      const auto& below = levels_.back();
      std::vector<std::uint32_t> level(blocks - width + 1);
      parallel_pieces(level.size(), [&](std::size_t begin, std::size_t end) {
        for (std::size_t b = begin; b < end; ++b) level[b] = better(below[b], below[b + width / 2]);
      });
      levels_.push_back(std::move(level));
    }
  }

  /// Returns `nothing` for an empty range.
  [[nodiscard]] std::uint32_t in(std::size_t begin, std::size_t end) const {
    const std::size_t first = (begin + places_per_block - 1) / places_per_block, last = end / places_per_block;
    if (first >= last) return scan(nothing, begin, end);
    auto best = scan(nothing, begin, first * places_per_block);
    const auto level = static_cast<std::size_t>(std::bit_width(last - first)) - 1;
    best = better(best, levels_[level][first]);
    best = better(best, levels_[level][last - (std::size_t{1} << level)]);
    return scan(best, last * places_per_block, end);
  }

 private:
  /// Prefers `a`, which is the earlier place, if both words are equal.
  [[nodiscard]] std::uint32_t better(std::uint32_t a, std::uint32_t b) const {
    return a == nothing || words_[b] < words_[a] ? b : a;
  }
  [[nodiscard]] std::uint32_t scan(std::uint32_t best, std::size_t begin, std::size_t end) const {
    if (begin >= end) return best;
    if (best == nothing) best = static_cast<std::uint32_t>(begin++);
    Word least = words_[best];
    for (std::size_t i = begin; i < end; ++i) {
      const bool is_less = words_[i] < least;
      best = is_less ? static_cast<std::uint32_t>(i) : best;
      least = is_less ? words_[i] : least;
    }
    return best;
  }

  std::vector<Word> words_;
  std::vector<std::vector<std::uint32_t>> levels_;  ///< of 2^level blocks from each block on
};

template <class Word>
std::vector<std::int64_t> least_rows(const sort_key_column& codes, bool least, const window_order& order,
                                     const frame_rows& frames) {
  const present_places present(codes, order);
  const memory_claim claim(present.count(order) * (sizeof(Word) + 12));
  std::vector<Word> words(present.count(order));
  parallel_pieces(words.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t place = begin; place < end; ++place) {
      const auto row = order.row(present.position(place));
      Word word = codes.words[row];
      if constexpr (sizeof(Word) > sizeof(std::uint64_t)) word |= static_cast<Word>(codes.high[row]) << 64;
      words[place] = least ? word : ~word;
    }
  });
  const least_places<Word> places(std::move(words));
  std::vector<std::int64_t> out(frames.begin.size());
  parallel_pieces(out.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto best = places.in(present.place(frames.begin[i]), present.place(frames.end[i]));
      out[i] = best == nothing ? null_row : static_cast<std::int64_t>(order.row(present.position(best)));
    }
  });
  return out;
}

}  // namespace

std::shared_ptr<arrow::ChunkedArray> extreme_of_windows(const std::shared_ptr<arrow::ChunkedArray>& values, bool least,
                                                        const window_order& order, const frame_rows& frames) {
  const auto codes = ordered_codes(*values);
  relation one;
  one.rows = values->length();
  one.add(0, values);
  const auto rows = codes.high.empty() ? least_rows<std::uint64_t>(codes, least, order, frames)
                                       : least_rows<uint128>(codes, least, order, frames);
  return take_rows_or_null(one, rows).columns[0];
}

}  // namespace espalier::engine
