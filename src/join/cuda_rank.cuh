// cuda_rank.cuh - ranks of the queries of a thread block in sorted words.
//
// A block finds the window of the words that holds all its ranks, from the least and the greatest of its queries: short
// if the queries are near each other, as those of sorted sides are. It stages in shared memory the window, or, if that
// is longer than `capacity`, the last word of each of up to `capacity` equal stretches. Each thread searches its
// queries there, all of them in step, and then within one stretch in global memory. So no order of the queries is
// needed, nothing depends on how ranks are distributed over blocks, and a block of random queries saves 11 of its
// accesses to global memory.
#pragma once

#include <cstdint>

#include "espalier/join/column.hpp"
#include "join/packed_words.hpp"

namespace espalier::join_detail {

inline constexpr unsigned rank_threads = 256;
inline constexpr unsigned rank_items = 4;  // queries per thread
inline constexpr unsigned rank_tile = rank_threads * rank_items;

/// n sorted words in the memory of the GPU.
template <class Word>
struct sorted_words {
  const Word* raw = nullptr;
  row_number n = 0;
  word_reader<Word> read;

  __device__ Word operator()(row_number at) const { return read(raw[at]); }
};

template <class Word>
__device__ Word shuffle_xor(Word x, unsigned lanes) {
  if constexpr (sizeof(Word) == 16) {
    const auto high = __shfl_xor_sync(0xffffffffu, static_cast<unsigned long long>(x >> 64), lanes);
    const auto low = __shfl_xor_sync(0xffffffffu, static_cast<unsigned long long>(x), lanes);
    return (static_cast<Word>(high) << 64) | low;
  } else {
    return __shfl_xor_sync(0xffffffffu, x, lanes);
  }
}

template <class Word>
class block_ranker {
  static constexpr unsigned warps = rank_threads / 32;

 public:
  static constexpr unsigned capacity = 16384 / sizeof(Word);
  struct storage {
    Word sample[capacity];
    Word least[warps], most[warps];
    row_number first, last;
  };

  __device__ block_ranker(storage& shared, const sorted_words<Word>& words) : shared_(shared), words_(words) {}

  /// All threads of the block call this. Queries that are not active get an unspecified rank.
  __device__ void rank(const rank_query<Word> (&queries)[rank_items], const bool (&is_active)[rank_items],
                       row_number (&ranks)[rank_items]) const {
    Word least = static_cast<Word>(~Word{0}), most = 0;
#pragma unroll
    for (unsigned k = 0; k < rank_items; ++k) {
      if (!is_active[k] || queries[k].is_all) continue;
      least = queries[k].word < least ? queries[k].word : least;
      most = queries[k].word > most ? queries[k].word : most;
    }
    const bool has_window = find_window(least, most);
    const row_number first = has_window ? shared_.first : 0, last = has_window ? shared_.last : 0;
    const row_number width = last - first;
    const row_number stride = width <= capacity ? 1 : (width - 1) / capacity + 1;
    const row_number samples = width / stride;
    for (row_number k = threadIdx.x; k < samples; k += rank_threads) {
      shared_.sample[k] = words_(first + (k + 1) * stride - 1);
    }
    __syncthreads();
    row_number at[rank_items] = {};
    for (row_number n = samples; n > 0; n -= (n + 1) / 2) {
      const row_number half = (n + 1) / 2;
#pragma unroll
      for (unsigned k = 0; k < rank_items; ++k) {
        // The last step of some queries may look one word beyond: it is not before them if there is one.
        const row_number probe = at[k] + half - 1;
        at[k] += probe < samples && shared_.sample[probe] < queries[k].word ? half : 0;
      }
    }
#pragma unroll
    for (unsigned k = 0; k < rank_items; ++k) at[k] = first + at[k] * stride;
    for (row_number n = stride - 1; n > 0; n -= (n + 1) / 2) {
      const row_number half = (n + 1) / 2;
#pragma unroll
      for (unsigned k = 0; k < rank_items; ++k) {
        const row_number rest = last - at[k];
        at[k] += half <= rest && words_(at[k] + half - 1) < queries[k].word ? half : 0;
      }
    }
#pragma unroll
    for (unsigned k = 0; k < rank_items; ++k) ranks[k] = queries[k].is_all ? words_.n : at[k];
  }

 private:
  /// Returns, in all threads alike, whether there is an active query; then shared_.first and shared_.last are set.
  __device__ bool find_window(Word least, Word most) const {
#pragma unroll
    for (unsigned lanes = 16; lanes > 0; lanes /= 2) {
      const Word other_least = shuffle_xor(least, lanes), other_most = shuffle_xor(most, lanes);
      least = other_least < least ? other_least : least;
      most = other_most > most ? other_most : most;
    }
    __syncthreads();  // an earlier call has read the shared memory
    const unsigned warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (lane == 0) {
      shared_.least[warp] = least;
      shared_.most[warp] = most;
    }
    __syncthreads();
    for (unsigned w = 0; w < warps; ++w) {
      least = shared_.least[w] < least ? shared_.least[w] : least;
      most = shared_.most[w] > most ? shared_.most[w] : most;
    }
    if (least > most) return false;
    if (warp < 2) {
      const row_number found = warp_rank(warp == 0 ? least : most);
      if (lane == 0) (warp == 0 ? shared_.first : shared_.last) = found;
    }
    __syncthreads();
    return true;
  }

  /// The rank of one word, by all lanes of a warp: each step cuts the range into 33.
  __device__ row_number warp_rank(Word q) const {
    const row_number lane = threadIdx.x % 32;
    row_number first = 0, count = words_.n;
    while (count > 0) {
      const row_number step = count / 33 + 1, probe = (lane + 1) * step - 1;
      const bool is_before = probe < count && words_(first + probe) < q;
      const auto taken = static_cast<row_number>(__popc(__ballot_sync(0xffffffffu, is_before))) * step;
      first += taken;
      count = min(step - 1, count - taken);
    }
    return first;
  }

  storage& shared_;
  const sorted_words<Word>& words_;
};

}  // namespace espalier::join_detail
