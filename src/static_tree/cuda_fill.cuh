// cuda_fill.cuh - copies the elements of ranges on a GPU: each warp writes a fixed piece of the outputs, whatever the
// lengths of the ranges are.
//
// Invariants:
// (1) Tile i is positions [i * tile, (i + 1) * tile) of the outputs. Its warp writes these positions and no others, so
//     the work of a warp does not depend on how the elements are divided into ranges.
// (2) Position p belongs to the last range q with offsets[q] <= p. first[i] is the range of the first position of tile
//     i. Ranges from it on are taken in rounds of 32, one per lane: a lane finds the first element of its range if the
//     range has a position in the tile, and then all lanes copy the positions of the round, one each, so that the warp
//     writes whole sectors.
// (3) The offsets are the caller's. A position at or behind offsets[queries] or the capacity is not written, nor one
//     whose element the tree does not have. Every round either passes a position or is the last one.
#pragma once

#include <algorithm>

#include "espalier/device/cuda.cuh"
#include "espalier/static_tree/run.hpp"
#include "espalier/team/tile.cuh"

namespace espalier::detail {

/// first[i] = range of position i * tile.
struct find_first_ranges {
  const std::uint64_t* offsets;
  std::uint64_t queries;
  unsigned tile;
  std::uint64_t* first;

  [[nodiscard]] static __device__ __forceinline__ std::uint64_t range_of(const std::uint64_t* offsets,
                                                                         std::uint64_t first, std::uint64_t end,
                                                                         std::uint64_t position) {
    while (end - first > 1) {
      const std::uint64_t middle = first + (end - first) / 2;
      if (offsets[middle] <= position) {
        first = middle;
      } else {
        end = middle;
      }
    }
    return first;
  }
  __device__ __forceinline__ void operator()(std::size_t i) const {
    first[i] = range_of(offsets, 0, queries, i * tile);
  }
};

/// Plain: both outputs are wanted, and keys and values have the types that the tree stores.
template <class Word, unsigned V, bool Plain>
struct warp_fill {
  /// Loads in flight per lane and array. Four are as fast with lines of 64-bit keys and 8 % slower with 32-bit ones,
  /// because of the registers.
  static constexpr unsigned at_once = 2;
  static constexpr unsigned lanes = 32;
  using team = tile<lanes>;

  fill_job<Word, V> job;
  const std::uint64_t* first;
  unsigned tile_size;

  __device__ __forceinline__ void operator()(team, std::size_t i) const {
    const tile_group<lanes> warp;
    const std::uint64_t written = job.offsets[job.queries];
    const std::uint64_t total = written < job.capacity ? written : job.capacity;
    const std::uint64_t base = i * tile_size;
    if (base >= total) return;
    const std::uint64_t end = total - base < tile_size ? total : base + tile_size;
    std::uint64_t query = first[i];
    bool passed = true;  // the last round has passed a position
    for (std::uint64_t at = base; at < end;) {
      const round r = begin_round(warp, query, base, at, end);
      if (r.end > at) {
        copy(warp, r, base, at);
        at = r.end;
        query += lanes;
        passed = true;
      } else if (passed) {  // 32 empty ranges
        query = find_first_ranges::range_of(job.offsets, query, job.queries, at);
        passed = false;
      } else {
        return;  // the offsets do not ascend
      }
    }
  }

 private:
  using one = tile<1>;
  static constexpr std::uint64_t nowhere = std::uint64_t{1} << 63;

