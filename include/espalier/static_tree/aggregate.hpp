// aggregate.hpp - sum, min, max and avg over ranks [begin, end) in O(log n), whatever the length.
//
//   integers, sum   exact prefix sums per block of lines; a range sum is a difference. Summands of up to 32 bits are
//                   added in 64 bits modulo 2^64, which is exact below 2^32 elements; 64-bit summands in 128 bits.
//   floats, sum     a 16-ary tree of block sums in double. Prefix sums would subtract two large numbers: a range of
//                   small values far from large ones would lose all its digits. Here only elements of the range are
//                   added: the error is at most (30 log16(n) + 2 block) * 2^-53 * sum of |x|.
//   min, max        16-ary trees of block minima and maxima of order-preserving words; NaN is the largest value.
//
// A set aggregates its keys; its minima and maxima are the ends of the range and need no tree.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "espalier/static_tree/jobs.hpp"
#include "espalier/static_tree/layout.hpp"

namespace espalier {

template <class Word, unsigned ValueBytes>
struct aggregate_shape {
  static constexpr unsigned summand_bytes = ValueBytes == 0 ? sizeof(Word) : ValueBytes;
  using word = std::conditional_t<summand_bytes == 8, std::uint64_t, std::uint32_t>;
  using sum = std::conditional_t<summand_bytes == 8, int128, std::uint64_t>;
  static constexpr unsigned fanout = 16;

  // The smallest blocks for which sums take at most 1/8, and minima plus maxima at most 1/16, of the bytes of the
  // lines.
  static constexpr unsigned line_bytes = tree_shape<Word, ValueBytes>::line_bytes;
  static constexpr unsigned keys_per_line = tree_shape<Word, ValueBytes>::keys_per_line;
  static constexpr unsigned sum_block = keys_per_line * ((sizeof(sum) * 8 + line_bytes - 1) / line_bytes);
  static constexpr unsigned bound_block = keys_per_line * ((sizeof(word) * 32 + line_bytes - 1) / line_bytes);

  /// Number of nodes on all levels of a tree over `leaves` blocks.
  static ESPALIER_HD constexpr std::uint64_t tree_nodes(std::uint64_t leaves) {
    std::uint64_t nodes = leaves;
    while (leaves > 1) nodes += leaves = (leaves + fanout - 1) / fanout;
    return nodes;
  }
};

/// Sum in double, for a tree of block sums.
struct add_doubles {
  using type = double;
  static ESPALIER_INLINE double identity() { return 0; }
  static ESPALIER_INLINE double combine(double a, double b) { return a + b; }
};
template <class Word>
struct smaller_word {
  using type = Word;
  static ESPALIER_INLINE Word identity() { return std::numeric_limits<Word>::max(); }
  static ESPALIER_INLINE Word combine(Word a, Word b) { return b < a ? b : a; }
};
template <class Word>
struct larger_word {
  using type = Word;
  static ESPALIER_INLINE Word identity() { return 0; }
  static ESPALIER_INLINE Word combine(Word a, Word b) { return a < b ? b : a; }
};

template <class Word, unsigned ValueBytes>
struct aggregator {
  using view = tree_view<Word, ValueBytes>;
  using shape = aggregate_shape<Word, ValueBytes>;
  using word = typename shape::word;
  using sum_type = typename shape::sum;

  // ---- one element ----------------------------------------------------------------------------------------
  static ESPALIER_INLINE scalar_kind kind_of(const view& t) { return ValueBytes == 0 ? t.key : t.value; }
  static ESPALIER_INLINE word bits_at(const view& t, std::uint64_t rank) {
    if constexpr (ValueBytes == 0) {
      return decode_bits(t.key, t.key_at(rank));
    } else {
      return t.value_at(rank);
    }
  }
  static ESPALIER_INLINE word word_at(const view& t, std::uint64_t rank) {
    return encode_bits(kind_of(t), bits_at(t, rank));
  }
  static ESPALIER_INLINE double double_at(const view& t, std::uint64_t rank) {
    return double_of(kind_of(t), bits_at(t, rank));
  }
  static ESPALIER_INLINE sum_type integer_at(const view& t, std::uint64_t rank) {
    return integer_of(kind_of(t), bits_at(t, rank));
  }
  static ESPALIER_INLINE double double_of(scalar_kind kind, word bits) {
    if (sizeof(word) == 8 && kind == scalar_kind::f64) {
      double d;
      memcpy(&d, &bits, 8);
      return d;
    }
    const auto low = static_cast<std::uint32_t>(bits);
    float f;
    memcpy(&f, &low, 4);
    return f;
  }
  static ESPALIER_INLINE sum_type integer_of(scalar_kind kind, word bits) {
    switch (kind) {
      case scalar_kind::i8:
        return static_cast<sum_type>(static_cast<std::int8_t>(bits));
      case scalar_kind::i16:
        return static_cast<sum_type>(static_cast<std::int16_t>(bits));
      case scalar_kind::i32:
        return static_cast<sum_type>(static_cast<std::int32_t>(bits));
      case scalar_kind::i64:
        return static_cast<sum_type>(static_cast<std::int64_t>(bits));
      default:
        return static_cast<sum_type>(bits);
    }
  }

