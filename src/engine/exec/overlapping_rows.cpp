#include "engine/exec/overlapping_rows.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/parallel.hpp"
#include "engine/stop.hpp"
#include "espalier/core/config.hpp"

namespace espalier::engine {
namespace {

constexpr std::size_t level_fan_out = 16;  // of the levels
constexpr std::size_t spans_at_once = 4096;
constexpr std::size_t prefetched_spans = 8;
constexpr auto no_place = std::numeric_limits<std::size_t>::max();

// Replaces values of two words by their ranks among both columns.
void use_ranks(sort_key_column& first, sort_key_column& second) {
  if (first.high.empty() && second.high.empty()) return;
  using wide_word = std::pair<std::uint64_t, std::uint64_t>;
  const auto word_of = [](const sort_key_column& codes, std::size_t row) {
    return wide_word(codes.high.empty() ? 0 : codes.high[row], codes.words[row]);
  };
  std::vector<wide_word> all;
  all.reserve(first.words.size() + second.words.size());
  for (const auto* codes : {&first, &second}) {
    for_each_row(codes->words.size(), [&](std::size_t row) { all.push_back(word_of(*codes, row)); });
  }
  std::ranges::sort(all);
  all.erase(std::ranges::unique(all).begin(), all.end());
  for (auto* codes : {&first, &second}) {
    parallel_pieces(codes->words.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        const auto found = std::ranges::lower_bound(all, word_of(*codes, row));
        codes->words[row] = static_cast<std::uint64_t>(found - all.begin());
      }
    });
    codes->high.clear();
  }
}

// Calls check_cancelled() for each million of steps.
void check_cancelled_after(std::size_t compared, std::size_t& checked) {
  if (compared - checked < std::size_t{1} << 20) return;
  checked = compared;
  check_cancelled();
}

// A row without one of its ends has neither.
void join_nulls(sort_key_column& starts, sort_key_column& finishes) {
  if (starts.nulls.empty() && finishes.nulls.empty()) return;
  starts.nulls.resize(starts.words.size(), 0);
  finishes.nulls.resize(finishes.words.size(), 0);
  for_each_row(starts.nulls.size(), [&](std::size_t row) {
    starts.nulls[row] = finishes.nulls[row] = (starts.nulls[row] | finishes.nulls[row]) != 0 ? 1 : 0;
  });
}

// Returns whether words of all four columns can be compared with each other: they are not ranks.
bool have_absolute_words(const span_columns& left, const span_columns& right) {
  const auto& type = *left.start->type();
  if (type.id() == arrow::Type::STRING || type.id() == arrow::Type::DECIMAL128) return false;
  return type.Equals(left.finish->type()) && type.Equals(right.start->type()) && type.Equals(right.finish->type());
}

struct span_shapes {
  bool reversed = false;  ///< some span starts behind its finish
  bool points = false;    ///< some span starts where it finishes
};

span_shapes shapes_of_spans(const sort_key_column& starts, const sort_key_column& finishes) {
  std::atomic<bool> reversed = false, points = false;
  parallel_pieces(starts.words.size(), [&](std::size_t begin, std::size_t end) {
    bool some_reversed = false, some_points = false;
    for (std::size_t row = begin; row < end; ++row) {
      if (starts.is_null(row)) continue;
      some_reversed |= starts.words[row] > finishes.words[row];
      some_points |= starts.words[row] == finishes.words[row];
    }
    if (some_reversed) reversed = true;
    if (some_points) points = true;
  });
  return {reversed, points};
}

}  // namespace

overlapping_rows::overlapping_rows(const span_columns& left, const span_columns& right, span_comparison compares,
                                   overlap_use use)
    : compares_(compares), use_(use) {
  auto [starts, left_finishes] = ordered_codes(*right.start, *left.finish);
  auto [finishes, left_starts] = ordered_codes(*right.finish, *left.start);
  use_ranks(starts, left_finishes);
  use_ranks(finishes, left_starts);
  join_nulls(starts, finishes);
  starts_ = std::move(left_starts);
  finishes_ = std::move(left_finishes);
  ordered_.emplace(right.equal, starts);
  make_ends(finishes);
  const std::size_t rows = starts_.words.size();
  groups_ = ordered_->groups_of(left.equal, rows);
  last_.resize(rows);
  parallel_pieces(
      rows,
      [&](std::size_t begin, std::size_t end) {
        for (std::size_t row = begin; row < end; ++row) {
          if (starts_.is_null(row) || finishes_.is_null(row)) groups_[row] = no_group;
        }
        ordered_->first_places(groups_, finishes_, begin, compares_.start_inclusive,
                               std::span(last_).subspan(begin, end - begin));
      },
      spans_at_once);
  counts_.assign(rows, 0);
  if (use == overlap_use::aggregates) too_early_.assign(rows, {no_place, 0});
  if (use != overlap_use::first_pairs) prepare_differences(left, right, starts, finishes);
}

