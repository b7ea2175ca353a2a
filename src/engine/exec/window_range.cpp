#include "engine/exec/window_range.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include <cmath>
#include <limits>

#include "engine/expr/relation.hpp"
#include "engine/keys/normalized_keys.hpp"
#include "engine/stop.hpp"
#include "espalier/core/config.hpp"

namespace espalier::engine {
namespace {

std::int64_t moved(std::int64_t value, std::int64_t offset, bool adds) {
  std::int64_t out = 0;
  const bool beyond = adds ? __builtin_add_overflow(value, offset, &out) : __builtin_sub_overflow(value, offset, &out);
  if (!beyond) return out;
  return adds ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

// An infinite offset reaches all numbers, also from an infinite value, as in PostgreSQL.
double moved(double value, double offset, bool adds) {
  if (std::isnan(value)) return value;
  if (std::isinf(offset)) return adds ? offset : -offset;
  return adds ? value + offset : value - offset;
}

int128 word_of(const arrow::Decimal128& value) {
  return static_cast<int128>(static_cast<uint128>(static_cast<std::uint64_t>(value.high_bits())) << 64 |
                             value.low_bits());
}

// Decimals have at most 38 digits and offsets are not negative, so the sum of two of them has 128 bits at most once.
int128 moved(int128 value, int128 offset, bool adds) {
  int128 out = 0;
  const bool beyond = adds ? __builtin_add_overflow(value, offset, &out) : __builtin_sub_overflow(value, offset, &out);
  constexpr auto most = static_cast<int128>(~uint128{0} >> 1);
  if (!beyond) return out;
  return adds ? most : -most - 1;
}

constexpr std::uint64_t sign_bit = std::uint64_t{1} << 63;

void move_chunk(const arrow::Array& chunk, const arrow::Scalar& offset, bool adds, std::size_t row,
                sort_key_column& out) {
  const auto count = static_cast<std::size_t>(chunk.length());
  if (chunk.type_id() == arrow::Type::DECIMAL128) {
    const auto by = word_of(static_cast<const arrow::Decimal128Scalar&>(offset).value);
    const auto& values = static_cast<const arrow::Decimal128Array&>(chunk);
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = moved(word_of(arrow::Decimal128(values.GetValue(static_cast<std::int64_t>(i)))), by, adds);
      out.words[row + i] = static_cast<std::uint64_t>(value);
      out.high[row + i] = static_cast<std::uint64_t>(value >> 64) ^ sign_bit;
    }
  } else if (chunk.type_id() == arrow::Type::DOUBLE) {
    const double by = static_cast<const arrow::DoubleScalar&>(offset).value;
    const double* const values = static_cast<const arrow::DoubleArray&>(chunk).raw_values();
    for (std::size_t i = 0; i < count; ++i) out.words[row + i] = ordered_word(moved(values[i], by, adds));
  } else {
    const std::int64_t by = static_cast<const arrow::Int64Scalar&>(offset).value;
    const std::int64_t* const values = static_cast<const arrow::Int64Array&>(chunk).raw_values();
    for (std::size_t i = 0; i < count; ++i) out.words[row + i] = ordered_word(moved(values[i], by, adds));
  }
}

// Returns the words of key + offset or key - offset; those of NULLs are unspecified.
sort_key_column moved_codes(const arrow::ChunkedArray& key, const range_bound& bound) {
  sort_key_column out;
  out.words.resize(static_cast<std::size_t>(key.length()));
  if (key.type()->id() == arrow::Type::DECIMAL128) out.high.resize(out.words.size());
  for_each_batch(key.length(), [&](std::size_t, std::int64_t begin, std::int64_t count) {
    auto row = static_cast<std::size_t>(begin);
    const auto slice = key.Slice(begin, count);
    for (const auto& chunk : slice->chunks()) {
      move_chunk(*chunk, *bound.offset, bound.adds, row, out);
      row += static_cast<std::size_t>(chunk->length());
    }
  });
  return out;
}

// Words in the order of positions, such that they ascend within the rows of a partition that are not NULL.
template <class Word>
std::vector<Word> words_in_order(const sort_key_column& codes, bool descending, const window_order& order) {
  std::vector<Word> out(order.rows());
  parallel_pieces(out.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const auto row = order.row(i);
      Word word = codes.words[row];
      if constexpr (sizeof(Word) > sizeof(std::uint64_t)) word |= static_cast<Word>(codes.high[row]) << 64;
      out[i] = descending ? ~word : word;
    }
  });
  return out;
}

