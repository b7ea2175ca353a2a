#include "engine/exec/pairs.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <numeric>

namespace espalier::engine {
namespace {

relation only(const relation& from, const std::set<column_id>& wanted) {
  relation out;
  out.rows = from.rows;
  for (std::size_t i = 0; i < from.ids.size(); ++i) {
    if (wanted.contains(from.ids[i])) out.add(from.ids[i], from.columns[i]);
  }
  return out;
}

void keep_pairs_that_pass(const std::vector<bound_ptr>& residual, const relation& left, const relation& right,
                          row_pairs& pairs, const evaluation& values) {
  if (residual.empty() || pairs.left.empty()) return;
  std::set<column_id> wanted;
  for (const auto& condition : residual) collect_columns(condition, wanted);
  relation both = beside(take_rows(only(left, wanted), pairs.left), take_rows(only(right, wanted), pairs.right));
  both.rows = static_cast<std::int64_t>(pairs.left.size());
  const auto passed = values.column(conjunction(residual), both);
  std::size_t kept = 0, at = 0;
  for (const auto& chunk : passed->chunks()) {
    const auto& bits = static_cast<const arrow::BooleanArray&>(*chunk);
    for (std::int64_t i = 0; i < bits.length(); ++i, ++at) {
      if (bits.IsNull(i) || !bits.Value(i)) continue;
      pairs.left[kept] = pairs.left[at];
      pairs.right[kept++] = pairs.right[at];
    }
  }
  pairs.left.resize(kept);
  pairs.right.resize(kept);
}

std::vector<std::uint8_t> seen_rows(const std::vector<std::int64_t>& rows, std::int64_t count) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(count), 0);
  for (const auto row : rows) out[static_cast<std::size_t>(row)] = 1;
  return out;
}

std::vector<std::int64_t> rows_where(const std::vector<std::uint8_t>& seen, std::uint8_t wanted) {
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i] == wanted) out.push_back(static_cast<std::int64_t>(i));
  }
  return out;
}

}  // namespace

relation finish_join(join_type type, const std::vector<bound_ptr>& residual, const relation& left,
                     const relation& right, row_pairs pairs, const evaluation& values) {
  keep_pairs_that_pass(residual, left, right, pairs, values);
  if (type == join_type::semi || type == join_type::anti) {
    return take_rows(left, rows_where(seen_rows(pairs.left, left.rows), type == join_type::semi ? 1 : 0));
  }
  if (type == join_type::inner) {
    auto out = beside(take_rows(left, pairs.left), take_rows(right, pairs.right));
    out.rows = static_cast<std::int64_t>(pairs.left.size());
    return out;
  }
  const auto lonely_right =
      type == join_type::full ? rows_where(seen_rows(pairs.right, right.rows), 0) : std::vector<std::int64_t>();
  for (const auto row : rows_where(seen_rows(pairs.left, left.rows), 0)) {
    pairs.left.push_back(row);
    pairs.right.push_back(null_row);
  }
  for (const auto row : lonely_right) {
    pairs.left.push_back(null_row);
    pairs.right.push_back(row);
  }
  auto out = beside(take_rows_or_null(left, pairs.left), take_rows_or_null(right, pairs.right));
  out.rows = static_cast<std::int64_t>(pairs.left.size());
  return out;
}

row_pairs equal_pairs(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& left,
                      const std::vector<std::shared_ptr<arrow::ChunkedArray>>& right, bool build_left) {
  const key_table table(build_left ? left : right);
  const auto lists = rows_by_group(table.groups());
  const auto group_of = table.find(build_left ? right : left);
  std::size_t total = 0;
  for (const auto group : group_of) {
    if (group != no_group) total += lists.offsets[group + 1] - lists.offsets[group];
  }
  row_pairs out;
  auto& probe = build_left ? out.right : out.left;
  auto& built = build_left ? out.left : out.right;
  probe.reserve(total);
  built.reserve(total);
  for (std::size_t row = 0; row < group_of.size(); ++row) {
    if (group_of[row] == no_group) continue;
    for (auto i = lists.offsets[group_of[row]]; i < lists.offsets[group_of[row] + 1]; ++i) {
      probe.push_back(static_cast<std::int64_t>(row));
      built.push_back(lists.rows[i]);
    }
  }
  return out;
}

