// asof_runs.hpp - as-of matches of left rows in group order against sorted groups.
#pragma once

#include "espalier/join/asof_join.hpp"
#include "join/side.hpp"

namespace espalier::join_detail {

/// Matches of the left rows of one piece of a run. Ranks and directions:
///   backward   last key <= q: upper rank - 1;   without exact matches, last key < q: lower rank - 1
///   forward    first key >= q: lower rank;      without exact matches, first key > q: upper rank
/// Equal keys are in row order, so these are the last and the first row of equal keys.
template <class Key>
class asof_matcher {
 public:
  asof_matcher(const asof_options& options, const tolerance_of<Key>& tolerance, row_number* out)
      : direction_(options.direction), exact_(options.allow_exact_matches), tolerance_(tolerance), out_(out) {}

  void match(const group_view<Key>& group, const ordered_rows<Key>& left, std::size_t first, std::size_t last) const {
    if (direction_ == asof_direction::nearest) {
      nearest(group, left, first, last);
    } else if ((direction_ == asof_direction::backward) == exact_) {
      one_way<bound_type::upper>(group, left, first, last);
    } else {
      one_way<bound_type::lower>(group, left, first, last);
    }
  }

 private:
  [[nodiscard]] static std::size_t row_of(const ordered_rows<Key>& left, std::size_t i) {
    return left.rows == nullptr ? i : left.rows[i];
  }

  template <bound_type Bound>
  void one_way(const group_view<Key>& group, const ordered_rows<Key>& left, std::size_t first, std::size_t last) const {
    group_ranker<Bound, Key> ranker(group);
    const bool backward = direction_ == asof_direction::backward;
    const std::uint32_t shift = backward ? 1 : 0;
    const std::size_t size = group.size();
    const bool is_plain = !tolerance_.is_set() && group.tail.size() == 0;
    std::uint32_t ranks[block_rows];
    for (std::size_t from = first; from < last; from += block_rows) {
      const std::size_t count = std::min(block_rows, last - from);
      const Key* q = left.keys + from;
      ranker.rank(q, count, ranks);
      if (is_plain && left.rows == nullptr && group.main_rows == nullptr) {
        const auto base = static_cast<std::uint32_t>(group.main.first);
        for (std::size_t j = 0; j < count; ++j) {
          const std::uint32_t at = ranks[j] - shift;  // wraps around before the first key
          out_[from + j] = at < size ? base + at : no_row;
        }
        continue;
      }
      for (std::size_t j = 0; j < count; ++j) {
        const std::uint32_t at = ranks[j] - shift;
        const bool matches = at < size && (is_plain || tolerance_.allows(q[j], group.key_at(at)));
        out_[row_of(left, from + j)] = matches ? group.row_at(at) : no_row;
      }
    }
  }

  void nearest(const group_view<Key>& group, const ordered_rows<Key>& left, std::size_t first, std::size_t last) const {
    group_ranker<bound_type::lower, Key> lower(group);
    group_ranker<bound_type::upper, Key> upper(group);
    const std::size_t size = group.size();
    std::uint32_t below[block_rows], above[block_rows];
    for (std::size_t from = first; from < last; from += block_rows) {
      const std::size_t count = std::min(block_rows, last - from);
      const Key* q = left.keys + from;
      upper.rank(q, count, above);
      if (exact_) {
        std::copy_n(above, count, below);  // the key before the upper rank may equal q, and then it is the nearest
      } else {
        lower.rank(q, count, below);
      }
      for (std::size_t j = 0; j < count; ++j) {
        std::uint32_t at = below[j] - 1;
        if (above[j] < size &&
            (at >= size || distance_between(group.key_at(above[j]), q[j]) < distance_between(group.key_at(at), q[j]))) {
          at = above[j];
        }
        const bool matches = at < size && tolerance_.allows(q[j], group.key_at(at));
        out_[row_of(left, from + j)] = matches ? group.row_at(at) : no_row;
      }
    }
  }

  asof_direction direction_;
  bool exact_;
  tolerance_of<Key> tolerance_;
  row_number* out_;
};

/// group_of(g) is the group_view of group g.
template <class Key, class GroupOf>
void asof_over_runs(const cpu_backend& backend, const ordered_rows<Key>& left, const GroupOf& group_of,
                    const asof_options& options, const tolerance_of<Key>& tolerance, row_number* out) {
  const asof_matcher<Key> matcher(options, tolerance, out);
  for_each_run_piece(backend, left, [&](std::uint32_t group, std::size_t first, std::size_t last) {
    matcher.match(group_of(group), left, first, last);
  });
}

/// no_row for all left rows, if some of them do not take part in the join.
template <class Key>
void fill_unmatched(const cpu_backend& backend, const clean_rows<Key>& left, std::span<row_number> out) {
  if (left.is_complete) return;
  backend.for_each_chunk(out.size(), piece_rows, [&](std::size_t first, std::size_t last) {
    std::fill(out.data() + first, out.data() + last, no_row);
  });
}

}  // namespace espalier::join_detail
