// radix_lists.hpp - questions to the radix tree whose answers are elements: ranges, prefixes, successors; and whether
// what the tree lists is right.
//
// A range begins at a key of the tree and holds a given number of elements, fewer at the end. A prefix is the shortest
// beginning of a key that fewer than twice as many keys have; so answers stay bounded even where all keys begin alike.
// A successor is asked of any key of the data set.
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
  byte_column lo, hi;                      ///< hi: of ranges, closed; else empty
  std::size_t one_length = 0;              ///< of every key asked for, or 0
  std::vector<std::uint64_t> first, last;  ///< query i lists ranks [first[i], last[i])
  std::vector<std::string> notes;
  [[nodiscard]] std::size_t size() const { return lo.size(); }
  [[nodiscard]] std::uint64_t elements() const;
};

/// Fewer than `n` where their answers would not fit into memory. `length`: elements of a range.
[[nodiscard]] radix_lists make_radix_lists(operation op, const radix_data& data, std::uint64_t n, std::uint64_t length,
                                           double hit_rate);

/// The first thing that is wrong about the tree's answers, as a sentence.
[[nodiscard]] std::optional<std::string> wrong_lists(operation op, const radix_data& data, const radix_lists& asked,
                                                     const espalier::detail::byte_range_buffers& ours);

}  // namespace espalier::bench
