// storage.hpp - the memory of a radix tree.
#pragma once

#include <memory>

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
  std::size_t node_counts[4] = {};  ///< in use, including dead ones; memory may be allocated for more
  std::size_t node_dead[4] = {};
  raw_buffer leaves[leaf_classes];
  std::size_t leaf_counts[leaf_classes] = {};
  std::size_t leaf_dead[leaf_classes] = {};
  buffer<std::uint64_t> heap;
  std::shared_ptr<memory_resource> heap_pool;  ///< pool of host memory; null if the heap is in the device's memory
  std::uint64_t heap_used = 0;                 ///< words
  std::uint64_t heap_dead = 0;                 ///< part of them that belongs to erased keys
  buffer<radix_link> cells;
  buffer<radix_link> order;
  buffer<std::uint32_t> ranks[leaf_classes];
  buffer<std::uint32_t> stamps[leaf_classes];  ///< stamps of leaves without room for one (update.hpp)
  buffer<std::uint32_t> disputes;              ///< number of conflicts of each piece of a batch of updates, by list
  std::uint32_t stamped_pieces = 0;            ///< pieces of batches of updates since stamps were cleared
  /// Word of the root's latch (espalier/radix_tree/insert_erase.hpp), kept between batches.
  std::uint32_t root_info = 0;
  std::size_t table_suits = 0;  ///< number of keys when the size of the root table was chosen
  bool order_is_known = true;   ///< false if leaves were added or removed since (leaf_order.hpp)
  radix_view<V> view;

  /// Allocates a heap for long keys.
  template <class Context>
  [[nodiscard]] buffer<std::uint64_t> heap_room(Context& context, std::uint64_t words) const {
    const device& own = context.get_device();
    return {heap_pool == nullptr ? own : own.with_pool(heap_pool), words, context.order()};
  }

  /// Called before a write on a GPU: memory that it replaces is freed after its own steps, not in the stream that
  /// allocated it.
  void set_stream(const stream& s) {
    node4.set_stream(s);
    node16.set_stream(s);
    node48.set_stream(s);
    node256.set_stream(s);
    for (auto& of_class : leaves) of_class.set_stream(s);
    heap.set_stream(s);
    cells.set_stream(s);
    order.set_stream(s);
    for (auto& of_class : ranks) of_class.set_stream(s);
    for (auto& of_class : stamps) of_class.set_stream(s);
    disputes.set_stream(s);
  }
  void forget_order() {
    order = {};
    for (auto& of_class : ranks) of_class = {};
    order_is_known = false;
    view.order = nullptr;
    for (auto& of_class : view.ranks) of_class = nullptr;
  }

  [[nodiscard]] radix_stats stats() const {
    radix_stats s;
    s.size = view.size;
    for (unsigned k = 0; k < 4; ++k) s.nodes[k] = node_counts[k] - node_dead[k];
    s.heap_bytes = heap.bytes();
    s.table_bits = view.table_bits;
    s.table_bytes = cells.bytes();
    s.order_bytes = order.bytes();
    s.bytes = node4.bytes() + node16.bytes() + node48.bytes() + node256.bytes() + cells.bytes() + disputes.bytes();
    (heap_pool == nullptr ? s.bytes : s.host_bytes) += heap.bytes();
    for (unsigned c = 0; c < leaf_classes; ++c) {
      s.leaves[c] = leaf_counts[c] - leaf_dead[c];
      s.order_bytes += ranks[c].bytes();
      s.bytes += leaves[c].bytes() + stamps[c].bytes();
    }
    s.bytes += s.order_bytes;
    return s;
  }
};

}  // namespace espalier::detail
