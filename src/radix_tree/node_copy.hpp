// node_copy.hpp - a copy of a radix tree in host memory, for validate(), dumps and inspect/.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

#include "radix_tree/storage.hpp"
#include "radix_tree/validate.hpp"

namespace espalier::detail {

template <unsigned V>
class radix_node_copy {
 public:
  template <class Context>
  radix_node_copy(Context& context, const radix_storage<V>& tree)
      : view(tree.view),
        root_info(tree.root_info),
        node4_(host(context, tree.node4)),
        node16_(host(context, tree.node16)),
        node48_(host(context, tree.node48)),
        node256_(host(context, tree.node256)),
        heap_(host(context, tree.heap)),
        cells_(host(context, tree.cells)),
        order_(host(context, tree.order)) {
    std::copy(std::begin(tree.node_counts), std::end(tree.node_counts), counts.nodes);
    std::copy(std::begin(tree.node_dead), std::end(tree.node_dead), counts.dead_nodes);
    std::copy(std::begin(tree.leaf_counts), std::end(tree.leaf_counts), counts.leaves);
    std::copy(std::begin(tree.leaf_dead), std::end(tree.leaf_dead), counts.dead_leaves);
    for (unsigned c = 0; c < leaf_classes; ++c) {
      leaves_[c] = host<std::uint64_t>(context, tree.leaves[c].data(), tree.leaves[c].bytes());
      ranks_[c] = host(context, tree.ranks[c]);
      view.leaves[c] = reinterpret_cast<std::byte*>(leaves_[c].data());
      view.ranks[c] = tree.view.ranks[c] == nullptr ? nullptr : ranks_[c].data();
    }
    if constexpr (Context::on_gpu) context.order().synchronize();
    view.node4 = node4_.data();
    view.node16 = node16_.data();
    view.node48 = node48_.data();
    view.node256 = node256_.data();
    view.heap = heap_.data();
    view.cells = cells_.data();
    view.order = tree.view.order == nullptr ? nullptr : order_.data();
  }
  radix_node_copy(const radix_node_copy&) = delete;
  radix_node_copy& operator=(const radix_node_copy&) = delete;

  radix_view<V> view;
  radix_counts counts{};
  std::uint32_t root_info;  ///< word of the root's latch

 private:
  template <class T, class Context>
  [[nodiscard]] static std::vector<T> host(Context& context, const void* from, std::size_t bytes) {
    std::vector<T> to(bytes / sizeof(T));
    if (bytes != 0) context.copy(to.data(), from, bytes);
    return to;
  }
  template <class T, class Context>
  [[nodiscard]] static std::vector<T> host(Context& context, const buffer<T>& b) {
    return host<T>(context, b.data(), b.bytes());
  }

  std::vector<radix_node4> node4_;
  std::vector<radix_node16> node16_;
  std::vector<radix_node48> node48_;
  std::vector<radix_node256> node256_;
  std::vector<std::uint64_t> heap_;
  std::vector<radix_link> cells_, order_;
  std::vector<std::uint64_t> leaves_[leaf_classes];
  std::vector<std::uint32_t> ranks_[leaf_classes];
};

}  // namespace espalier::detail
