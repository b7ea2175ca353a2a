// tree_index_read.hpp - construction and queries of tree_index. Included by tree_index.cpp.
#pragma once

#include <algorithm>

#include "engine/index/tree_index.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {

/// Each descending step is a search of its own. Beyond this many steps, the whole range is read and reversed.
inline constexpr std::uint64_t most_steps = 4096;

namespace detail {

/// Returns the distinct keys with their values; keys of several rows get lists.
template <class Side, class Word>
typename Side::tree build_map(const ordered_keys& keys, posting_lists& lists, const device& where) {
  std::vector<Word> words;
  std::vector<std::uint64_t> values;
  const std::size_t n = keys.words.size();
  for (std::size_t from = 0, to = 0; from < n; from = to) {
    if (words.size() % rows_between_checks == 0) check_cancelled();
    while (to < n && keys.words[to] == keys.words[from]) ++to;
    words.push_back(static_cast<Word>(keys.words[from]));
    if (to - from == 1) {
      values.push_back(keys.rows[from]);
    } else {
      posting_lists::list rows(to - from);
      keys.rows.copy(from, to, rows.data());
      values.push_back(lists.make(std::move(rows)));
    }
  }
  posting_lists::list nulls(keys.null_rows);
  keys.rows.copy(keys.keyed_rows(), keys.rows.size(), nulls.data());
  static_cast<void>(lists.edit(posting_lists::nulls, {}, nulls));
  return Side::build(words, values, where);
}

}  // namespace detail

template <class Side, class Word>
tree_index<Side, Word>::tree_index(const ordered_keys& keys, const device& where)
    : encoder_(keys.encoder),
      host_(host_of(where)),
      tree_(detail::build_map<Side, Word>(keys, lists_, where)),
      size_(keys.rows.size()) {}

template <class Side, class Word>
void tree_index<Side, Word>::require_whole() const {
  if (broken_) throw error("index: memory ran out while a change was taken back; drop the index and create it again.");
}

template <class Side, class Word>
auto tree_index<Side, Word>::ends(const range_batch& ranges, std::size_t i) -> std::optional<word_range> {
  const range_batch::mark m = ranges.mark_of(i);
  if (m == range_batch::mark::every_row) return word_range{0, std::numeric_limits<Word>::max()};
  if (m != range_batch::mark::ends || ranges.lo_words[i] > ranges.hi_words[i]) return std::nullopt;
  return word_range{static_cast<Word>(ranges.lo_words[i]), static_cast<Word>(ranges.hi_words[i])};
}

template <class Side, class Word>
auto tree_index<Side, Word>::all_ends(const range_batch& ranges) -> word_ends {
  word_ends out;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto r = ends(ranges, i);
    out.lo.push_back(r ? r->lo : 1);  // 1 to 0 is an empty range
    out.hi.push_back(r ? r->hi : 0);
  }
  return out;
}

template <class Side, class Word>
value_lists tree_index<Side, Word>::values_up(const range_batch& ranges, std::uint64_t limit) const {
  std::vector<Word> lo, hi;
  bool points = true;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto r = ends(ranges, i);
    lo.push_back(r ? r->lo : 1);  // 1 to 0 is an empty range
    hi.push_back(r ? r->hi : 0);
    points = points && r && r->lo == r->hi;
  }
  value_lists out;
  if (!points) {
    auto found = tree_.range(lo, hi, {interval::closed, limit});
    out.offsets = found.offsets.to_vector();
    out.values = found.values.to_vector();
    return out;
  }
  std::vector<std::uint64_t> values(lo.size());
  std::vector<std::uint8_t> found(lo.size());
  tree_.find(lo, values, found);
  for (std::size_t i = 0; i < lo.size(); ++i) {
    if (found[i] != 0) out.values.push_back(values[i]);
    out.offsets.push_back(out.values.size());
  }
  return out;
}

template <class Side, class Word>
value_lists tree_index<Side, Word>::values_down(const range_batch& ranges, std::uint64_t limit) const {
  if (limit <= most_steps) return step_down(ranges, limit);
  value_lists out = values_up(ranges, no_limit);
  for (std::size_t i = 0; i + 1 < out.offsets.size(); ++i)
    std::reverse(out.values.begin() + static_cast<std::ptrdiff_t>(out.offsets[i]),
                 out.values.begin() + static_cast<std::ptrdiff_t>(out.offsets[i + 1]));
  return out;
}