void overlapping_rows::make_ends(const sort_key_column& finishes) {
  const auto rows = ordered_->rows();
  ends_.resize(rows.size());
  parallel_pieces(rows.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t place = begin; place < end; ++place) {
      ends_[place].finish = finishes.words[static_cast<std::size_t>(rows[place])];
    }
  });
  for (std::size_t group = 0; group < ordered_->groups(); ++group) {
    std::uint64_t reach = 0;
    for (auto place = ordered_->group_begin(static_cast<std::uint32_t>(group));
         place < ordered_->group_end(static_cast<std::uint32_t>(group)); ++place) {
      reach = std::max(reach, ends_[place].finish);
      ends_[place].reach = reach;
    }
  }
  const auto add_level = [&](std::size_t below, const auto& finish_of) {
    std::vector<std::uint64_t> level((below + level_fan_out - 1) / level_fan_out);
    parallel_pieces(level.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t block = begin; block < end; ++block) {
        std::uint64_t most = 0;
        for (auto i = block * level_fan_out; i < std::min(below, (block + 1) * level_fan_out); ++i) {
          most = std::max(most, finish_of(i));
        }
        level[block] = most;
      }
    });
    levels_.push_back(std::move(level));
  };
  if (ends_.size() > level_fan_out) add_level(ends_.size(), [&](std::size_t place) { return ends_[place].finish; });
  while (!levels_.empty() && levels_.back().size() > level_fan_out) {
    const auto below = levels_.back();
    add_level(below.size(), [&](std::size_t block) { return below[block]; });
  }
}

// Calls take(position) for the right rows of a left row, from the last one back, until it returns false.
template <class Take>
void overlapping_rows::walk(std::size_t row, std::size_t& compared, const Take& take) const {
  const std::size_t first = ordered_->group_begin(groups_[row]);
  const std::uint64_t start = starts_.words[row];
  for (std::size_t place = last_[row]; place > first && !is_before(ends_[place - 1].reach, start);) {
    ++compared;
    // The largest block that ends here and has no finish that is late enough. A position of [first, place) has one, so
    // the block does not begin before `first`.
    std::size_t block = 1;
    for (std::size_t level = 0; level < levels_.size() && place % (block * level_fan_out) == 0; ++level) {
      if (!is_before(levels_[level][place / (block * level_fan_out) - 1], start)) break;
      block *= level_fan_out;
    }
    place -= block;
    if (block == 1 && !is_before(ends_[place].finish, start) && !take(place)) return;
  }
}

// If a right row that finishes too early always starts early enough, the pairs of a left row are those that start early
// enough, less those that finish too early. That is so if neither span is reversed, unless both are points and both
// comparisons are strict.
void overlapping_rows::prepare_differences(const span_columns& left, const span_columns& right,
                                           const sort_key_column& starts, const sort_key_column& finishes) {
  if (!have_absolute_words(left, right)) return;
  const auto shapes = shapes_of_spans(starts, finishes);
  points_differ_ = shapes.points && !compares_.start_inclusive && !compares_.finish_inclusive;
  if (shapes.reversed) return;
  by_finish_.emplace(right.equal, finishes);
  groups_by_finish_ = by_finish_->groups_of(left.equal, starts_.words.size());
}

