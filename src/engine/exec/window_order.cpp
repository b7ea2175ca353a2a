#include "engine/exec/window_order.hpp"

#include <atomic>
#include <limits>

#include "engine/index/table_index.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {
namespace {

// Compares neighbours in the order of the input. Returns false as soon as two of them are out of order.
bool input_is_sorted(const std::vector<sort_column>& keys, std::size_t rows, std::vector<std::uint16_t>& differences) {
  std::atomic<bool> sorted{true};
  parallel_pieces(rows, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = std::max<std::size_t>(begin, 1); i < end; ++i) {
      std::size_t key = 0;
      int order = 0;
      while (key < keys.size() && (order = compare_rows(keys[key], i - 1, i)) == 0) ++key;
      differences[i] = static_cast<std::uint16_t>(key);
      if (order <= 0) continue;
      sorted.store(false, std::memory_order_relaxed);
      return;
    }
  });
  return sorted.load();
}

bool equal(const sort_key_column& key, std::size_t a, std::size_t b) {
  return key.words[a] == key.words[b] && (key.high.empty() || key.high[a] == key.high[b]) &&
         (key.nulls.empty() || key.nulls[a] == key.nulls[b]);
}

}  // namespace

window_order::window_order(const std::vector<sort_column>& keys, std::size_t rows) : rows_(rows) {
  if (keys.empty() || rows == 0) return;
  differences_.resize(rows, 0);
  if (input_is_sorted(keys, rows, differences_)) return;
  order_ = sorted_rows(keys, rows, no_limit);
  parallel_pieces(rows, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = std::max<std::size_t>(begin, 1); i < end; ++i) {
      const auto before = row(i - 1), here = row(i);
      std::size_t key = 0;
      while (key < keys.size() && equal(keys[key].codes, before, here)) ++key;
      differences_[i] = static_cast<std::uint16_t>(key);
    }
  });
}

std::vector<std::size_t> piece_starts(std::size_t rows, std::size_t pieces) {
  constexpr std::size_t least_piece = std::size_t{1} << 14;
  const std::size_t count = std::clamp<std::size_t>(rows / least_piece, 1, pieces);
  std::vector<std::size_t> out;
  for (std::size_t i = 0; i <= count; ++i) out.push_back(rows * i / count);
  return out;
}

std::vector<std::uint32_t> window_order::runs(std::size_t keys) const {
  std::vector<std::uint32_t> out{0};
  if (keys > 0) {
    for_each_row(1, rows_, [&](std::size_t i) {
      if (differences_[i] < keys) out.push_back(static_cast<std::uint32_t>(i));
    });
  }
  out.push_back(static_cast<std::uint32_t>(rows_));
  return out;
}

}  // namespace espalier::engine
