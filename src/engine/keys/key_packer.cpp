#include "engine/keys/key_packer.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "engine/expr/relation.hpp"

namespace espalier::engine {
namespace {

constexpr std::uint64_t top_bit = std::uint64_t{1} << 63;

// A decimal that fits 64 bits is folded into one ordered word. Its high word is the sign extension with the top bit
// flipped (normalized_keys.cpp).
bool folds(std::uint64_t high, std::uint64_t low) { return high == ((low >> 63) != 0 ? ~top_bit : top_bit); }
std::uint64_t folded_word(std::uint64_t low) { return low ^ top_bit; }

struct extent {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t most = 0;
  bool any_null = false;
  bool folds = true;
};

extent extent_of(const sort_key_column& column, std::size_t begin, std::size_t end) {
  extent out;
  if (column.nulls.empty() && column.high.empty()) {
    for (std::size_t row = begin; row < end; ++row) {
      out.least = std::min(out.least, column.words[row]);
      out.most = std::max(out.most, column.words[row]);
    }
    return out;
  }
  for (std::size_t row = begin; row < end; ++row) {
    if (column.is_null(row)) {
      out.any_null = true;
      continue;
    }
    std::uint64_t word = column.words[row];
    if (!column.high.empty()) {
      out.folds = out.folds && folds(column.high[row], word);
      word = folded_word(word);
    }
    out.least = std::min(out.least, word);
    out.most = std::max(out.most, word);
  }
  return out;
}

extent extent_of(const sort_key_column& column, std::size_t rows) {
  std::vector<extent> pieces(batch_count(static_cast<std::int64_t>(rows)));
  for_each_batch(static_cast<std::int64_t>(rows), [&](std::size_t i, std::int64_t begin, std::int64_t count) {
    pieces[i] = extent_of(column, static_cast<std::size_t>(begin), static_cast<std::size_t>(begin + count));
  });
  extent out;
  for (const auto& piece : pieces) {
    out.least = std::min(out.least, piece.least);
    out.most = std::max(out.most, piece.most);
    out.any_null |= piece.any_null;
    out.folds = out.folds && piece.folds;
  }
  if (out.least > out.most) out.least = out.most = 0;
  return out;
}

}  // namespace

std::optional<key_packer> key_packer::plan(const std::vector<const sort_key_column*>& columns, std::size_t rows,
                                           bool null_is_a_key) {
  return plan_all(columns, std::vector<key_direction>(columns.size()), rows, null_is_a_key);
}

std::optional<key_packer> key_packer::plan_order(const std::vector<const sort_key_column*>& columns,
                                                 std::span<const key_direction> directions, std::size_t rows) {
  return plan_all(columns, directions, rows, true);
}

std::optional<key_packer> key_packer::plan_all(const std::vector<const sort_key_column*>& columns,
                                               std::span<const key_direction> directions, std::size_t rows,
                                               bool null_is_a_key) {
  key_packer out;
  out.directed_ = std::any_of(directions.begin(), directions.end(), [](const auto& d) { return d.descending; });
  unsigned bits = 0;
  std::uint64_t codes = 1;
  for (std::size_t i = columns.size(); i-- > 0;) {
    const auto of = extent_of(*columns[i], rows);
    if (!of.folds) return std::nullopt;
    field f{of.least, of.most - of.least, of.any_null && null_is_a_key, !columns[i]->high.empty(), bits, directions[i]};
    if (f.has_null && f.span == std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
    const std::uint64_t last = f.span + (f.has_null ? 1 : 0);
    bits += static_cast<unsigned>(std::bit_width(last));
    if (bits > 64) return std::nullopt;
    codes = bits == 64 ? 0 : (last + 1) << f.shift;
    out.fields_.insert(out.fields_.begin(), f);
  }
  out.codes_ = codes;
  return out;
}

void key_packer::add_words(const field& f, const sort_key_column& column, std::size_t begin, std::size_t end,
                           packed_keys& out) const {
  for (std::size_t row = begin; row < end; ++row) {
    std::uint64_t code = f.null_code();
    bool known = f.has_null;
    if (!column.is_null(row)) {
      const std::uint64_t word = f.folded ? folded_word(column.words[row]) : column.words[row];
      code = f.code(word);
      known = word >= f.base && word - f.base <= f.span && (!f.folded || folds(column.high[row], column.words[row]));
    }
    if (known) {
      out.own[row] |= f.shift < 64 ? code << f.shift : 0;
    } else {
      out.without[row] = 1;
    }
  }
}

packed_keys key_packer::pack(const std::vector<const sort_key_column*>& columns, std::size_t rows) const {
  const bool plain = columns.size() == 1 && columns[0]->nulls.empty() && columns[0]->high.empty();
  if (!plain || directed_) return pack_others(columns, rows);
  packed_keys out;
  out.codes = codes_;
  out.words = columns[0]->words;
  out.base = fields_[0].base;
  return out;
}

packed_keys key_packer::pack_others(const std::vector<const sort_key_column*>& columns, std::size_t rows) const {
  packed_keys out;
  out.codes = codes_;
  out.own.resize(rows, 0);
  out.without.resize(rows, 0);
  for_each_batch(static_cast<std::int64_t>(rows), [&](std::size_t, std::int64_t begin, std::int64_t count) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      add_words(fields_[i], *columns[i], static_cast<std::size_t>(begin), static_cast<std::size_t>(begin + count), out);
    }
  });
  out.words = out.own;
  return out;
}

}  // namespace espalier::engine
