// answers.hpp - the results of an operation as columns, for the index, a peer, or the reference.
//
//   find, find-sorted   values, found      range          offsets, keys, values
//   contains            found              sum            sums (128-bit sums are two u64 each)
//   lower-bound         ranks              min, max       values, found
//   count, count-prefix counts             avg            means (NaN where a range is empty)
// A B-link tree has no ranks; its lower-bound writes keys, values and found.
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

/// Queries of one kind; unused members are null.
struct query_view {
  const query_set* points = nullptr;
  const range_set* ranges = nullptr;
  const byte_column* strings = nullptr;
  [[nodiscard]] std::size_t size() const {
    if (strings != nullptr) return strings->size();
    return points != nullptr ? points->size() : ranges != nullptr ? ranges->size() : 0;
  }
  /// Returns the total number of elements of all ranges.
  [[nodiscard]] std::uint64_t elements() const;
};

/// Returns the scalar type of a sum over this type: one double, one 64-bit integer, or two words of 128 bits.
[[nodiscard]] scalar_kind sum_kind(scalar_kind summand);
[[nodiscard]] std::size_t sum_words(scalar_kind summand);

/// Returns uninitialised columns for the results of `queries` queries that select `elements` elements.
[[nodiscard]] answers make_answers(operation op, const data_spec& spec, std::size_t queries, std::uint64_t elements);

/// Returns uninitialised columns of the same kinds and sizes.
[[nodiscard]] answers columns_like(const answers& from);

/// Returns the expected results, computed from the sorted arrays without any index.
[[nodiscard]] answers expected_answers(operation op, const workload& data, const query_view& queries);

/// Returns the expected checksum of a visit of all elements (element_checksum.hpp).
[[nodiscard]] std::uint64_t checksum_of(const workload& data);

/// Returns the elements at or next to the queries (asks_neighbours), as columns keys, values, found.
[[nodiscard]] answers expected_neighbours(operation op, const workload& data, const query_set& queries);

/// Returns the first difference among the results of the first `queries` queries as a sentence, or nothing if they
/// agree. Sums of floats and means agree within a relative 1e-9, everything else bit by bit.
[[nodiscard]] std::optional<std::string> difference(operation op, const data_spec& spec, const query_view& input,
                                                    const answers& ours, const answers& theirs,
                                                    const std::string& their_name, std::size_t queries,
                                                    const std::string& our_name = "the index");

/// Throws wrong_answer unless all results are as expected.
void require_right(operation op, const data_spec& spec, const query_view& input, const answers& ours,
                   const answers& expected);

/// Adds the sum, mean, minimum or maximum of elements [first, last) of an array to a running result.
struct running_aggregate {
  int128 exact = 0;        ///< sum of integers
  double real = 0;         ///< sum of floats
  std::uint64_t best = 0;  ///< order-preserving word of the minimum or maximum
  std::uint64_t count = 0;
};
void accumulate(operation op, const column& values, std::uint64_t first, std::uint64_t last, running_aggregate& into);
/// The same for one scalar, given as its bits.
void accumulate_bits(operation op, scalar_kind kind, std::uint64_t bits, running_aggregate& into);
/// Writes a finished aggregate as result `i`; `found` is used by min and max.
void store(operation op, scalar_kind summand, const running_aggregate& result, void* out, void* found, std::size_t i);

}  // namespace espalier::bench
