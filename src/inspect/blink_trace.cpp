// blink_trace.cpp - see blink_trace.hpp.
#include "espalier/inspect/blink_trace.hpp"

#include <vector>

#include "blink_tree/node_copy.hpp"

namespace espalier::detail {

trace_header blink_trace_header(const blink_index& tree) {
  const blink_shape shape = tree.shape();
  trace_header header;
  header.index = "blink";
  header.protocol = to_string(shape.protocol);
  header.upper = to_string(shape.inner);
  header.slots = shape.slots;
  header.device = tree.get_device().kind() == device_kind::cpu ? "cpu" : "gpu";
  header.team = tree.get_device().kind() == device_kind::cpu ? "thread" : "tile";
  return header;
}

trace_state blink_state(const blink_index& tree) {
  const blink_node_copy image = tree.copy_nodes();
  trace_state state;
  const auto add = [&](const node_level_image& level, node_id id, bool inner) {
    const auto& n = level.nodes[id];
    trace_node_state& to = state.nodes[{id, inner}];
    to.level = n.head.level;
    to.version = n.version;
    to.dead = n.head.dead;
    to.right = n.head.right;
    to.high = n.head.high == level.largest ? trace_node_state::no_limit : n.head.high;
    to.keys.assign(level.keys_of(id), level.keys_of(id) + n.head.count);
    for (unsigned i = 0; inner && i < n.head.count; ++i)
      to.children.push_back({level.children_of(id)[i], n.head.level > 1});
  };
  const std::vector<bool> unused_leaf = image.is_unused();
  for (node_id id = 0; id < image.leaves.nodes.size(); ++id) {
    if (!unused_leaf[id]) add(image.leaves, id, false);
  }
  for (node_id id = 0; id < image.inners.nodes.size(); ++id) add(image.inners, id, true);
  for (std::size_t i = 0; image.has_lane && i < image.lane_highs.size(); ++i) {
    const std::uint64_t high = image.lane_highs[i];
    state.lane.push_back({high == image.leaves.largest ? trace_node_state::no_limit : high, image.lane_leaf(i)});
  }
  return state;
}

}  // namespace espalier::detail
