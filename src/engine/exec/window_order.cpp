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

// Stores `key` where the value differs from that of the position before. Reads do not depend on a comparison, so that
// the cache misses of several rows overlap.
template <class T>
void mark_changes(const std::vector<T>& values, std::size_t key, std::span<const std::int64_t> order, std::size_t begin,
                  std::size_t end, std::vector<std::uint16_t>& differences) {
  if (values.empty()) return;
  T before = values[static_cast<std::size_t>(order[begin - 1])];
  for (std::size_t i = begin; i < end; ++i) {
    const T here = values[static_cast<std::size_t>(order[i])];
    differences[i] = here != before ? static_cast<std::uint16_t>(key) : differences[i];
    before = here;
  }
}

}  // namespace

window_order::window_order(std::span<const std::int64_t> rows) : rows_(rows.size()) {
  std::size_t in_place = 0;
  while (in_place < rows.size() && rows[in_place] == static_cast<std::int64_t>(in_place)) ++in_place;
  if (in_place < rows.size()) order_.assign(rows.begin(), rows.end());
}

window_order::window_order(const std::vector<sort_column>& keys, std::size_t rows) : rows_(rows) {
  if (keys.empty() || rows == 0) return;
  differences_.resize(rows, 0);
  if (input_is_sorted(keys, rows, differences_)) return;
  order_ = sorted_rows(keys, rows, no_limit);
  parallel_pieces(rows, [&](std::size_t begin, std::size_t end) {
    begin = std::max<std::size_t>(begin, 1);
    std::fill(differences_.begin() + static_cast<std::ptrdiff_t>(begin),
              differences_.begin() + static_cast<std::ptrdiff_t>(end), static_cast<std::uint16_t>(keys.size()));
    for (std::size_t key = keys.size(); key-- > 0;) {  // the first key that differs is stored last
      const auto& codes = keys[key].codes;
      mark_changes(codes.words, key, order_, begin, end, differences_);
      mark_changes(codes.high, key, order_, begin, end, differences_);
      mark_changes(codes.nulls, key, order_, begin, end, differences_);
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
