// answers.hpp - what an operation writes, as columns, whoever wrote it: the index, a peer, or the reference.
//
//   find, find-sorted   values, found      range          offsets, keys, values
//   contains            found              sum            sums (128-bit sums are two u64 each)
//   lower-bound         ranks              min, max       values, found
//   count, count-prefix counts             avg            means (NaN where a range is empty)
// A B-link tree has no ranks: its lower-bound writes keys, values, found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/data/byte_generators.hpp"
#include "bench/data/workload.hpp"
#include "bench/harness/cli_names.hpp"

namespace espalier::bench {

using answers = std::vector<column>;

/// Queries of one kind; those that are not used are null.
struct query_view {
  const query_set* points = nullptr;
  const range_set* ranges = nullptr;
  const byte_column* strings = nullptr;
  [[nodiscard]] std::size_t size() const {
    if (strings != nullptr) return strings->size();
    return points != nullptr ? points->size() : ranges != nullptr ? ranges->size() : 0;
  }
  /// Elements of all ranges together.
  [[nodiscard]] std::uint64_t elements() const;
};

/// Scalars that a sum over this type is stored as: one double, one 64-bit integer, or two words of 128 bits.
[[nodiscard]] scalar_kind sum_kind(scalar_kind summand);
[[nodiscard]] std::size_t sum_words(scalar_kind summand);

/// Uninitialised columns for the answers of `queries` queries that select `elements` elements.
[[nodiscard]] answers make_answers(operation op, const data_spec& spec, std::size_t queries, std::uint64_t elements);

/// Uninitialised columns of the same kinds and sizes.
[[nodiscard]] answers columns_like(const answers& from);

/// The right answers, computed from the sorted arrays without any index.
[[nodiscard]] answers expected_answers(operation op, const workload& data, const query_view& queries);

/// What a visit of all elements computes (element_checksum.hpp).
[[nodiscard]] std::uint64_t checksum_of(const workload& data);

/// The elements at or beside the queries (asks_neighbours), as columns keys, values, found.
[[nodiscard]] answers expected_neighbours(operation op, const workload& data, const query_set& queries);

/// The first difference among the answers to the first `queries` queries, as a sentence; nothing if they agree.
/// Sums of floats and means agree within a relative 1e-9, everything else bit by bit.
[[nodiscard]] std::optional<std::string> difference(operation op, const data_spec& spec, const query_view& input,
                                                    const answers& ours, const answers& theirs,
                                                    const std::string& their_name, std::size_t queries,
                                                    const std::string& our_name = "the index");

/// Throws wrong_answer if the answers to all queries are not the expected ones.
void require_right(operation op, const data_spec& spec, const query_view& input, const answers& ours,
                   const answers& expected);

/// Sum, mean, minimum or maximum of elements [first, last) of an array, added to a running result.
struct running_aggregate {
  int128 exact = 0;        ///< sum of integers
  double real = 0;         ///< sum of floats
  std::uint64_t best = 0;  ///< order-preserving word of the minimum or maximum
  std::uint64_t count = 0;
};
void accumulate(operation op, const column& values, std::uint64_t first, std::uint64_t last, running_aggregate& into);
/// The same for one scalar, given as its bits.
void accumulate_bits(operation op, scalar_kind kind, std::uint64_t bits, running_aggregate& into);
/// Writes a finished aggregate as answer `i`; `found` is used by min and max.
void store(operation op, scalar_kind summand, const running_aggregate& result, void* out, void* found, std::size_t i);

}  // namespace espalier::bench