// One group of values of one word: words travel with their rows.
void ordered_groups::sort_words(const code_column& codes) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> order;
  order.reserve(codes.words.size());
  for (std::size_t row = 0; row < codes.words.size(); ++row) {
    if (!codes.is_null(row)) order.emplace_back(codes.words[row], static_cast<std::int64_t>(row));
  }
  tbb::parallel_sort(order.begin(), order.end());
  words_.reserve(order.size());
  rows_.reserve(order.size());
  for (const auto& [word, row] : order) {
    words_.push_back(word);
    rows_.push_back(row);
  }
  offsets_ = {0, rows_.size()};
}

void ordered_groups::sort_all(const code_column& codes) {
  const auto group_of = [&](std::int64_t row) {
    return table_ ? table_->groups().of_row[static_cast<std::size_t>(row)] : 0;
  };
  const auto at = [](const std::vector<std::uint64_t>& list, std::int64_t row) {
    return list[static_cast<std::size_t>(row)];
  };
  for (std::size_t row = 0; row < codes.words.size(); ++row) {
    const auto number = static_cast<std::int64_t>(row);
    if (group_of(number) != no_group && !codes.is_null(row)) rows_.push_back(number);
  }
  tbb::parallel_sort(rows_.begin(), rows_.end(), [&](std::int64_t a, std::int64_t b) {
    if (group_of(a) != group_of(b)) return group_of(a) < group_of(b);
    if (!codes.high.empty() && at(codes.high, a) != at(codes.high, b)) return at(codes.high, a) < at(codes.high, b);
    return at(codes.words, a) != at(codes.words, b) ? at(codes.words, a) < at(codes.words, b) : a < b;
  });
  offsets_.assign((table_ ? table_->groups().count() : 1) + 1, 0);
  for (const auto row : rows_) {
    words_.push_back(at(codes.words, row));
    if (!codes.high.empty()) highs_.push_back(at(codes.high, row));
    ++offsets_[group_of(row) + 1];
  }
  std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
}

ordered_groups::ordered_groups(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& keys,
                               const std::shared_ptr<arrow::ChunkedArray>& values) {
  if (!keys.empty()) table_ = std::make_unique<key_table>(keys);
  const auto codes = ordered_codes(*values);
  if (!table_ && codes.high.empty()) {
    sort_words(codes);
  } else {
    sort_all(codes);
  }
}

std::vector<std::uint32_t> ordered_groups::groups_of(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& keys,
                                                     std::size_t rows) const {
  return table_ ? table_->find(keys) : std::vector<std::uint32_t>(rows, 0);
}

std::size_t ordered_groups::first_place(std::uint32_t group, std::uint64_t high, std::uint64_t word, bool above) const {
  const auto first = offsets_[group];
  const auto last = offsets_[group + 1];
  if (highs_.empty()) {
    const auto begin = words_.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = words_.begin() + static_cast<std::ptrdiff_t>(last);
    const auto found = above ? std::upper_bound(begin, end, word) : std::lower_bound(begin, end, word);
    return static_cast<std::size_t>(found - words_.begin());
  }
  std::size_t lo = first, hi = last;
  while (lo < hi) {
    const auto middle = lo + (hi - lo) / 2;
    const bool below = highs_[middle] != high ? highs_[middle] < high
                       : above                ? words_[middle] <= word
                                              : words_[middle] < word;
    (below ? lo : hi) = below ? middle + 1 : middle;
  }
  return lo;
}

void ordered_groups::first_places(std::span<const std::uint64_t> words, bool above,
                                  std::span<std::size_t> places) const {
  constexpr std::size_t lanes = 16;
  const std::size_t total = words_.size();
  for (std::size_t begin = 0; begin < words.size(); begin += lanes) {
    const std::size_t count = std::min(lanes, words.size() - begin);
    std::size_t base[lanes] = {};
    const auto advance = [&](std::size_t by) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t probe = words_[base[i] + by - 1];
        const std::uint64_t word = words[begin + i];
        base[i] += (above ? probe <= word : probe < word) ? by : 0;
      }
    };
    // The place is in [base, base + length] of each lane, and length is the same for all.
    std::size_t length = total;
    for (; length > 1; length -= length / 2) advance(length / 2);
    if (length == 1) advance(1);
    for (std::size_t i = 0; i < count; ++i) places[begin + i] = base[i];
  }
}

}  // namespace espalier::engine
