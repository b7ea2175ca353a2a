// ranges.hpp - for each left row a range of positions in a sorted right side: what windows and spans have in common.
//
// Ranges are kept for all left rows, 8 bytes each, in left row order: ranks are found in group order, aggregates and
// their validity bits are then written in row order without sharing bytes between threads.
#pragma once

#include "espalier/join/window_join.hpp"
#include "join/aggregate_views.hpp"
#include "join/prepared_rows.hpp"

namespace espalier::join_detail {

/// The end of a range: before all keys, at a key, or after all keys.
enum class end_place : std::uint8_t { before_all, at_key, after_all };
template <class Query>
struct range_end {
  Query key{};
  end_place place = end_place::at_key;
};

/// Positions of the ranges [first end, last end] of ordered left rows. ends(i, first, last) sets both ends of the
/// ordered row i, and returns false for an empty range; both keys are set in any case. A group has the same positions
/// in the two right sides, which may be one and the same. Directories are those of the keys of both sides, or null.
template <class Key, class Query, bound_type FirstBound, bound_type LastBound, class Ends>
void rank_ranges(const cpu_backend& backend, const ordered_rows<Key>& left, const typed_prepared_rows<Key>& first_side,
                 const typed_prepared_rows<Key>& last_side, const Ends& ends, position_range* out,
                 const key_directory<Key>* first_directory, const key_directory<Key>* last_directory) {
  for_each_run_piece(backend, left, [&](std::uint32_t g, std::size_t from, std::size_t to) {
    const group_view<Key> first_group = first_side.group(g, first_directory),
                          last_group = last_side.group(g, last_directory);
    group_ranker<FirstBound, Key, Query> first_ranker(first_group);
    group_ranker<LastBound, Key, Query> last_ranker(last_group);
    const std::size_t base = first_group.main.first, size = first_group.size();
    Query first_keys[block_rows], last_keys[block_rows];
    end_place first_places[block_rows], last_places[block_rows];
    std::uint32_t first_ranks[block_rows], last_ranks[block_rows];
    bool has_rows[block_rows];
    const auto rank_of = [size](std::size_t rank, end_place place) {
      return place == end_place::at_key ? rank : place == end_place::before_all ? 0 : size;
    };
    for (std::size_t at = from; at < to; at += block_rows) {
      const std::size_t count = std::min(block_rows, to - at);
      for (std::size_t j = 0; j < count; ++j) {
        range_end<Query> first_end, last_end;
        has_rows[j] = ends(at + j, first_end, last_end);
        first_keys[j] = first_end.key;
        last_keys[j] = last_end.key;
        first_places[j] = first_end.place;
        last_places[j] = last_end.place;
      }
      first_ranker.rank(first_keys, count, first_ranks);
      last_ranker.rank(last_keys, count, last_ranks);
      for (std::size_t j = 0; j < count; ++j) {
        const std::size_t first = rank_of(first_ranks[j], first_places[j]);
        const std::size_t last = rank_of(last_ranks[j], last_places[j]);
        const std::size_t row = left.rows == nullptr ? at + j : left.rows[at + j];
        const bool is_empty = !has_rows[j] || last <= first;
        out[row] = is_empty
                       ? position_range{}
                       : position_range{static_cast<row_number>(base + first), static_cast<row_number>(base + last)};
      }
    }
  });
}

/// rank_ranges() with bounds that are known at run time.
template <class Key, class Query, class Ends>
void rank_ranges(const cpu_backend& backend, const ordered_rows<Key>& left, const typed_prepared_rows<Key>& first_side,
                 bound_type first_bound, const typed_prepared_rows<Key>& last_side, bound_type last_bound,
                 const Ends& ends, position_range* out, const key_directory<Key>* first_directory = nullptr,
                 const key_directory<Key>* last_directory = nullptr) {
  using enum bound_type;
  if (first_bound == lower && last_bound == upper) {
    rank_ranges<Key, Query, lower, upper>(backend, left, first_side, last_side, ends, out, first_directory,
                                          last_directory);
  } else if (first_bound == lower) {
    rank_ranges<Key, Query, lower, lower>(backend, left, first_side, last_side, ends, out, first_directory,
                                          last_directory);
  } else if (last_bound == upper) {
    rank_ranges<Key, Query, upper, upper>(backend, left, first_side, last_side, ends, out, first_directory,
                                          last_directory);
  } else {
    rank_ranges<Key, Query, upper, lower>(backend, left, first_side, last_side, ends, out, first_directory,
                                          last_directory);
  }
}

/// A buffer of ranges for `rows` left rows, all empty if some of them do not take part.
[[nodiscard]] inline buffer<position_range> empty_ranges(const cpu_backend& backend, const device& dev,
                                                         std::size_t rows, bool all_take_part) {
  buffer<position_range> ranges(dev, rows);
  if (!all_take_part) {
    backend.for_each_chunk(rows, piece_rows, [&](std::size_t first, std::size_t last) {
      std::fill(ranges.data() + first, ranges.data() + last, position_range{});
    });
  }
  return ranges;
}

/// The aggregates of window_index over ranges, for the joins of this folder.
void aggregate_ranges(const char* call, const window_index& index, std::span<const position_range> ranges,
                      std::span<const window_output> outputs);
/// Throws unless the outputs fit to the columns and to the number of left rows.
void check_outputs(const char* call, const window_index& index, std::size_t rows,
                   std::span<const window_output> outputs);
/// The same for columns of these kinds and structures for `made`, a set of window_bit().
void check_outputs(const char* call, std::span<const scalar_kind> kinds, unsigned made, std::size_t rows,
                   std::span<const window_output> outputs);
[[nodiscard]] constexpr unsigned window_bit(window_function f) { return 1u << static_cast<unsigned>(f); }
/// The side of a window_index.
[[nodiscard]] const prepared_rows& side_of(const window_index& index);
/// Throws if a prepared side has appended rows that are not compacted.
void require_compact(const char* call, const prepared_rows& side);

}  // namespace espalier::join_detail
