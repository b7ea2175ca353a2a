// storage.hpp - the memory of a radix tree.
#pragma once

#include "espalier/device/buffer.hpp"
#include "espalier/radix_tree/index.hpp"
#include "espalier/radix_tree/view.hpp"

namespace espalier::detail {

template <unsigned V>
struct radix_storage {
  buffer<radix_node4> node4;
  buffer<radix_node16> node16;
  buffer<radix_node48> node48;
  buffer<radix_node256> node256;
  raw_buffer leaves[leaf_classes];
  std::size_t leaf_counts[leaf_classes] = {};
  buffer<std::uint64_t> heap;
  buffer<radix_link> cells;
  buffer<radix_link> order;
  buffer<std::uint32_t> ranks[leaf_classes];
  buffer<std::uint64_t> stamps;   ///< of leaves, for updates (write.hpp); none before the first one
  std::uint32_t batches = 0;      ///< of updates
  radix_view<V> view;

  [[nodiscard]] radix_stats stats() const {
    radix_stats s;
    s.size = view.size;
    s.nodes[0] = node4.size();
    s.nodes[1] = node16.size();
    s.nodes[2] = node48.size();
    s.nodes[3] = node256.size();
    s.heap_bytes = heap.bytes();
    s.table_bits = view.table_bits;
    s.table_bytes = cells.bytes();
    s.order_bytes = order.bytes();
    s.bytes = node4.bytes() + node16.bytes() + node48.bytes() + node256.bytes() + heap.bytes() + cells.bytes();
    for (unsigned c = 0; c < leaf_classes; ++c) {
      s.leaves[c] = leaf_counts[c];
      s.order_bytes += ranks[c].bytes();
      s.bytes += leaves[c].bytes();
    }
    s.bytes += s.order_bytes + stamps.bytes();
    return s;
  }
};

}  // namespace espalier::detail
