#include "engine/keys/radix_partition.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/keys/word_hash_map.hpp"
#include "engine/parallel.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {

std::size_t core_pieces(std::size_t rows) {
  constexpr std::size_t fewest_rows_of_a_piece = std::size_t{1} << 16;
  return std::clamp<std::size_t>(rows / fewest_rows_of_a_piece, 1, parallel_width());
}

row_span span_of(std::size_t piece, std::size_t pieces, std::size_t rows) {
  return {rows * piece / pieces, rows * (piece + 1) / pieces};
}

std::size_t parts_for(std::size_t rows, std::size_t rows_of_a_part) {
  return std::clamp<std::size_t>(std::bit_ceil(rows / rows_of_a_part + 1), 1, 1024);
}

bool rarely_equal(const packed_keys& keys) {
  constexpr std::size_t sample = 4096;
  if (keys.rows() < 16 * sample) return false;
  word_hash_map table(sample);
  const std::size_t step = keys.rows() / sample;
  for (std::size_t i = 0; i < sample; ++i) {
    const std::uint64_t word = keys.word(i * step);
    table.add(word, word_hash_map::hash(word));
  }
  return table.size() > sample / 4;
}

radix_partition::radix_partition(const packed_keys& keys, std::size_t parts) : parts_(parts), begin_(parts + 1, 0) {
  const std::size_t pieces = core_pieces(keys.rows());
  std::vector<std::vector<std::size_t>> next(pieces, std::vector<std::size_t>(parts_, 0));
  const auto each = [&](std::size_t piece, const auto& body) {
    const auto [begin, end] = span_of(piece, pieces, keys.rows());
    for_each_row(begin, end, [&](std::size_t row) {
      if (keys.has(row)) body(row, next[piece][part_of(word_hash_map::hash(keys.word(row)), parts_)]);
    });
  };
  parallel_for(pieces, [&](std::size_t i) { each(i, [](std::size_t, std::size_t& count) { ++count; }); });
  std::size_t total = 0;
  for (std::size_t part = 0; part < parts_; ++part) {
    begin_[part] = total;
    for (auto& of_piece : next) total += std::exchange(of_piece[part], total);
  }
  begin_[parts_] = total;
  words_ = std::make_unique_for_overwrite<std::uint64_t[]>(total);
  ids_ = std::make_unique_for_overwrite<std::uint32_t[]>(total);
  parallel_for(pieces, [&](std::size_t i) {
    each(i, [&](std::size_t row, std::size_t& at) {
      words_[at] = keys.word(row);
      ids_[at++] = static_cast<std::uint32_t>(row);
    });
  });
}

}  // namespace espalier::engine
