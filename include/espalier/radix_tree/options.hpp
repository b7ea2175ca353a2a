// options.hpp - what a caller may choose, and what the radix tree tells about itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "espalier/device/memory_resource.hpp"
#include "espalier/static_tree/options.hpp"  // interval, range_options, validation

namespace espalier {

/// How find and contains on a GPU get to keys of more than 32 bytes. Answers are the same, and so are all other
/// operations. Where a CPU has a part in it, a find about long keys keeps the calling thread until that is done, an
/// _async one, too; its answers are there when the stream is. On a CPU everything is in host memory: there the three
/// are one and the same, and cost the same.
enum class long_key_mode : std::uint8_t {
  on_device,       ///< long keys are in the GPU's memory, and it compares them
  in_host_memory,  ///< they are in pinned host memory: the GPU finds the leaf that may hold a key, the CPU compares
  beside,  ///< they are in the GPU's memory and in a second tree on the CPU, which is asked about them meanwhile
};

struct radix_options {
  /// Bits of the root table: as the keys suggest, or so many, at most 26; 0: none.
  static constexpr unsigned automatic = ~0u;
  unsigned table_bits = automatic;
  long_key_mode long_keys = long_key_mode::on_device;
  /// Go that way on a CPU, too: slower, with the same answers; so it can be tested without a GPU.
  bool long_keys_on_cpu = false;
  /// Where host memory for long keys comes from; null: device::host_pool().
  std::shared_ptr<memory_resource> host_pool;
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
  std::size_t summary_bytes = 0;  ///< of aggregates, which the first of them makes (src/radix_tree/block_summaries.hpp)
  std::size_t bytes = 0;          ///< all device memory of the tree
  std::size_t host_bytes = 0;     ///< in host memory beside it: longer keys, or the tree of them
};

}  // namespace espalier
