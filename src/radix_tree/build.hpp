// build.hpp - builds a radix tree from keys in any order, on its device. Context is described in static_tree/build.hpp.
//
//   sort     sort_keys.hpp; of equal keys the last one of the batch is kept
//   cut      positions at which neighbouring keys differ
//   plan     a node for each opening cut (build_kernels.hpp); kinds are counted and numbered by scans
//   write    leaves and nodes; each links itself into its parent
//   table    over the leading bits, with as many bits as are worth their memory
#pragma once

#include <utility>

#include "radix_tree/build_kernels.hpp"
#include "radix_tree/leaf_order.hpp"
#include "radix_tree/root_table.hpp"
#include "radix_tree/scratch.hpp"
#include "radix_tree/sort_keys.hpp"
#include "radix_tree/storage.hpp"

namespace espalier::detail {

/// Which of equal keys of a batch is kept.
enum class of_equal_keys : std::uint8_t { first, last };

template <class Context, unsigned V>
class radix_builder {
  using storage = radix_storage<V>;

 public:
  radix_builder(Context& context, element_type elements, const radix_options& options)
      : context_(context), elements_(elements), options_(options) {}

  /// `keys` and `values` are in the device's memory. `places` are the keys in order, if these are known.
  [[nodiscard]] storage operator()(const byte_batch& keys, const void* values, std::size_t n,
                                   of_equal_keys which = of_equal_keys::last, buffer<std::uint32_t>&& places = {}) {
    storage tree;
    tree.view.value_kind = elements_.value;
    tree.view.value_bytes = elements_.value_bytes;
    if (options_.long_keys == long_key_mode::in_host_memory) tree.heap_pool = options_.host_pool;
    if (n == 0) return tree;
    if (places.size() == 0) places = key_sorter<Context>(context_)(keys, n);
    drop_duplicates(keys, places, n, which);
    const ordered_keys sorted{keys, places.data(), places.size()};
    tree.view.size = sorted.n;
    const buffer<std::uint32_t> cuts = room<std::uint32_t>(context_, sorted.n + 1);
    context_.for_each(sorted.n + 1, write_cut{sorted, cuts.data()});
    const range_min_tree<Context> low(context_, cuts.data(), sorted.n + 1);

    plan(sorted, low.view());
    make_nodes(tree);
    buffer<radix_link> leaf_links = make_leaves(tree, sorted, values);
    const buffer<radix_link> root = room<radix_link>(context_, 1);
    const hang<V> up{tree.view,        sorted,        cuts.data(),        owners_.data(),
                     ordinals_.data(), nodes_.data(), node_links_.data(), root.data()};
    context_.for_each(sorted.n, hang_leaf<V>{up, leaf_links.data()});
    context_.for_each(nodes_.size(), hang_node<V>{up});
    tree.view.root = context_.read(root.data());
    root_table<Context, V>(context_, tree, options_.table_bits).make(sorted);
    make_order(tree, std::move(leaf_links));
    return tree;
  }

 private:
  void drop_duplicates(const byte_batch& keys, buffer<std::uint32_t>& places, std::size_t n, of_equal_keys which) {
    const buffer<std::uint64_t> last = room<std::uint64_t>(context_, n + 1);
    context_.for_each(n, mark_one_of_keys{{keys, places.data(), n}, which == of_equal_keys::last, last.data()});
    const std::uint64_t distinct = number_marks(context_, last, n);
    if (distinct == n) return;
    buffer<std::uint32_t> kept = room<std::uint32_t>(context_, distinct);
    context_.for_each(n, keep_one_of_keys{places.data(), last.data(), kept.data()});
    places = std::move(kept);
  }

  void plan(const ordered_keys& sorted, const minima& cuts) {
    const std::size_t inner = sorted.n - 1;
    const buffer<std::uint64_t> opens = room<std::uint64_t>(context_, inner + 1);
    context_.for_each(inner, mark_opening{cuts, opens.data()});
    nodes_ = room<planned_node>(context_, number_marks(context_, opens, inner));
    owners_ = room<std::uint32_t>(context_, sorted.n + 1);
    ordinals_ = room<std::uint16_t>(context_, sorted.n + 1);
    context_.for_each(inner, plan_node{sorted, cuts, opens.data(), nodes_.data(), owners_.data(), ordinals_.data()});
  }

