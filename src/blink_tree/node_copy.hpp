// node_copy.hpp - a copy of a whole B-link tree on the host, for the check of every invariant, for dumps and for
// inspect/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "espalier/blink_tree/node.hpp"
#include "espalier/index/options.hpp"

namespace espalier::detail {

/// All nodes of one pool, type-erased.
struct node_level_image {
  struct node {
    std::uint32_t version;
    node_head<std::uint64_t> head;
  };
  unsigned slots = 0;
  std::uint64_t largest = 0;  ///< word in unused slots, and high key of the last node
  std::vector<node> nodes;
  std::vector<std::uint64_t> keys;      ///< `slots` entries per node
  std::vector<std::uint32_t> children;  ///< children of inner nodes

  template <class Shape>
  [[nodiscard]] static node_level_image of(std::vector<std::byte> bytes) {
    using word = typename Shape::word;
    node_level_image image;
    image.slots = Shape::slots;
    image.largest = static_cast<word>(~word{0});
    const std::size_t n = bytes.size() / Shape::bytes;
    for (std::size_t i = 0; i < n; ++i) {
      const node_at<Shape> from{bytes.data() + i * Shape::bytes};
      node to{*from.version(), {}};
      to.head.set_info(*from.info());
      to.head.right = *from.right();
      to.head.high = *from.high();
      image.nodes.push_back(to);
      image.keys.insert(image.keys.end(), from.keys(), from.keys() + Shape::slots);
      if constexpr (Shape::value_bytes == 4) {
        image.children.insert(image.children.end(), from.values(), from.values() + Shape::slots);
      }
    }
    return image;
  }
  [[nodiscard]] const std::uint64_t* keys_of(node_id id) const { return keys.data() + std::size_t{id} * slots; }
  [[nodiscard]] const std::uint32_t* children_of(node_id id) const { return children.data() + std::size_t{id} * slots; }
};

struct blink_node_copy {
  scalar_kind key = scalar_kind::u32;
  node_level_image leaves;
  node_level_image inners;
  std::vector<node_id> unused;  ///< leaves that wait for reuse
  std::vector<std::uint64_t> lane_highs;
  std::vector<node_id> lane_ids;  ///< if empty, numbered in order
  bool has_lane = false;

  [[nodiscard]] validation validate() const;
  [[nodiscard]] std::string json() const;
  [[nodiscard]] std::string graphviz() const;
  /// For each leaf, whether it waits for reuse; such leaves are not part of dumps.
  [[nodiscard]] std::vector<bool> is_unused() const;
  /// The leaf of entry i of the express lane.
  [[nodiscard]] node_id lane_leaf(std::size_t i) const {
    return lane_ids.empty() ? static_cast<node_id>(i) : lane_ids[i];
  }
};

}  // namespace espalier::detail
