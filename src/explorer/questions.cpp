// questions.cpp - see questions.hpp. Levels are traversed by right links from the leftmost node on, as in the tree
// itself, so a node that was split off and is not linked yet is in no level.
#include "explorer/questions.hpp"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "espalier/core/error.hpp"

namespace espalier::explorer {

namespace {

using name_set = std::unordered_set<trace_name, trace_name_hash>;

const trace_node_state& node_at(const trace_state& state, trace_name n) {
  const trace_node_state* found = state.find(n);
  if (found == nullptr) throw error("there is no node " + n.text() + " at this moment.");
  return *found;
}

level_order walk_right(const trace_state& state, trace_name first) {
  level_order order;
  order.level = node_at(state, first).level;
  std::uint64_t low = 0;
  for (trace_name n = first; order.nodes.size() <= state.nodes.size();) {
    const trace_node_state& node = node_at(state, n);
    order.nodes.push_back(n);
    order.lows.push_back(low);
    if (node.right == trace_node_state::none) break;
    low = node.high == trace_node_state::no_limit ? low : node.high + 1;
    n = {node.right, n.inner};
  }
  return order;
}

bool is_radix(const trace_state& state) { return node_at(state, state.root).kind != trace_node_kind::plain; }

/// Adds the nodes below n to their levels, in key order, and returns the smallest key below n.
std::uint64_t walk_children(const trace_state& state, trace_name n, std::vector<level_order>& by_level) {
  const trace_node_state& node = node_at(state, n);
  level_order& order = by_level.at(node.level);
  const std::size_t place = order.nodes.size();
  order.nodes.push_back(n);
  order.lows.push_back(0);
  std::uint64_t low = node.is_inner() || node.keys.empty() ? 0 : node.keys.front();
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const std::uint64_t below = walk_children(state, node.children[i], by_level);
    if (i == 0) low = below;
  }
  return by_level.at(node.level).lows[place] = low;
}

/// Returns the child on the path to a key, or nothing.
std::optional<trace_name> child_towards(const trace_node_state& node, std::uint64_t key) {
  if (node.children.empty()) return std::nullopt;
  if (node.kind == trace_node_kind::root) return node.children.front();
  if (node.kind != trace_node_kind::plain) {
    const std::uint64_t byte = key >> (8 * (node.level - 1)) & 0xff;
    const auto at = std::lower_bound(node.keys.begin(), node.keys.end(), byte);
    if (at == node.keys.end() || *at != byte) return std::nullopt;
    return node.children[static_cast<std::size_t>(at - node.keys.begin())];
  }
  const auto above = std::upper_bound(node.keys.begin(), node.keys.end(), key);
  return node.children.at(above == node.keys.begin() ? 0 : static_cast<std::size_t>(above - node.keys.begin()) - 1);
}

/// Returns the number of keys or children that a node can hold.
double capacity_of(const trace_header& header, const trace_node_state& n) {
  if (n.kind != trace_node_kind::plain) return static_cast<double>(room_of(n.kind));
  if (header.is_linked() || n.level == 0) return header.slots;
  return n.level == 1 ? 23 : static_cast<double>(n.keys.size());  // lines of a group; keys of the table
}

/// Follows right links from a dead leaf to a live one.
trace_name alive(const trace_state& state, trace_name n) {
  for (std::size_t steps = 0; steps <= state.nodes.size(); ++steps) {
    const trace_node_state* node = state.find(n);
    if (node == nullptr || !node->dead || node->right == trace_node_state::none) return n;
    n.id = node->right;
  }
  return n;
}

/// Returns, for each live leaf, the number of dead leaves whose chain ends at it.
std::unordered_map<trace_name, std::uint64_t, trace_name_hash> dead_ends(const trace_state& state) {
  std::unordered_map<trace_name, std::uint64_t, trace_name_hash> counts;
  for (const auto& [name, node] : state.nodes) {
    if (node.dead) ++counts[alive(state, name)];
  }
  return counts;
}

}  // namespace

std::vector<level_order> walk_levels(const trace_state& state) {
  std::vector<level_order> levels;
  if (is_radix(state)) {
    levels.resize(256);
    for (std::uint32_t level = 0; level < 256; ++level) levels[level].level = level;
    (void)walk_children(state, state.root, levels);
    std::erase_if(levels, [](const level_order& order) { return order.nodes.empty(); });
    std::reverse(levels.begin(), levels.end());
    return levels;
  }
  for (trace_name first = state.root;;) {
    levels.push_back(walk_right(state, first));
    const trace_node_state& node = node_at(state, first);
    if (!node.is_inner() || node.children.empty()) return levels;
    first = node.children[0];
  }
}

