#include "engine/keys/ordered_groups.hpp"

#include <arrow/chunked_array.h>

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <numeric>

#include "engine/parallel.hpp"
#include "engine/parallel_sort.hpp"
#include "espalier/device/cpu.hpp"

namespace espalier::engine {
namespace {

constexpr std::size_t searches_at_once = 16;  // interleaved searches that hide cache misses
constexpr std::size_t few_rows = 4096;        // below this, a table of leading bits does not pay off

}  // namespace

ordered_groups::ordered_groups(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& keys,
                               const std::shared_ptr<arrow::ChunkedArray>& values)
    : ordered_groups(keys, ordered_codes(*values)) {}

ordered_groups::ordered_groups(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& keys,
                               const sort_key_column& codes) {
  if (!keys.empty()) table_ = std::make_unique<key_table>(keys);
  choose_rows(codes);
  is_packed_ = pack(codes);
  if (is_packed_) {
    sort_packed();
    make_top();
  } else {
    sort_by_comparing(codes);
  }
}

// Selects the rows that can be found, and counts the rows of each group.
void ordered_groups::choose_rows(const sort_key_column& codes) {
  offsets_.assign((table_ ? table_->groups().count() : 1) + 1, 0);
  if (!table_ && codes.nulls.empty()) {
    rows_.resize(codes.words.size());
    parallel_pieces(rows_.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) rows_[row] = static_cast<std::int64_t>(row);
    });
    offsets_[1] = rows_.size();
    return;
  }
  rows_.reserve(codes.words.size());
  for_each_row(codes.words.size(), [&](std::size_t row) {
    const auto group = group_of(row);
    if (group == no_group || codes.is_null(row)) return;
    rows_.push_back(static_cast<std::int64_t>(row));
    ++offsets_[group + 1];
  });
  std::partial_sum(offsets_.begin(), offsets_.end(), offsets_.begin());
}

bool ordered_groups::pack(const sort_key_column& codes) {
  if (!codes.high.empty()) return false;
  const auto word_of = [&](std::int64_t row) { return codes.words[static_cast<std::size_t>(row)]; };
  least_ = rows_.empty() ? 0 : word_of(rows_.front());
  most_ = least_;
  std::mutex both;
  parallel_pieces(rows_.size(), [&](std::size_t begin, std::size_t end) {
    std::uint64_t least = word_of(rows_[begin]), most = least;
    for (std::size_t i = begin; i < end; ++i) {
      least = std::min(least, word_of(rows_[i]));
      most = std::max(most, word_of(rows_[i]));
    }
    const std::lock_guard hold(both);
    least_ = std::min(least_, least);
    most_ = std::max(most_, most);
  });
  bits_ = static_cast<unsigned>(std::bit_width(most_ - least_));
  const std::size_t groups = offsets_.size() - 1;
  const auto group_bits = static_cast<unsigned>(std::bit_width(std::max<std::size_t>(groups, 1) - 1));
  if (group_bits + bits_ > 64) return false;
  words_.resize(rows_.size());
  parallel_pieces(rows_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      words_[i] = packed(group_of(static_cast<std::size_t>(rows_[i])), word_of(rows_[i]));
    }
  });
  return true;
}

void ordered_groups::sort_packed() {
  if (std::is_sorted(words_.begin(), words_.end())) return;
  std::vector<std::uint64_t> words(words_.size());
  std::vector<std::int64_t> rows(rows_.size());
  const device host = device::cpu(static_cast<unsigned>(parallel_width()));
  if (cpu_backend(host).sort_pairs(words_.data(), words.data(), rows_.data(), rows.data(), sizeof(std::int64_t),
                                   rows.size(), 0, 64)) {
    words_.swap(words);
    rows_.swap(rows);
  }
}

void ordered_groups::make_top() {
  if (words_.size() < few_rows) return;
  const auto all = static_cast<unsigned>(std::bit_width(words_.back()));
  const auto wanted = static_cast<unsigned>(std::bit_width(words_.size()) - 2);
  top_shift_ = all > wanted ? all - wanted : 0;
  top_.resize((words_.back() >> top_shift_) + 2);
  std::size_t place = 0;
  for (std::size_t top = 0; top < top_.size(); ++top) {
    while (place < words_.size() && (words_[place] >> top_shift_) < top) ++place;
    top_[top] = place;
  }
}