  void make_nodes(storage& tree) {
    node_links_ = room<radix_link>(context_, nodes_.size());
    const buffer<std::uint64_t> of_kind = room<std::uint64_t>(context_, nodes_.size() + 1);
    tree.node4 = make_kind<radix_node4>(of_kind);
    tree.node16 = make_kind<radix_node16>(of_kind);
    tree.node48 = make_kind<radix_node48>(of_kind);
    tree.node256 = make_kind<radix_node256>(of_kind);
    tree.view.node4 = tree.node4.data();
    tree.view.node16 = tree.node16.data();
    tree.view.node48 = tree.node48.data();
    tree.view.node256 = tree.node256.data();
    tree.node_counts[0] = tree.node4.size();
    tree.node_counts[1] = tree.node16.size();
    tree.node_counts[2] = tree.node48.size();
    tree.node_counts[3] = tree.node256.size();
    context_.for_each(nodes_.size(), write_head<V>{tree.view, nodes_.data(), node_links_.data()});
  }
  template <class Node>
  [[nodiscard]] buffer<Node> make_kind(const buffer<std::uint64_t>& of_kind) {
    context_.for_each(nodes_.size(), mark_kind{nodes_.data(), Node::kind, of_kind.data()});
    const std::uint64_t n = number_marks(context_, of_kind, nodes_.size());
    require_numbers_for(n);
    context_.for_each(nodes_.size(), link_of_kind{Node::kind, of_kind.data(), node_links_.data()});
    buffer<Node> memory = room<Node>(context_, n);
    context_.fill(memory.data(), 0xff, memory.bytes());  // no children
    return memory;
  }

  [[nodiscard]] buffer<radix_link> make_leaves(storage& tree, const ordered_keys& sorted, const void* values) {
    buffer<radix_link> links = room<radix_link>(context_, sorted.n);
    const buffer<std::uint64_t> of_class = room<std::uint64_t>(context_, sorted.n + 1);
    for (unsigned c = 0; c < leaf_classes; ++c) {
      context_.for_each(sorted.n, mark_class{sorted, c, of_class.data()});
      const std::uint64_t n = tree.leaf_counts[c] = number_marks(context_, of_class, sorted.n);
      require_numbers_for(n);
      if (n == 0) continue;
      context_.for_each(sorted.n, link_of_class{sorted, of_class.data(), links.data()});
      tree.leaves[c] = raw_buffer(context_.get_device(), n * leaf_bytes(c, V), context_.order());
      tree.view.leaves[c] = static_cast<std::byte*>(tree.leaves[c].data());
    }
    if (tree.leaf_counts[long_class] != 0) {
      context_.for_each(sorted.n, count_heap{sorted, of_class.data()});
      tree.heap = tree.heap_room(context_, number_marks(context_, of_class, sorted.n));
      tree.heap_used = tree.heap.size();
      tree.view.heap = tree.heap.data();
    }
    context_.for_each(sorted.n,
                      write_leaf<V>{tree.view, sorted, values, of_class.data(), tree.heap.data(), links.data()});
    return links;
  }

  /// Leaves of one class are stored in key order already, and their links are implicit if they are of one kind.
  void make_order(storage& tree, buffer<radix_link>&& links) {
    const std::size_t n = links.size();
    unsigned classes = 0;
    for (const std::size_t count : tree.leaf_counts) classes += count != 0 ? 1 : 0;
    if (classes == 1) {
      const buffer<std::uint64_t> full = room<std::uint64_t>(context_, n + 1);
      context_.for_each(n, mark_full{links.data(), full.data()});
      const std::uint64_t all = number_marks(context_, full, n);
      if (all == 0 || all == n) {
        tree.view.only_kind = context_.read(links.data()).kind();
        return;
      }
    }
    adopt_order(context_, tree, std::move(links), classes > 1);
  }

  Context& context_;
  element_type elements_;
  radix_options options_;
  buffer<planned_node> nodes_;
  buffer<radix_link> node_links_;
  buffer<std::uint32_t> owners_;
  buffer<std::uint16_t> ordinals_;
};

}  // namespace espalier::detail