tree_summary summarise(const trace_state& state, const std::vector<level_order>& levels, const trace_header& header,
                       std::uint64_t most_cells) {
  tree_summary summary;
  const auto dead = dead_ends(state);
  name_set posted{state.root};
  for (const level_order& order : levels) {
    level_summary level{order.level, order.nodes.size(), {}};
    const std::uint64_t cells = std::min<std::uint64_t>(most_cells, order.nodes.size());
    name_set children;
    for (std::uint64_t c = 0; c < cells; ++c) {
      const std::uint64_t first = c * order.nodes.size() / cells, last = (c + 1) * order.nodes.size() / cells;
      fill_cell cell{order.nodes[first], last - first, order.lows[first], 0, 0, 0, 0};
      std::uint64_t used = 0;
      double room = 0;
      for (std::uint64_t i = first; i < last; ++i) {
        const trace_node_state& n = node_at(state, order.nodes[i]);
        used += n.keys.size();
        room += capacity_of(header, n);
        cell.latched += n.version & 1;
        cell.unposted += posted.contains(order.nodes[i]) ? 0u : 1u;
        if (const auto d = dead.find(order.nodes[i]); d != dead.end()) cell.dead += d->second;
        for (std::size_t k = 0; k < n.children.size(); ++k) children.insert(n.children[k]);
      }
      cell.fill = room == 0 ? 0 : static_cast<double>(used) / room;
      if (order.level == 0) summary.keys += used;
      level.cells.push_back(cell);
    }
    summary.nodes += order.nodes.size();
    summary.levels.push_back(std::move(level));
    posted.merge(children);
  }
  return summary;
}

key_path path_to(const trace_state& state, std::uint64_t key) {
  key_path path;
  trace_name n = state.root;
  const char* by = "root";
  if (!state.lane.empty()) {
    const auto entry =
        std::partition_point(state.lane.begin(), state.lane.end(), [key](trace_lane_entry e) { return e.high < key; });
    if (entry == state.lane.end()) return path;
    n = {entry->leaf, false};
    by = "lane";
  }
  while (path.steps.size() <= state.nodes.size()) {
    const trace_node_state& node = node_at(state, n);
    path.steps.push_back({n, by});
    if (node.dead || key > node.high) {
      if (node.right == trace_node_state::none) return path;
      n.id = node.right;
      by = "link";
      continue;
    }
    if (!node.is_inner()) {
      path.found = std::binary_search(node.keys.begin(), node.keys.end(), key);
      return path;
    }
    const std::optional<trace_name> child = child_towards(node, key);
    if (!child) return path;
    n = *child;
    by = "child";
  }
  return path;
}

surroundings around(const trace_state& state, const std::vector<level_order>& levels, trace_name n,
                    std::uint64_t reach) {
  const trace_node_state& middle = node_at(state, n);
  surroundings s;
  s.part.root = state.root;
  const auto keep = [&](trace_name name) { s.part.nodes.emplace(name, node_at(state, name)); };
  keep(n);
  keep(state.root);
  const trace_name live = alive(state, n);
  for (const level_order& order : levels) {
    const auto at = std::find(order.nodes.begin(), order.nodes.end(), live);
    if (at == order.nodes.end()) continue;
    const auto place = static_cast<std::uint64_t>(at - order.nodes.begin());
    const std::uint64_t first = place - std::min(place, reach);
    const std::uint64_t last = std::min<std::uint64_t>(order.nodes.size(), place + reach + 1);
    for (std::uint64_t i = first; i < place; ++i) s.left.push_back(order.nodes[i]);
    for (std::uint64_t i = place + 1; i < last; ++i) s.right.push_back(order.nodes[i]);
    s.more_left = first != 0;
    s.more_right = last != order.nodes.size();
    for (std::uint64_t i = first; i < last; ++i) {
      keep(order.nodes[i]);
      trace_name up = state.root;
      for (std::size_t steps = 0; node_at(state, up).level > order.level && steps <= state.nodes.size(); ++steps) {
        keep(up);
        const trace_node_state& node = node_at(state, up);
        if (order.lows[i] > node.high && node.right != trace_node_state::none) {
          up.id = node.right;
          continue;
        }
        const std::optional<trace_name> child = child_towards(node, order.lows[i]);
        if (!child) break;
        up = *child;
      }
    }
    break;
  }
  for (std::size_t i = 0; i < middle.children.size() && i < 2 * reach + 1; ++i) keep(middle.children[i]);
  return s;
}

}  // namespace espalier::explorer