  /// A lane's range of 32 consecutive ones.
  struct round {
    std::uint32_t begin;  ///< its first position from the tile's first one on; ascends from lane to lane
    std::uint64_t shift;  ///< element of position p: p + shift
    std::uint64_t end;    ///< end of the round, for all lanes
    bool is_one;          ///< all positions are those of the first lane's range
  };
  [[nodiscard]] __device__ __forceinline__ round begin_round(const tile_group<lanes>& warp, std::uint64_t query,
                                                             std::uint64_t base, std::uint64_t at,
                                                             std::uint64_t end) const {
    const std::uint64_t own = query + warp.rank();
    const bool is_range = own < job.queries;
    const std::uint64_t begin = is_range ? job.offsets[own] : end;
    const std::uint64_t next = is_range ? job.offsets[own + 1] : end;
    round r;
    r.begin = begin >= end ? ~0u : begin <= base ? 0 : static_cast<std::uint32_t>(begin - base);
    r.shift = nowhere;
    if (begin < end && next > at && next > begin) r.shift = rank_of(own) - begin;
    const std::uint64_t last = warp.from(next, lanes - 1);
    r.end = last < end ? last : end;
    r.is_one = warp.count_lanes(r.begin != ~0u) <= 1;
    return r;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint64_t rank_of(std::uint64_t query) const {
    if (job.starts != nullptr) return job.starts[query];
    const range_job<Word, V> range{job.tree, job.lo, nullptr, job.ends};
    return runner<one>::rank_of_end(one{}, range, query, false);
  }

  /// Copies positions [from, r.end).
  __device__ __forceinline__ void copy(const tile_group<lanes>& warp, const round& r, std::uint64_t base,
                                       std::uint64_t from) const {
    const auto begin = static_cast<std::uint32_t>(from - base), end = static_cast<std::uint32_t>(r.end - base);
    for (std::uint32_t step = begin / lanes * lanes; step < end; step += at_once * lanes) {
      std::uint64_t rank[at_once];
      bool is_there[at_once];
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k) {
        const std::uint32_t at = step + k * lanes + warp.rank();
        const std::uint64_t shift = r.is_one ? warp.from(r.shift, 0) : shift_of(warp, r, at);
        rank[k] = base + at + shift;
        is_there[k] = at >= begin && at < end && rank[k] < job.tree.size;
      }
      store(warp, base + step, rank, is_there);
    }
  }
  /// The shift of the last range that begins at or before position `at`.
  [[nodiscard]] static __device__ __forceinline__ std::uint64_t shift_of(const tile_group<lanes>& warp, const round& r,
                                                                         std::uint32_t at) {
    unsigned owner = 0;
#pragma unroll
    for (unsigned step = lanes / 2; step != 0; step /= 2) {
      if (warp.from(r.begin, owner + step) <= at) owner += step;
    }
    return warp.from(r.shift, owner);
  }
  __device__ __forceinline__ void store(const tile_group<lanes>& warp, std::uint64_t step, const std::uint64_t* rank,
                                        const bool* is_there) const {
    const auto& t = job.tree;
    if constexpr (Plain) {
      using value = typename value_raw<V>::type;
      Word keys[at_once];
      [[maybe_unused]] value values[at_once];
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k) {
        if (!is_there[k]) continue;
        keys[k] = t.key_at(rank[k]);
        if constexpr (V != 0) values[k] = t.value_at(rank[k]);
      }
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k) {
        if (!is_there[k]) continue;
        const std::uint64_t to = step + k * lanes + warp.rank();
        store_streaming(static_cast<Word*>(job.out_keys) + to, keys[k]);
        if constexpr (V == 16) {
          static_cast<value*>(job.out_values)[to] = values[k];
        } else if constexpr (V != 0) {
          store_streaming(static_cast<value*>(job.out_values) + to, values[k]);
        }
      }
    } else {
#pragma unroll
      for (unsigned k = 0; k < at_once; ++k) {
        if (!is_there[k]) continue;
        runner<one>::store_element(t, rank[k], true, step + k * lanes + warp.rank(), job.out_keys, job.out_values,
                                   nullptr);
      }
    }
  }
};

/// Positions per warp. Few positions are divided among more warps, since a warp may have to pass many empty ranges.
[[nodiscard]] inline unsigned fill_tile(std::uint64_t positions) {
  constexpr std::uint64_t lanes = 32, warps = 8192, most = 512;
  return static_cast<unsigned>(std::clamp(positions / warps / lanes * lanes, lanes, most));
}

/// Whether the outputs of a job are wanted and stored as they are in the tree.
template <class Word, unsigned V>
[[nodiscard]] bool is_plain(const fill_job<Word, V>& job) {
  if (job.out_keys == nullptr || (job.tree.key != scalar_kind::u32 && job.tree.key != scalar_kind::u64)) return false;
  if constexpr (V == 0) return true;
  return job.out_values != nullptr && job.tree.value_bytes == V &&
         reinterpret_cast<std::uintptr_t>(job.out_values) % alignof(typename value_raw<V>::type) == 0;
}

}  // namespace espalier::detail