void overlapping_rows::count_up_to(std::size_t last) {
  if (last <= counted_) return;
  const std::size_t first = counted_;
  const auto by_difference = [&](std::size_t row) {
    const auto start = starts_.words[row], finish = finishes_.words[row];
    return points_differ_ ? start < finish : start <= finish;
  };
  const bool first_only = use_ == overlap_use::first_pairs;
  std::atomic<std::size_t> total = 0;
  const auto count = [&](std::size_t begin, std::size_t end) {
    std::vector<std::size_t> places(by_finish_ ? end - begin : 0);
    if (by_finish_) by_finish_->first_places(groups_by_finish_, starts_, begin, !compares_.finish_inclusive, places);
    std::size_t found = 0, compared = 0, checked = 0;
    for (std::size_t row = begin; row < end; ++row) {
      if (groups_[row] == no_group) continue;
      auto& pairs = counts_[row];
      if (by_finish_ && by_difference(row)) {
        const finish_range range{by_finish_->group_begin(groups_by_finish_[row]), places[row - begin]};
        pairs = last_[row] - ordered_->group_begin(groups_[row]) - (range.end - range.begin);
        if (!too_early_.empty()) too_early_[row] = range;
      } else {
        walk(row, compared, [&](std::size_t) {
          ++pairs;
          return !first_only;
        });
        check_cancelled_after(compared, checked);
      }
      found += pairs;
    }
    total += found;
    compared_ += compared;
  };
  // Several pieces for each thread, also of few rows.
  const std::size_t piece = std::clamp<std::size_t>((last - first) / 32, 16, spans_at_once);
  parallel_pieces(
      last - first, [&](std::size_t begin, std::size_t end) { count(first + begin, first + end); }, piece);
  counted_ = last;
  total_ += total;
}

template <class Sum>
std::vector<Sum> overlapping_rows::sums(std::span<const Sum> values) {
  (void)count();
  const auto value_at = [&](const ordered_groups& order, std::size_t place) {
    return values[static_cast<std::size_t>(order.row_at(place))];
  };
  const auto prefixes = [&](const ordered_groups& order) {
    std::vector<Sum> out(order.rows().size() + 1, 0);
    for_each_row(order.rows().size(), [&](std::size_t place) { out[place + 1] = out[place] + value_at(order, place); });
    return out;
  };
  const auto by_start = prefixes(*ordered_);
  const auto by_finish = by_finish_ ? prefixes(*by_finish_) : std::vector<Sum>();
  std::vector<Sum> out(counts_.size(), 0);
  parallel_pieces(
      out.size(),
      [&](std::size_t begin, std::size_t end) {
        std::size_t compared = 0, checked = 0;
        for (std::size_t row = begin; row < end; ++row) {
          if (counts_[row] == 0) continue;
          if (too_early_[row].begin != no_place) {
            out[row] = by_start[last_[row]] - by_start[ordered_->group_begin(groups_[row])] -
                       (by_finish[too_early_[row].end] - by_finish[too_early_[row].begin]);
            continue;
          }
          walk(row, compared, [&](std::size_t place) {
            out[row] += value_at(*ordered_, place);
            return true;
          });
          check_cancelled_after(compared, checked);
        }
      },
      spans_at_once);
  return out;
}
template std::vector<std::int64_t> overlapping_rows::sums(std::span<const std::int64_t>);
template std::vector<int128> overlapping_rows::sums(std::span<const int128>);

bool overlapping_rows::next(join_pairs& block) {
  if (next_ == counts_.size()) return false;
  struct piece {
    std::size_t row, offset;
  };
  constexpr std::size_t pairs_of_a_piece = std::size_t{1} << 16;
  std::vector<piece> pieces{{next_, 0}};
  std::size_t found = 0;
  while (next_ < counts_.size() && found < pairs_at_once) {
    check_cancelled();
    // Twice as many rows each time: with LIMIT, a few rows of many pairs may be enough.
    if (next_ == counted_) count_up_to(std::min(counts_.size(), std::max<std::size_t>(256, 2 * counted_)));
    const std::size_t end = std::min(counted_, next_ + spans_at_once);
    const std::size_t before = found;
    while (next_ < end && found - before < pairs_of_a_piece) found += counts_[next_++];
    pieces.push_back({next_, found});
  }
  block.left.resize(found);
  block.right.resize(found);
  parallel_for(pieces.size() - 1, [&](std::size_t i) {
    std::size_t offset = pieces[i].offset, compared = 0;
    for (std::size_t row = pieces[i].row; row < pieces[i + 1].row; ++row) {
      if (row + prefetched_spans < pieces[i + 1].row && counts_[row + prefetched_spans] > 0) {
        __builtin_prefetch(&ends_[last_[row + prefetched_spans] - 1]);
      }
      if (counts_[row] == 0) continue;
      std::fill_n(block.left.begin() + static_cast<std::ptrdiff_t>(offset), counts_[row],
                  static_cast<std::int64_t>(row));
      offset += counts_[row];
      std::size_t to = offset;
      const std::size_t first = offset - counts_[row];
      walk(row, compared, [&](std::size_t place) {
        block.right[--to] = ordered_->row_at(place);
        return to > first;
      });
    }
    compared_ += compared;
  });
  return true;
}

}  // namespace espalier::engine
