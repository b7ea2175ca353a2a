// cuda_rows.cuh - range_rows on a GPU: each lane finds the start of its row, then the warp copies all its rows.
//
// Rows of neighbouring lanes are contiguous in the output, so lanes that take one position each write whole sectors; a
// lane that copied its own row would write 8 bytes of each of 32 sectors. Reads are the same few lines per row either
// way.
#pragma once

#include "espalier/static_tree/run.hpp"
#include "espalier/team/tile.cuh"

namespace espalier::detail {

template <class Word, unsigned V>
struct warp_rows {
  static constexpr unsigned lanes = 32;
  using team = tile<lanes>;

  range_head_job<Word, V> job;
  std::size_t n;  ///< number of rows

  /// Processes rows [32 i, 32 i + 32).
  __device__ __forceinline__ void operator()(team, std::size_t i) const {
    const tile_group<lanes> warp;
    const std::size_t own = i * lanes + warp.rank();
    const row r = own < n ? begin(own) : row{0, 0, 0};
    const std::uint64_t count = job.limit < lanes ? copy_short(warp, i * lanes, r) : copy_long(warp, i * lanes, r);
    if (own < n) job.tell(own, count);
  }

 private:
  using one = tile<1>;
  using search = searcher<one, Word, V>;
  static_assert(one::batch == 1);

  struct row {
    std::uint64_t rank;    ///< rank of its first element
    std::uint64_t places;  ///< number of positions that it may fill: up to its limit and to the end of the tree
    Word most;             ///< largest key of the range
  };
  [[nodiscard]] __device__ __forceinline__ row begin(std::size_t i) const {
    using rows = rows_runner<one, runner<one>>;
    const auto& t = job.tree;
    typename rows::template row_batch<Word> b;
    rows::begin_rows(one{}, job, i, i + 1, b);
    const bool below = job.ends == interval::right_open || job.ends == interval::open;
    if (t.size == 0 || b.past[0] || (below && b.hi[0] == 0)) return {0, 0, 0};
    const std::uint64_t rank = search::rank_in(one{}, t, b.line[0], b.x[0]);
    const std::uint64_t left = rank < t.size ? t.size - rank : 0;
    return {rank, left < job.limit ? left : job.limit, static_cast<Word>(b.hi[0] - (below ? 1 : 0))};
  }
  /// Copies element `place` of a row to position `to` of the output, if it is in the range.
  [[nodiscard]] __device__ __forceinline__ bool copy(const row& r, std::uint64_t place, std::size_t to) const {
    if (place >= r.places) return false;
    const std::uint64_t rank = r.rank + place;
    if (job.tree.key_at(rank) > r.most) return false;
    runner<one>::store_element(job.tree, rank, true, to, job.out_keys, job.out_values, nullptr);
    return true;
  }
  [[nodiscard]] static __device__ __forceinline__ row from(const tile_group<lanes>& warp, const row& r, unsigned lane) {
    return {warp.from(r.rank, lane), warp.from(r.places, lane), warp.from(r.most, lane)};
  }

  /// Copies all positions of 32 contiguous rows, 32 at a time. Returns the number of elements of the lane's own row.
  [[nodiscard]] __device__ __forceinline__ unsigned copy_short(const tile_group<lanes>& warp, std::size_t first,
                                                               const row& r) const {
    const auto limit = static_cast<unsigned>(job.limit);
    const int own = static_cast<int>(warp.rank() * limit);
    unsigned count = 0;
    for (unsigned step = 0; step < limit; ++step) {
      const unsigned at = step * lanes + warp.rank(), of = at / limit;
      const unsigned in = warp.ballot(copy(from(warp, r, of), at - of * limit, first * limit + at));
      // Lanes that copied positions of this lane's row.
      const int begin = max(own - static_cast<int>(step * lanes), 0);
      const int end = min(own + static_cast<int>(limit) - static_cast<int>(step * lanes), static_cast<int>(lanes));
      if (begin < end) count += __popc((in >> begin) & (~0u >> (static_cast<int>(lanes) - (end - begin))));
    }
    return count;
  }
  /// Copies row by row, because a row may end long before its limit.
  [[nodiscard]] __device__ __forceinline__ std::uint64_t copy_long(const tile_group<lanes>& warp, std::size_t first,
                                                                   const row& r) const {
    std::uint64_t own = 0;
    for (unsigned of = 0; of < lanes; ++of) {
      const row now = from(warp, r, of);
      std::uint64_t count = 0;
      for (std::uint64_t place = warp.rank();; place += lanes) {
        const unsigned in = warp.count_lanes(copy(now, place, (first + of) * job.limit + place));
        count += in;
        if (in < lanes) break;
      }
      if (warp.rank() == of) own = count;
    }
    return own;
  }
};

}  // namespace espalier::detail
