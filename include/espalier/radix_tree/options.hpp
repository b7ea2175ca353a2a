// options.hpp - options of the radix tree and the statistics that it reports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "espalier/device/memory_resource.hpp"
#include "espalier/index/options.hpp"

namespace espalier {

/// How find and contains on a GPU access keys of more than 32 bytes. Results, and all other operations, are the same.
/// If the CPU takes part, a find of long keys blocks the calling thread until the CPU's part is done, even in the
/// _async form; its results are complete when the stream is. On a CPU all memory is host memory: the three modes are
/// identical there.
enum class long_key_mode : std::uint8_t {
  on_device,       ///< long keys are in GPU memory, and the GPU compares them
  in_host_memory,  ///< long keys are in pinned host memory: the GPU finds the candidate leaf, the CPU compares
  host_replica,    ///< long keys are in GPU memory and in a second tree on the CPU, which is searched concurrently
};

struct radix_options {
  /// Bits of the root table: `automatic` chooses from the keys; otherwise at most 26, and 0 for no table.
  static constexpr unsigned automatic = ~0u;
  unsigned table_bits = automatic;
  long_key_mode long_keys = long_key_mode::on_device;
  /// Uses this mode on a CPU as well: slower, with the same results; it allows tests without a GPU.
  bool long_keys_on_cpu = false;
  /// Memory resource for long keys in host memory; null means device::host_pool().
  std::shared_ptr<memory_resource> host_pool;
};

/// How inserts and erases are executed. Both ways give the same elements.
enum class radix_path : std::uint8_t {
  automatic,  ///< by the size of the batch
  in_place,   ///< the affected nodes are changed
  rebuild,    ///< the tree is rebuilt
};

struct radix_stats {
  std::size_t size = 0;        ///< keys
  std::size_t nodes[4] = {};   ///< with capacity for 4, 16, 48, 256 children
  std::size_t leaves[4] = {};  ///< leaves of 8, 16, 32 bytes, and of long keys
  std::size_t heap_bytes = 0;  ///< long keys
  unsigned table_bits = 0;     ///< 0 if there is no table
  std::size_t table_bytes = 0;
  std::size_t order_bytes = 0;  ///< leaves in key order, if they are not stored in key order
  /// Block aggregates, built by the first aggregate query (src/radix_tree/block_summaries.hpp).
  std::size_t summary_bytes = 0;
  std::size_t bytes = 0;       ///< all device memory of the tree
  std::size_t host_bytes = 0;  ///< additional host memory: long keys, or the tree of them
};

}  // namespace espalier
