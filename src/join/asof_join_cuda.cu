// asof_join_cuda.cu - asof_join() on a GPU: the right side is put in order (cuda_side.cuh), then blocks of left rows
// find their ranks (cuda_rank.cuh) and write their matches.
#include "join/asof_rule.hpp"
#include "join/cuda_joins.hpp"
#include "join/cuda_query_order.cuh"
#include "join/cuda_side.cuh"
#include "join/keys.hpp"

namespace espalier::join_detail {

namespace {

/// Left row `sequence`[p], or p if it is null, is the one at position p of the blocks.
template <class KeyWord, class Word>
__global__ void __launch_bounds__(rank_threads)
    match_rows(const row_number* sequence, const side_rows<KeyWord> left, const sorted_words<Word> words,
               const row_number* right_rows, const asof_rule<KeyWord, Word> rule, row_number* out) {
  __shared__ typename block_ranker<Word>::storage shared;
  const block_ranker<Word> ranker(shared, words);
  const std::size_t first = std::size_t{blockIdx.x} * rank_tile + threadIdx.x;
  KeyWord keys[rank_items];
  std::uint32_t groups[rank_items];
  bool can_match[rank_items];
  rank_query<Word> queries[rank_items];
#pragma unroll
  for (unsigned k = 0; k < rank_items; ++k) {
    const std::size_t p = first + k * rank_threads;
    const bool is_row = p < left.n;
    const std::size_t i = is_row && sequence != nullptr ? sequence[p] : p;
    keys[k] = is_row ? left.read(load_streaming(left.keys + i)) : KeyWord{0};
    groups[k] = is_row ? left.group(i) : 0;
    can_match[k] = is_row && left.can_match(i);
    queries[k] = can_match[k] ? rule.query(groups[k], keys[k]) : rank_query<Word>{0, false};
  }
  row_number ranks[rank_items], second[rank_items];
  ranker.rank(queries, can_match, ranks);
  if (rule.needs_second_query()) {
#pragma unroll
    for (unsigned k = 0; k < rank_items; ++k) {
      if (can_match[k]) queries[k] = rule.second_query(groups[k], keys[k]);
    }
    ranker.rank(queries, can_match, second);
  } else {
#pragma unroll
    for (unsigned k = 0; k < rank_items; ++k) second[k] = ranks[k];
  }
#pragma unroll
  for (unsigned k = 0; k < rank_items; ++k) {
    const std::size_t p = first + k * rank_threads;
    if (p >= left.n) continue;
    row_number row = no_row;
    if (can_match[k]) row = rule.match(ranks[k], second[k], words.n, groups[k], keys[k], words);
    if (row != no_row && right_rows != nullptr) row = right_rows[row];
    out[sequence == nullptr ? p : sequence[p]] = row;
  }
}

template <class KeyWord, class Word>
struct query_of_rule {
  asof_rule<KeyWord, Word> rule;
  __device__ rank_query<Word> operator()(std::uint32_t group, KeyWord key) const { return rule.query(group, key); }
};

template <class KeyWord>
word_distances<KeyWord> distances_of(scalar_kind kind, const asof_options& options) {
  return with_key_type(kind, "asof_join()", [&](auto key) -> word_distances<KeyWord> {
    using Key = decltype(key);
    const tolerance_of<Key> tolerance(options.tolerance);
    if constexpr (std::is_floating_point_v<Key>) {
      return {true, tolerance.is_set(), 0, tolerance.limit()};
    } else {
      return {false, tolerance.is_set(), tolerance.limit(), 0};
    }
  });
}

template <class KeyWord>
void asof_of_word(const join_side& left_side, const join_side& right_side, std::span<row_number> rows,
                  const asof_options& options, const device& dev, const stream& order) {
  constexpr const char* call = "asof_join()";
  const cuda_backend backend(dev);
  const auto distances = distances_of<KeyWord>(left_side.on.kind, options);
  const gpu_side<KeyWord> right(dev, order, right_side), left(dev, order, left_side);
  const output_array<row_number> out(dev, order, rows.data(), rows.size());
  const std::size_t n = left_side.on.size;
  const bool is_copied = left.is_copy() || out.is_copy();
  join_copies copies(dev, order);
  right.fetch(copies, 0, right_side.on.size);
  const stream_event right_arrived = copies.arrived();
  std::vector<stream_event> arrived;
  for_each_copied_piece(n, is_copied, [&](std::size_t first, std::size_t last) {
    left.fetch(copies, first, last);
    arrived.push_back(copies.arrived());
  });
  order.wait_for(right_arrived);
  with_sorted_side<KeyWord>(call, backend, order, right, [&]<class Word>(const sorted_side<KeyWord, Word>& side) {
    const side_rows<KeyWord> left_rows = left.rows();
    if (left_rows.codes != nullptr) {
      order.wait_for(arrived.back());
      check_codes(call, "left", backend, order, left_rows, left_side.groups);
    }
    const asof_rule<KeyWord, Word> rule{side.packing, distances, options.direction, options.allow_exact_matches};
    order.wait_for(arrived.front());
    const bool is_ordered = wants_query_order(backend, order, left_rows, left_side, side.words);
    std::size_t piece = 0;
    for_each_copied_piece(n, is_copied, [&](std::size_t first, std::size_t last) {
      order.wait_for(arrived[piece++]);
      const side_rows<KeyWord> part = left_rows.part(first, last);
      buffer<row_number> sequence;
      if (is_ordered) {
        sequence = order_of_queries(backend, order, part, side.words, query_of_rule<KeyWord, Word>{rule});
      }
      const auto blocks = static_cast<unsigned>((last - first - 1) / rank_tile + 1);
      match_rows<<<blocks, rank_threads, 0, cuda_backend::native(order)>>>(sequence.data(), part, side.words, side.rows,
                                                                           rule, out.data() + first);
      detail::check_cuda(cudaGetLastError(), "match_rows");
      out.send(copies, first, last);
    });
  });
  copies.finish();
}

}  // namespace

void asof_join_on_gpu(const join_side& left, const join_side& right, std::span<row_number> rows,
                      const asof_options& options, const device& dev, const stream& s) {
  if (rows.empty()) return;
  if (right.on.size == 0) {
    if (dev.is_local(rows.data())) {
      dev.fill(rows.data(), 0xff, rows.size_bytes(), s);
      s.synchronize();
    } else {
      s.synchronize();
      std::fill(rows.begin(), rows.end(), no_row);
    }
    return;
  }
  if (with_key_type(left.on.kind, "asof_join()", [](auto key) { return sizeof(key); }) == 4) {
    asof_of_word<std::uint32_t>(left, right, rows, options, dev, s);
  } else {
    asof_of_word<std::uint64_t>(left, right, rows, options, dev, s);
  }
}

}  // namespace espalier::join_detail