  // ---- ranges ---------------------------------------------------------------------------------------------
  /// Returns the sum of all elements before `rank`.
  static ESPALIER_INLINE sum_type prefix(const view& t, std::uint64_t rank) {
    const std::uint64_t block = rank / shape::sum_block;
    sum_type sum = static_cast<const sum_type*>(t.aggregate.prefix)[block];
    for (std::uint64_t r = block * shape::sum_block; r < rank; ++r) sum += integer_at(t, r);
    return sum;
  }

  static constexpr unsigned slots = view::shape::keys_per_line, lines_per_sum = shape::sum_block / slots;
  /// Returns the sum of all elements before the block of a line.
  static ESPALIER_INLINE sum_type prefix_of_block(const view& t, std::uint64_t line) {
    return static_cast<const sum_type*>(t.aggregate.prefix)[line / lines_per_sum];
  }
  /// Returns the sum of all elements before a slot of a line; the caller has loaded the line's summands and the prefix
  /// of its block.
  template <class Team, class Summands>
  static ESPALIER_INLINE sum_type sum_before(Team team, const view& t, std::uint64_t line, unsigned slot,
                                             const Summands& summands, sum_type prefix) {
    for (std::uint64_t l = line / lines_per_sum * lines_per_sum; l < line; ++l) {
      const auto all = summands_of(team, t, l);
      for (unsigned j = 0; j < slots; ++j) prefix += integer_of_summand(t, team.get(all, j));
    }
    for (unsigned j = 0; j < slots; ++j) {
      const sum_type x = integer_of_summand(t, team.get(summands, j));
      if (j < slot) prefix += x;
    }
    return prefix;
  }
  /// The summands of a set are its keys, which are encoded.
  static ESPALIER_INLINE sum_type integer_of_summand(const view& t, word summand) {
    if constexpr (ValueBytes == 0) summand = decode_bits(t.key, summand);
    return integer_of(kind_of(t), summand);
  }
  template <class Team>
  static ESPALIER_INLINE auto summands_of(Team team, const view& t, std::uint64_t line) {
    if constexpr (ValueBytes == 0) {
      return team.template view<slots>(t.line_keys(line));
    } else {
      return team.template view<slots>(t.line_values(line));
    }
  }

  template <class Op, unsigned Block, class Element>
  static ESPALIER_INLINE typename Op::type over(const typename Op::type* level, std::uint64_t leaves,
                                                std::uint64_t begin, std::uint64_t end, Element element) {
    auto total = Op::identity();
    std::uint64_t low = (begin + Block - 1) / Block, high = end / Block;
    if (low >= high) {  // no whole block
      for (std::uint64_t r = begin; r < end; ++r) total = Op::combine(total, element(r));
      return total;
    }
    for (std::uint64_t r = begin; r < low * Block; ++r) total = Op::combine(total, element(r));
    for (std::uint64_t r = high * Block; r < end; ++r) total = Op::combine(total, element(r));
    // Invariant: blocks [low, high) of `level` are still to be added. Only complete groups of `fanout` siblings are
    // left to the next level.
    for (std::uint64_t size = leaves;; size = (size + shape::fanout - 1) / shape::fanout) {
      const std::uint64_t up_low = (low + shape::fanout - 1) / shape::fanout, up_high = high / shape::fanout;
      if (up_low >= up_high) {
        for (; low < high; ++low) total = Op::combine(total, level[low]);
        return total;
      }
      for (; low < up_low * shape::fanout; ++low) total = Op::combine(total, level[low]);
      for (--high; high >= up_high * shape::fanout; --high) total = Op::combine(total, level[high]);
      low = up_low;
      high = up_high;
      level += size;
    }
  }

  static ESPALIER_INLINE double float_sum(const view& t, std::uint64_t begin, std::uint64_t end) {
    return over<add_doubles, shape::sum_block>(t.aggregate.sums, t.aggregate.sum_blocks, begin, end,
                                               [&t](std::uint64_t r) { return double_at(t, r); });
  }
  template <class Op>
  static ESPALIER_INLINE word bound(const view& t, const void* tree, std::uint64_t begin, std::uint64_t end) {
    return over<Op, shape::bound_block>(static_cast<const word*>(tree), t.aggregate.bound_blocks, begin, end,
                                        [&t](std::uint64_t r) { return word_at(t, r); });
  }

