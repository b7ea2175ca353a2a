#include "engine/exec/top_rows.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>

#include <algorithm>
#include <cstring>

#include "engine/exec/codes.hpp"
#include "engine/exec/relation.hpp"

namespace espalier::engine {
namespace {

// The first eight bytes: texts in order have these in order, or equal.
std::uint64_t text_word(std::string_view text) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < 8; ++i) {
    word = word << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
  }
  return word;
}

// A decimal as a word of 64 bits; those beyond are all equal to the last.
std::uint64_t decimal_word(std::uint64_t high, std::uint64_t low) {
  constexpr std::uint64_t top_bit = std::uint64_t{1} << 63;
  if (high == (low >= top_bit ? top_bit - 1 : top_bit)) return low ^ top_bit;
  return high >= top_bit ? ~std::uint64_t{0} : 0;
}

// Words in the order of the values, where different values may have equal words.
code_column coarse_codes(const arrow::ChunkedArray& piece) {
  code_column out;
  if (piece.type()->id() != arrow::Type::STRING) {
    out = ordered_codes(piece);
    for (std::size_t i = 0; i < out.high.size(); ++i) out.words[i] = decimal_word(out.high[i], out.words[i]);
    return out;
  }
  for (const auto& chunk : piece.chunks()) {
    const auto& strings = static_cast<const arrow::StringArray&>(*chunk);
    for (std::int64_t i = 0; i < strings.length(); ++i) {
      out.words.push_back(strings.IsNull(i) ? 0 : text_word(strings.GetView(i)));
      if (piece.null_count() > 0) out.nulls.push_back(strings.IsNull(i) ? 1 : 0);
    }
  }
  return out;
}

// The word of the last row that is among the first `limit` ones of those with a value; the greatest if there are fewer.
std::uint64_t last_word(const code_column& codes, std::uint64_t flip, std::uint64_t limit) {
  std::vector<std::uint64_t> best;  // a heap, the last one on top
  best.reserve(limit + 1);
  for (std::size_t row = 0; row < codes.words.size(); ++row) {
    const std::uint64_t word = codes.words[row] ^ flip;
    if ((best.size() == limit && word >= best.front()) || codes.is_null(row)) continue;
    best.push_back(word);
    std::push_heap(best.begin(), best.end());
    if (best.size() <= limit) continue;
    std::pop_heap(best.begin(), best.end());
    best.pop_back();
  }
  return best.size() < limit ? ~std::uint64_t{0} : best.front();
}

void add_candidates(const code_column& codes, std::uint64_t flip, bool nulls_first, std::uint64_t limit,
                    std::int64_t begin, std::vector<std::int64_t>& out) {
  const std::uint64_t last = last_word(codes, flip, limit);
  const auto nulls = static_cast<std::uint64_t>(std::count(codes.nulls.begin(), codes.nulls.end(), 1));
  const bool takes_nulls = nulls_first || codes.words.size() - nulls < limit;
  for (std::size_t row = 0; row < codes.words.size(); ++row) {
    const bool taken = codes.is_null(row) ? takes_nulls : (codes.words[row] ^ flip) <= last;
    if (taken) out.push_back(begin + static_cast<std::int64_t>(row));
  }
}

}  // namespace

std::vector<std::int64_t> top_row_candidates(const arrow::ChunkedArray& first_key, bool descending, bool nulls_first,
                                             std::uint64_t limit) {
  std::vector<std::vector<std::int64_t>> pieces(batch_count(first_key.length()));
  for_each_batch(first_key.length(), [&](std::size_t i, std::int64_t begin, std::int64_t count) {
    const auto codes = coarse_codes(*first_key.Slice(begin, count));
    add_candidates(codes, descending ? ~std::uint64_t{0} : 0, nulls_first, limit, begin, pieces[i]);
  });
  std::vector<std::int64_t> out;
  for (const auto& piece : pieces) out.insert(out.end(), piece.begin(), piece.end());
  return out;
}

}  // namespace espalier::engine
