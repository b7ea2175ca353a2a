// radix_lists.hpp - queries to the radix tree that return elements: ranges, prefixes, successors; and the check of
// their results.
//
// A range starts at a key of the tree and has a given number of elements, fewer at the end. A prefix is the shortest
// prefix of a key that fewer than twice as many keys share, so results stay bounded even if all keys start alike. A
// successor is requested for any key of the data set.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/data/radix_data.hpp"
#include "bench/harness/options.hpp"
#include "espalier/radix_tree/index.hpp"

namespace espalier::bench {

struct radix_lists {
  byte_column lo, hi;                      ///< hi is for closed ranges, otherwise empty
  std::size_t one_length = 0;              ///< length of every key in the query, or 0
  std::vector<std::uint64_t> first, last;  ///< query i lists ranks [first[i], last[i])
  std::vector<std::string> notes;
  [[nodiscard]] std::size_t size() const { return lo.size(); }
  [[nodiscard]] std::uint64_t elements() const;
};

/// Returns fewer than `n` queries if their results would not fit the memory. `length` is the number of elements of a
/// range.
[[nodiscard]] radix_lists make_radix_lists(operation op, const radix_data& data, std::uint64_t n, std::uint64_t length,
                                           double hit_rate);

/// Returns the first error in the tree's results as a sentence.
[[nodiscard]] std::optional<std::string> wrong_lists(operation op, const radix_data& data, const radix_lists& asked,
                                                     const espalier::detail::byte_range_buffers& ours);

}  // namespace espalier::bench