  /// Prefetches what `answer` reads first at both ends of a range.
  template <class Team>
  static ESPALIER_INLINE void prefetch(Team team, const aggregate_job<Word, ValueBytes>& job, std::uint64_t begin,
                                       std::uint64_t end) {
    const auto& a = job.tree.aggregate;
    for (const std::uint64_t rank : {begin, end}) {
      if (a.prefix != nullptr) team.prefetch(static_cast<const sum_type*>(a.prefix) + rank / shape::sum_block);
      if (a.sums != nullptr) team.prefetch(a.sums + rank / shape::sum_block);
      if (a.minima == nullptr) continue;
      if (job.op == detail::aggregate_op::min)
        team.prefetch(static_cast<const word*>(a.minima) + rank / shape::bound_block);
      if (job.op == detail::aggregate_op::max)
        team.prefetch(static_cast<const word*>(a.maxima) + rank / shape::bound_block);
    }
  }

  // ---- answers --------------------------------------------------------------------------------------------
  static ESPALIER_INLINE double to_double(sum_type sum, bool is_signed) {
    if constexpr (sizeof(sum_type) == 16) {  // converts the halves, because not every device compiler converts 128 bits
      const bool negative = sum < 0;
      const auto magnitude = static_cast<uint128>(negative ? -sum : sum);
      const double d = static_cast<double>(static_cast<std::uint64_t>(magnitude >> 64)) * 18446744073709551616.0 +
                       static_cast<double>(static_cast<std::uint64_t>(magnitude));
      return negative ? -d : d;
    } else {
      return is_signed ? static_cast<double>(static_cast<std::int64_t>(sum)) : static_cast<double>(sum);
    }
  }

  static ESPALIER_INLINE void answer(const aggregate_job<Word, ValueBytes>& job, std::uint64_t begin, std::uint64_t end,
                                     std::size_t i) {
    if constexpr (ValueBytes != 16) {
      const view& t = job.tree;
      const scalar_kind kind = kind_of(t);
      const bool floats = kind == scalar_kind::f32 || kind == scalar_kind::f64;
      if (job.found != nullptr) job.found[i] = begin < end ? 1 : 0;
      if (job.op == detail::aggregate_op::min || job.op == detail::aggregate_op::max) {
        const bool smallest = job.op == detail::aggregate_op::min;
        word result = 0;
        if (begin < end) {
          if constexpr (ValueBytes == 0) {  // the elements of a set are its keys, and those ascend
            result = bits_at(t, smallest ? begin : end - 1);
          } else {
            result = decode_bits(kind, smallest ? bound<smaller_word<word>>(t, t.aggregate.minima, begin, end)
                                                : bound<larger_word<word>>(t, t.aggregate.maxima, begin, end));
          }
        }
        store_bits(kind, job.out, i, result);
        return;
      }
      if (floats) {
        const double sum = float_sum(t, begin, end);
        if (job.op == detail::aggregate_op::sum) static_cast<double*>(job.out)[i] = sum;
        answer_mean(job, sum, begin, end, i);
      } else {
        answer_integers(job, begin < end ? static_cast<sum_type>(prefix(t, end) - prefix(t, begin)) : sum_type{0},
                        begin, end, i);
      }
    }
  }
  static ESPALIER_INLINE bool sums_integers(const aggregate_job<Word, ValueBytes>& job) {
    const scalar_kind kind = kind_of(job.tree);
    return (job.op == detail::aggregate_op::sum || job.op == detail::aggregate_op::avg) && kind != scalar_kind::f32 &&
           kind != scalar_kind::f64;
  }
  /// Answers for the sum of integers, or for their mean.
  static ESPALIER_INLINE void answer_integers(const aggregate_job<Word, ValueBytes>& job, sum_type exact,
                                              std::uint64_t begin, std::uint64_t end, std::size_t i) {
    if (job.op == detail::aggregate_op::sum) static_cast<sum_type*>(job.out)[i] = exact;
    const scalar_kind kind = kind_of(job.tree);
    const bool is_signed = kind == scalar_kind::i8 || kind == scalar_kind::i16 || kind == scalar_kind::i32;
    answer_mean(job, to_double(exact, is_signed), begin, end, i);
  }
  static ESPALIER_INLINE void answer_mean(const aggregate_job<Word, ValueBytes>& job, double sum, std::uint64_t begin,
                                          std::uint64_t end, std::size_t i) {
    if (job.op != detail::aggregate_op::avg) return;
    static_cast<double*>(job.out)[i] =
        begin < end ? sum / static_cast<double>(end - begin) : std::numeric_limits<double>::quiet_NaN();
  }
};

}  // namespace espalier