void ordered_groups::sort_by_comparing(const sort_key_column& codes) {
  const auto at = [](const std::vector<std::uint64_t>& list, std::int64_t row) {
    return list[static_cast<std::size_t>(row)];
  };
  const auto before = [&](std::int64_t a, std::int64_t b) {
    const auto a_group = group_of(static_cast<std::size_t>(a)), b_group = group_of(static_cast<std::size_t>(b));
    if (a_group != b_group) return a_group < b_group;
    if (!codes.high.empty() && at(codes.high, a) != at(codes.high, b)) return at(codes.high, a) < at(codes.high, b);
    return at(codes.words, a) != at(codes.words, b) ? at(codes.words, a) < at(codes.words, b) : a < b;
  };
  parallel_sort(rows_.begin(), rows_.end(), std::ssize(rows_), before);
  for_each_row(rows_.size(), [&](std::size_t i) {
    words_.push_back(at(codes.words, rows_[i]));
    if (!codes.high.empty()) highs_.push_back(at(codes.high, rows_[i]));
  });
}

std::vector<std::uint32_t> ordered_groups::groups_of(const std::vector<std::shared_ptr<arrow::ChunkedArray>>& keys,
                                                     std::size_t rows) const {
  return table_ ? table_->find(keys) : std::vector<std::uint32_t>(rows, 0);
}

void ordered_groups::first_places(std::span<const std::uint32_t> groups, const sort_key_column& codes,
                                  std::size_t first, bool above, std::span<std::size_t> places) const {
  const auto is_known = [&](std::size_t row) { return groups[row] != no_group && !codes.is_null(row); };
  if (!is_packed_) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const std::size_t row = first + i;
      if (!is_known(row)) continue;
      places[i] = compared_place(groups[row], codes.high.empty() ? 0 : codes.high[row], codes.words[row], above);
    }
    return;
  }
  std::array<std::uint64_t, searches_at_once> asked{};
  for (std::size_t begin = 0; begin < places.size(); begin += searches_at_once) {
    const std::size_t count = std::min(searches_at_once, places.size() - begin);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = first + begin + i;
      asked[i] = is_known(row) ? packed(groups[row], std::clamp(codes.words[row], least_, most_)) : 0;
    }
    packed_places(std::span(asked).first(count), above, places.subspan(begin, count));
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = first + begin + i;
      if (!is_known(row)) continue;
      if (codes.words[row] < least_) places[begin + i] = group_begin(groups[row]);
      if (codes.words[row] > most_) places[begin + i] = group_end(groups[row]);
    }
  }
}

// Searches [base, base + length] for the first position whose word is not less, one range per search.
void ordered_groups::packed_places(std::span<const std::uint64_t> asked, bool above,
                                   std::span<std::size_t> places) const {
  std::array<std::size_t, searches_at_once> base{}, length{};
  std::size_t longest = 0;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    if (top_.empty()) {
      length[i] = words_.size();
    } else {
      const std::size_t top = std::min<std::uint64_t>(asked[i] >> top_shift_, top_.size() - 2);
      base[i] = top_[top];
      length[i] = top_[top + 1] - base[i];
    }
    longest = std::max(longest, length[i]);
    __builtin_prefetch(words_.data() + base[i] + length[i] / 2);
  }
  for (; longest > 0; longest /= 2) {
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (length[i] == 0) continue;
      const std::size_t half = length[i] / 2;
      const std::uint64_t probe = words_[base[i] + half];
      const bool below = above ? probe <= asked[i] : probe < asked[i];
      base[i] += below ? half + 1 : 0;
      length[i] = below ? length[i] - half - 1 : half;
    }
  }
  std::copy_n(base.begin(), asked.size(), places.begin());
}

std::size_t ordered_groups::compared_place(std::uint32_t group, std::uint64_t high, std::uint64_t word,
                                           bool above) const {
  std::size_t lo = offsets_[group], hi = offsets_[group + 1];
  while (lo < hi) {
    const auto middle = lo + (hi - lo) / 2;
    const bool other_high = !highs_.empty() && highs_[middle] != high;
    const bool below = other_high ? highs_[middle] < high : above ? words_[middle] <= word : words_[middle] < word;
    (below ? lo : hi) = below ? middle + 1 : middle;
  }
  return lo;
}

}  // namespace espalier::engine
