// cuda_query_order.cuh - an order of left rows in which the queries of a block are near each other.
//
// Random queries in a right side that does not fit the L2 cache read four or five sectors of memory each. Left rows are
// therefore put in the order of the leading bits of their queries: two passes of a radix sort over pairs of 8 bytes,
// after which the window of a block is short. This changes no answer, so it is decided by a sample of the left side.
#pragma once

#include "join/cuda_side.cuh"

namespace espalier::join_detail {

inline constexpr unsigned leading_bits = 16;

template <class Word>
[[nodiscard]] __device__ unsigned bit_width_of(Word x) {
  if constexpr (sizeof(Word) == 16) {
    const auto high = static_cast<std::uint64_t>(x >> 64);
    return high != 0 ? 64 + bit_width_of(high) : bit_width_of(static_cast<std::uint64_t>(x));
  } else {
    return 64u - static_cast<unsigned>(__clzll(static_cast<long long>(static_cast<std::uint64_t>(x))));
  }
}

/// The leading bits of a query among words in which bits above differ nowhere.
template <class Word>
[[nodiscard]] __device__ std::uint32_t leading_bits_of(const sorted_words<Word>& words, Word query) {
  const Word least = words(0), most = words(words.n - 1);
  const unsigned width = bit_width_of(static_cast<Word>(least ^ most));
  const Word near = query < least ? least : query > most ? most : query;
  return static_cast<std::uint32_t>(near >> (width <= leading_bits ? 0 : width - leading_bits)) &
         ((1u << leading_bits) - 1);
}

/// Whether left rows are worth an order: there are many, in no order, and words beyond the cache.
template <class KeyWord, class Word>
[[nodiscard]] bool wants_query_order(const cuda_backend& backend, const stream& order, const side_rows<KeyWord>& left,
                                     const join_side& side, const sorted_words<Word>& words) {
  constexpr std::size_t least_rows = std::size_t{1} << 18, sample = std::size_t{1} << 16;
  if (left.n < least_rows || words.n * sizeof(Word) < backend.l2_bytes() / 4) return false;
  if (side.order == row_order::sorted || (side.order == row_order::sorted_in_groups && left.codes == nullptr)) {
    return false;
  }
  return facts_of(backend, order, left.part(0, sample), side.groups).descents > sample / 8;
}

/// The order: position p of it is left row result[p]. `query(group, key)` is a rank_query.
template <class KeyWord, class Word, class Query>
[[nodiscard]] buffer<row_number> order_of_queries(const cuda_backend& backend, const stream& order,
                                                  const side_rows<KeyWord>& left, const sorted_words<Word>& words,
                                                  const Query& query) {
  const std::size_t n = left.n;
  raw_buffer leading(backend.get_device(), n * sizeof(std::uint32_t), order);
  buffer<row_number> rows(backend.get_device(), n, order);
  auto* const bits = static_cast<std::uint32_t*>(leading.data());
  row_number* const row = rows.data();
  backend.for_each(order, n, [=] __device__(std::size_t i) {
    row[i] = static_cast<row_number>(i);
    bits[i] = left.can_match(i) ? leading_bits_of(words, query(left.group(i), left.read(left.keys[i])).word) : 0;
  });
  sort_words<std::uint32_t>(backend, order, n, 0, leading_bits, leading, rows);
  return rows;
}

}  // namespace espalier::join_detail
