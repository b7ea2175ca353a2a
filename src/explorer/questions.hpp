// questions.hpp - what the page asks about a tree that is too large to be drawn as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "espalier/trace/trace.hpp"

namespace espalier::explorer {

/// Nodes of one level from left to right, and the lowest key of each.
struct level_order {
  std::uint32_t level = 0;
  std::vector<trace_name> nodes;
  std::vector<std::uint64_t> lows;
};
/// From the root down. It takes a walk over the whole tree, so whoever asks more than once about a tree keeps it.
[[nodiscard]] std::vector<level_order> walk_levels(const trace_state& state);

/// Some neighbouring nodes of one level.
struct fill_cell {
  trace_name first;
  std::uint64_t nodes = 0;
  std::uint64_t low = 0;  ///< lowest key that they cover
  double fill = 0;        ///< used slots / slots
  std::uint64_t dead = 0, latched = 0, unposted = 0;
};
struct level_summary {
  std::uint32_t level = 0;
  std::uint64_t nodes = 0;
  std::vector<fill_cell> cells;
};
struct tree_summary {
  std::uint64_t keys = 0, nodes = 0;
  std::vector<level_summary> levels;  ///< from the root down
};
/// `levels`: of this state.
[[nodiscard]] tree_summary summarise(const trace_state& state, const std::vector<level_order>& levels,
                                     const trace_header& header, std::uint64_t most_cells);

struct path_step {
  trace_name node;
  const char* by;
};
struct key_path {
  std::vector<path_step> steps;
  bool found = false;
};
/// The nodes that a search for a key visits, by the express lane if there is one.
[[nodiscard]] key_path path_to(const trace_state& state, std::uint64_t key);

struct surroundings {
  trace_state part;  ///< just these nodes
  std::vector<trace_name> left, right;
  bool more_left = false, more_right = false;
};
/// Throws `error` if there is no such node.
[[nodiscard]] surroundings around(const trace_state& state, const std::vector<level_order>& levels, trace_name n,
                                  std::uint64_t reach);

}  // namespace espalier::explorer
