// options.hpp - what a caller may choose, and what the radix tree tells about itself.
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/static_tree/options.hpp"  // interval, range_options, validation

namespace espalier {

struct radix_options {
  /// Bits of the root table: as the keys suggest, or so many, at most 26; 0: none.
  static constexpr unsigned as_the_keys_suggest = ~0u;
  unsigned table_bits = as_the_keys_suggest;
};

/// How inserts and erases are done. Both ways give the same elements.
enum class radix_path : std::uint8_t {
  automatic,  ///< by the size of the batch
  in_place,   ///< the nodes that they are about are changed
  rebuild,    ///< the tree is made anew
};

struct radix_stats {
  std::size_t size = 0;        ///< keys
  std::size_t nodes[4] = {};   ///< with room for 4, 16, 48, 256 children
  std::size_t leaves[4] = {};  ///< of 8, 16, 32 bytes, and of longer keys
  std::size_t heap_bytes = 0;  ///< of longer keys
  unsigned table_bits = 0;     ///< 0: no table
  std::size_t table_bytes = 0;
  std::size_t order_bytes = 0;    ///< leaves in key order, where they do not lie so
  std::size_t summary_bytes = 0;  ///< of aggregates, which the first of them makes (src/radix_tree/summary.hpp)
  std::size_t bytes = 0;          ///< all device memory of the tree
};

}  // namespace espalier