/// Reads each range downwards from its upper bound; all ranges advance one step at a time.
template <class Side, class Word>
value_lists tree_index<Side, Word>::step_down(const range_batch& ranges, std::uint64_t limit) const {
  std::vector<std::vector<std::uint64_t>> lists(ranges.size());
  std::vector<std::size_t> who;  // unfinished ranges, and their positions
  std::vector<Word> at, lo;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (const auto r = ends(ranges, i)) {
      who.push_back(i);
      at.push_back(r->hi);
      lo.push_back(r->lo);
    }
  }
  std::vector<std::uint64_t> values(who.size());
  std::vector<std::uint8_t> found(who.size());
  tree_.find(at, values, found);
  for (std::size_t k = 0; k < who.size(); ++k) {
    if (found[k] != 0) lists[who[k]].push_back(values[k]);
  }
  std::vector<Word> below;
  while (!who.empty()) {
    below.resize(who.size());
    values.resize(who.size());
    found.resize(who.size());
    tree_.predecessor(at, below, values, found);
    std::size_t going = 0;
    for (std::size_t k = 0; k < who.size(); ++k) {
      auto& list = lists[who[k]];
      if (list.size() >= limit || found[k] == 0 || below[k] < lo[k]) continue;
      list.push_back(values[k]);
      who[going] = who[k];
      lo[going] = lo[k];
      at[going++] = below[k];
    }
    who.resize(going);
    at.resize(going);
    lo.resize(going);
  }
  value_lists out;
  for (const auto& list : lists) {
    out.values.insert(out.values.end(), list.begin(), list.end());
    out.offsets.push_back(out.values.size());
  }
  return out;
}

template <class Side, class Word>
std::vector<std::uint64_t> tree_index<Side, Word>::counts(const range_batch& ranges) const {
  require_whole();
  std::vector<std::uint64_t> out(ranges.size());
  if (lists_.any()) {
    const value_lists found = values_up(ranges, no_limit);
    for (std::size_t i = 0; i < out.size(); ++i) {
      for (std::size_t v = found.offsets[i]; v < found.offsets[i + 1]; ++v)
        out[i] += lists_.rows(found.values[v]).size();
    }
  } else {
    const word_ends of = all_ends(ranges);
    tree_.count(of.lo, of.hi, out);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (takes_nulls(ranges.mark_of(i))) out[i] += null_rows();
  }
  return out;
}

/// Exact for ranges of few keys. For longer ones the tree estimates the number of keys, which is multiplied by the
/// average number of rows per key.
template <class Side, class Word>
std::vector<std::uint64_t> tree_index<Side, Word>::estimates(const range_batch& ranges) const {
  require_whole();
  constexpr std::uint64_t few = 2048;
  const value_lists first = values_up(ranges, few);
  const std::uint64_t keyed = size_ - null_rows();
  double rows_of_a_key = 0;  // not computed yet
  std::vector<std::uint64_t> out(ranges.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = takes_nulls(ranges.mark_of(i)) ? null_rows() : 0;
    if (first.offsets[i + 1] - first.offsets[i] < few) {
      for (auto v = first.offsets[i]; v < first.offsets[i + 1]; ++v) out[i] += lists_.rows(first.values[v]).size();
      continue;
    }
    if (rows_of_a_key == 0) {
      const auto keys = lists_.any() ? tree_.estimate_count(0, std::numeric_limits<Word>::max()) : keyed;
      rows_of_a_key = static_cast<double>(keyed) / static_cast<double>(keys);
    }
    const auto r = ends(ranges, i);
    const double rows = static_cast<double>(tree_.estimate_count(r->lo, r->hi)) * rows_of_a_key;
    out[i] += std::clamp<std::uint64_t>(static_cast<std::uint64_t>(rows), few, keyed);
  }
  return out;
}

template <class Side, class Word>
row_lists tree_index<Side, Word>::rows(const range_batch& ranges, const row_options& options) const {
  require_whole();
  const bool down = options.order == key_order::descending;
  const value_lists found = down ? values_down(ranges, options.limit) : values_up(ranges, options.limit);
  row_lists out;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    const auto append = [&](std::span<const std::uint64_t> rows) {
      const std::uint64_t room = options.limit - (out.rows.size() - out.offsets[i]);
      const auto n = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(room, rows.size()));
      if (down) {
        out.rows.insert(out.rows.end(), rows.rbegin(), rows.rbegin() + n);
      } else {
        out.rows.insert(out.rows.end(), rows.begin(), rows.begin() + n);
      }
    };
    const bool nulls = takes_nulls(ranges.mark_of(i));
    if (i % rows_between_checks == 0) check_cancelled();
    if (nulls && down) append(lists_.rows(posting_lists::nulls));
    for_each_row(found.offsets[i], found.offsets[i + 1], [&](std::size_t v) { append(lists_.rows(found.values[v])); });
    if (nulls && !down) append(lists_.rows(posting_lists::nulls));
    out.offsets.push_back(out.rows.size());
  }
  return out;
}

