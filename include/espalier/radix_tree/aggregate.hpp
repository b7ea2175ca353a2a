// aggregate.hpp - sum, min, max and avg over ranks [begin, end) of a radix tree in O(log n), whatever the length.
//
// The leaves of a range are a contiguous slice of the leaves in key order, so blocks of leaves are aggregated
// beforehand, as in the static tree (static_tree/aggregate.hpp gives the reasons): integers by exact prefix sums per
// block; floats by a 16-ary tree of block sums in double; minima and maxima by 16-ary trees of order-preserving words,
// where NaN is the largest. A query reads the leaves at both ends of its range, fewer than two blocks of them, and
// block aggregates for the rest. Block aggregates may be missing (src/radix_tree/block_summaries.hpp): then a query
// reads all leaves of its range.
#pragma once

#include <cstdint>
#include <limits>

#include "espalier/radix_tree/view.hpp"
#include "espalier/static_tree/aggregate.hpp"

namespace espalier {

/// Block aggregates. A null pointer means that the aggregate is missing.
struct block_summaries {
  /// Ranks per block. With 32, all aggregates take 0.25 + 0.27 bytes per key for values of 4 bytes and 0.5 + 0.53 for
  /// values of 8 bytes (floats: 0.27 + 0.27, 0.27 + 0.53), and a query reads 32 leaves at its ends on average.
  static constexpr unsigned block = 32;
  std::uint64_t blocks = 0;
  const void* prefix = nullptr;  ///< integers: the sum of all elements before each block
  const void* sums = nullptr;    ///< floats: a tree of doubles
  const void* minima = nullptr;  ///< trees of words
  const void* maxima = nullptr;
};

/// Aggregates over ranks [begins[i], begins[i] + counts[i]).
template <unsigned V>
struct radix_aggregate_job {
  radix_view<V> tree;
  block_summaries kept;
  detail::aggregate_op op = detail::aggregate_op::sum;
  const std::uint64_t* begins = nullptr;
  const std::uint64_t* counts = nullptr;
  void* out = nullptr;
  std::uint8_t* found = nullptr;
};

template <unsigned V>
struct radix_aggregator {
  static_assert(V == 4 || V == 8, "what has another size is no number");
  using view = radix_view<V>;
  using values = aggregator<std::uint64_t, V>;
  using shape = typename values::shape;
  using word = typename values::word;
  using sum_type = typename values::sum_type;

  // ---- one element -------------------------------------------------------------------------------------------
  static ESPALIER_INLINE word bits_at(const view& t, std::uint64_t rank) { return *t.value_of(t.leaf_at(rank)); }
  static ESPALIER_INLINE word word_at(const view& t, std::uint64_t rank) {
    return encode_bits(t.value_kind, bits_at(t, rank));
  }
  static ESPALIER_INLINE double double_at(const view& t, std::uint64_t rank) {
    return values::double_of(t.value_kind, bits_at(t, rank));
  }
  static ESPALIER_INLINE sum_type integer_at(const view& t, std::uint64_t rank) {
    return values::integer_of(t.value_kind, bits_at(t, rank));
  }

  // ---- ranges ------------------------------------------------------------------------------------------------
  static ESPALIER_INLINE sum_type exact_between(const view& t, std::uint64_t begin, std::uint64_t end) {
    sum_type sum = 0;
    for (std::uint64_t r = begin; r < end; ++r) sum += integer_at(t, r);
    return sum;
  }
  /// Returns the sum of all elements before `rank`.
  static ESPALIER_INLINE sum_type exact_before(const view& t, const void* prefix, std::uint64_t rank) {
    const std::uint64_t at = rank / block_summaries::block;
    return static_cast<sum_type>(static_cast<const sum_type*>(prefix)[at] +
                                 exact_between(t, at * block_summaries::block, rank));
  }
  static ESPALIER_INLINE sum_type exact_sum(const view& t, const block_summaries& kept, std::uint64_t begin,
                                            std::uint64_t end) {
    if (kept.prefix == nullptr || end - begin < block_summaries::block) return exact_between(t, begin, end);
    return static_cast<sum_type>(exact_before(t, kept.prefix, end) - exact_before(t, kept.prefix, begin));
  }
  template <class Op, class Element>
  static ESPALIER_INLINE typename Op::type over(const block_summaries& kept, const void* tree, std::uint64_t begin,
                                                std::uint64_t end, Element element) {
    if (tree != nullptr)
      return values::template over<Op, block_summaries::block>(static_cast<const typename Op::type*>(tree), kept.blocks,
                                                               begin, end, element);
    auto total = Op::identity();
    for (std::uint64_t r = begin; r < end; ++r) total = Op::combine(total, element(r));
    return total;
  }
  static ESPALIER_INLINE double float_sum(const view& t, const block_summaries& kept, std::uint64_t begin,
                                          std::uint64_t end) {
    return over<add_doubles>(kept, kept.sums, begin, end, [&t](std::uint64_t r) { return double_at(t, r); });
  }
  template <class Op>
  static ESPALIER_INLINE word bound(const view& t, const block_summaries& kept, const void* tree, std::uint64_t begin,
                                    std::uint64_t end) {
    return over<Op>(kept, tree, begin, end, [&t](std::uint64_t r) { return word_at(t, r); });
  }

  // ---- answers -----------------------------------------------------------------------------------------------
  static ESPALIER_INLINE void answer(const radix_aggregate_job<V>& job, std::size_t i) {
    const view& t = job.tree;
    const scalar_kind kind = t.value_kind;
    const std::uint64_t begin = job.begins[i], end = begin + job.counts[i];
    const bool some = begin < end;
    if (job.found != nullptr) job.found[i] = some ? 1 : 0;
    if (job.op == detail::aggregate_op::min || job.op == detail::aggregate_op::max) {
      word result = 0;
      if (some)
        result = decode_bits(kind, job.op == detail::aggregate_op::min
                                       ? bound<smaller_word<word>>(t, job.kept, job.kept.minima, begin, end)
                                       : bound<larger_word<word>>(t, job.kept, job.kept.maxima, begin, end));
      store_bits(kind, job.out, i, result);
      return;
    }
    double sum = 0;
    if (kind == scalar_kind::f32 || kind == scalar_kind::f64) {
      sum = some ? float_sum(t, job.kept, begin, end) : 0.0;
      if (job.op == detail::aggregate_op::sum) static_cast<double*>(job.out)[i] = sum;
    } else {
      const sum_type exact = some ? exact_sum(t, job.kept, begin, end) : sum_type{0};
      if (job.op == detail::aggregate_op::sum) static_cast<sum_type*>(job.out)[i] = exact;
      const bool is_signed = kind == scalar_kind::i8 || kind == scalar_kind::i16 || kind == scalar_kind::i32;
      sum = values::to_double(exact, is_signed);
    }
    if (job.op == detail::aggregate_op::avg)
      static_cast<double*>(job.out)[i] =
          some ? sum / static_cast<double>(end - begin) : std::numeric_limits<double>::quiet_NaN();
  }
};

}  // namespace espalier