// The positions of a partition that are not NULL; NULLs are at one of its ends.
window_part without_nulls(const window_part& part, const sort_key_column& key, const window_order& order) {
  if (key.nulls.empty()) return part;
  window_part out = part;
  const auto is_null = [&](std::size_t i) { return key.is_null(order.row(i)); };
  const auto boundary = [&](bool null_first) {
    std::size_t low = part.first, high = part.last;
    while (low < high) {
      const auto middle = low + (high - low) / 2;
      (is_null(middle) == null_first ? low : high) = is_null(middle) == null_first ? middle + 1 : middle;
    }
    return low;
  };
  if (is_null(part.first)) {
    out.first = boundary(true);
  } else if (is_null(part.last - 1)) {
    out.last = boundary(false);
  }
  return out;
}

template <class Word>
class bound_search {
 public:
  bound_search(const sort_key_column& key, const sort_key_column& bound, bool descending, const window_order& order,
               bool at_end)
      : key_(key),
        order_(order),
        keys_(words_in_order<Word>(key, descending, order)),
        bounds_(words_in_order<Word>(bound, descending, order)),
        at_end_(at_end) {}

  void search(const window_part& part, std::vector<std::uint32_t>& out) const {
    const auto numbers = without_nulls(part, key_, order_);
    std::size_t next = numbers.first;
    bool started = false;
    for_each_row(part.begin, part.end, [&](std::size_t i) {
      if (i < numbers.first || i >= numbers.last) {  // the NULLs before or behind the numbers
        const bool before = i < numbers.first;
        out[i] = static_cast<std::uint32_t>(at_end_ ? (before ? numbers.first : part.last)
                                                    : (before ? part.first : numbers.last));
        return;
      }
      if (!started) next = found(numbers, bounds_[i]);
      started = true;
      while (next < numbers.last && is_before(keys_[next], bounds_[i])) ++next;
      out[i] = static_cast<std::uint32_t>(next);
    });
  }

 private:
  [[nodiscard]] bool is_before(Word key, Word bound) const { return at_end_ ? key <= bound : key < bound; }
  [[nodiscard]] std::size_t found(const window_part& numbers, Word bound) const {
    const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(numbers.first);
    const auto end = keys_.begin() + static_cast<std::ptrdiff_t>(numbers.last);
    return static_cast<std::size_t>(std::partition_point(begin, end, [&](Word key) { return is_before(key, bound); }) -
                                    keys_.begin());
  }

  const sort_key_column& key_;
  const window_order& order_;
  std::vector<Word> keys_, bounds_;
  bool at_end_;
};

// A part starts with a search of its own. Where bounds decrease, it may find an earlier position than the part before
// it.
void keep_ascending(const window_runs& runs, std::vector<std::uint32_t>& out) {
  const auto starts = piece_starts(out.size(), independent_pieces());
  for (std::size_t piece = 1; piece + 1 < starts.size(); ++piece) {
    const auto start = starts[piece];
    const auto run = run_cursor(runs.partitions, start).at(start);
    if (runs.partitions[run] == start) continue;
    for (std::size_t i = start; i < runs.partitions[run + 1] && out[i] < out[i - 1]; ++i) out[i] = out[i - 1];
  }
}

template <class Word>
std::vector<std::uint32_t> searched(const sort_key_column& key, const sort_key_column& bound, bool descending,
                                    const window_order& order, const window_runs& runs, bool at_end) {
  const bound_search<Word> search(key, bound, descending, order, at_end);
  std::vector<std::uint32_t> out(order.rows());
  for_each_part(runs.partitions, independent_pieces(), [&](const window_part& part) { search.search(part, out); });
  keep_ascending(runs, out);
  return out;
}

}  // namespace

std::vector<std::uint32_t> range_bounds(const arrow::ChunkedArray& key, const range_bound& bound, bool descending,
                                        const window_order& order, const window_runs& runs, bool at_end) {
  const auto keys = ordered_codes(key);
  const auto bounds = bound.values ? ordered_codes(*bound.values) : moved_codes(key, bound);
  return keys.high.empty() ? searched<std::uint64_t>(keys, bounds, descending, order, runs, at_end)
                           : searched<uint128>(keys, bounds, descending, order, runs, at_end);
}

}  // namespace espalier::engine