template <class Side, class Word>
encoded_keys tree_index<Side, Word>::keys(const range_batch& ranges, const row_options& options) const {
  require_whole();
  const bool down = options.order == key_order::descending;
  const word_ends of = all_ends(ranges);
  const auto found = tree_.range(of.lo, of.hi, {interval::closed, options.limit});
  const auto offsets = found.offsets.to_vector();
  const auto words = found.keys.to_vector();
  const auto values = found.values.to_vector();
  encoded_keys out;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    std::uint64_t room = options.limit;
    const auto take = [&](std::uint64_t rows) {
      const std::uint64_t n = std::min(room, rows);
      room -= n;
      return static_cast<std::size_t>(n);
    };
    const std::uint64_t nulls = takes_nulls(ranges.mark_of(i)) ? null_rows() : 0;
    if (down) out.add_nulls(take(nulls));
    for (std::uint64_t k = offsets[i]; k < offsets[i + 1]; ++k) {
      const std::uint64_t at = down ? offsets[i + 1] - 1 - (k - offsets[i]) : k;
      for (std::size_t n = take(lists_.rows(values[at]).size()); n > 0; --n) out.add_word(words[at]);
    }
    if (!down) out.add_nulls(take(nulls));
  }
  out.fill_marks();
  return out;
}

/// Finds the first elements not below the lower bounds, or the last ones not above the upper bounds: at the bound
/// itself, or next to it.
template <class Side, class Word>
std::vector<std::uint64_t> tree_index<Side, Word>::edge(const range_batch& ranges, bool last) const {
  require_whole();
  std::vector<std::uint64_t> out(ranges.size(), no_row);
  std::vector<std::size_t> who;
  std::vector<Word> at;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (const auto r = ends(ranges, i)) {
      who.push_back(i);
      at.push_back(last ? r->hi : r->lo);
    }
  }
  std::vector<Word> keys(who.size());
  std::vector<std::uint64_t> values(who.size());
  std::vector<std::uint8_t> found(who.size());
  const auto answer = [&](std::size_t k) {
    const auto rows = lists_.rows(values[k]);
    out[who[k]] = last ? rows.back() : rows.front();
  };
  if (!last) {
    tree_.lower_bound(at, keys, values, found);
    for (std::size_t k = 0; k < who.size(); ++k) {
      if (found[k] != 0 && keys[k] <= ends(ranges, who[k])->hi) answer(k);
    }
    return out;
  }
  tree_.find(at, values, found);
  std::size_t left = 0;
  for (std::size_t k = 0; k < who.size(); ++k) {
    if (found[k] != 0) {
      answer(k);
    } else {
      who[left] = who[k];
      at[left++] = at[k];
    }
  }
  at.resize(left);
  keys.resize(left);
  values.resize(left);
  found.resize(left);
  tree_.predecessor(at, keys, values, found);
  for (std::size_t k = 0; k < left; ++k) {
    if (found[k] != 0 && keys[k] >= ends(ranges, who[k])->lo) answer(k);
  }
  return out;
}

template <class Side, class Word>
std::shared_ptr<arrow::Array> tree_index<Side, Word>::aggregate(aggregate_function f, const summary_source& column,
                                                                const range_batch& ranges) const {
  const row_lists found = rows(ranges, {});
  std::vector<summed_range> summed(ranges.size());
  for (std::size_t i = 0; i < summed.size(); ++i) summed[i] = {0, 0, found.offsets[i], found.offsets[i + 1]};
  const auto values = column.at(found.rows);
  return column_aggregates::make(column, {}, host_)->answer(f, summed, values.get());
}

template <class Side, class Word>
std::vector<std::uint64_t> tree_index<Side, Word>::ordered_rows(key_order order, std::uint64_t offset,
                                                                std::uint64_t limit) const {
  const range_batch all = encoder_->ranges({});
  const std::uint64_t first = std::min(offset, size_);
  const std::uint64_t wanted = first + std::min(limit, size_ - first);
  std::vector<std::uint64_t> out = rows(all, {wanted, order}).rows;
  out.erase(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(first));
  return out;
}

}  // namespace espalier::engine
