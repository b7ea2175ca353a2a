// workload.hpp - the data of one measurement: pairs, the same pairs sorted, queries and their expected results.
//
// Queries are drawn by rank from the sorted keys, so that the exact result of every query is known without any index:
// ranks are found by a search around the drawn rank in the sorted array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/data/column.hpp"
#include "bench/harness/cli_names.hpp"

namespace espalier::bench {

/// The parameters of the generated data.
struct data_spec {
  scalar_kind key = scalar_kind::u32;
  scalar_kind value = scalar_kind::u32;
  distribution shape = distribution::uniform;
  std::uint64_t keys = 0;
  std::uint64_t seed = 1;
};

/// Point queries; `ranks` are their lower bounds.
struct query_set {
  column keys;
  std::vector<std::uint64_t> ranks;
  [[nodiscard]] std::size_t size() const { return keys.size(); }
};

/// Closed ranges [lo, hi]; range i has the elements of ranks [first[i], last[i]).
struct range_set {
  column lo, hi;
  std::vector<std::uint64_t> first, last;
  [[nodiscard]] std::size_t size() const { return lo.size(); }
};

struct workload {
  data_spec spec;
  column keys, values;                ///< as passed to build()
  column sorted_keys, sorted_values;  ///< in key order, equal keys in input order

  /// Returns what sum, min and max aggregate: the values, or the keys of a set.
  [[nodiscard]] const column& summands() const { return spec.value == no_value ? sorted_keys : sorted_values; }
};

[[nodiscard]] workload make_workload(const data_spec& spec);
/// Makes a workload of existing pairs.
[[nodiscard]] workload make_workload(const data_spec& spec, column keys, column values);

/// `hit_rate` of the queries are keys of the index, the others random keys. If there are no keys, all are random.
[[nodiscard]] query_set make_queries(const workload& data, std::size_t n, double hit_rate, bool sorted);

/// Returns ranges that start at a random element and have `length` elements (more if the last key repeats, fewer at the
/// end of the index).
[[nodiscard]] range_set make_ranges(const workload& data, std::size_t n, std::uint64_t length);

/// The maximum number of elements in all results of one `range` row: 2 GiB of the widest pairs.
inline constexpr std::uint64_t most_range_elements = std::uint64_t{1} << 27;

/// The same, but fewer ranges if their total number of elements would exceed `most`.
[[nodiscard]] range_set make_fitting_ranges(const workload& data, std::size_t n, std::uint64_t length,
                                            std::uint64_t most = most_range_elements);

/// Returns the key as text.
[[nodiscard]] std::string text_of(const column& values, std::size_t i);

}  // namespace espalier::bench
