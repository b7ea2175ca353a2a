// questions.hpp - queries on a tree that is too large to be drawn as a whole.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "espalier/inspect/trace.hpp"

namespace espalier::explorer {

/// The nodes of one level from left to right, and the lowest key of each.
struct level_order {
  std::uint32_t level = 0;
  std::vector<trace_name> nodes;
  std::vector<std::uint64_t> lows;
};
/// Returns the levels from the root down. It traverses the whole tree, so callers should cache the result.
[[nodiscard]] std::vector<level_order> walk_levels(const trace_state& state);

/// Some adjacent nodes of one level.
struct fill_cell {
  trace_name first;
  std::uint64_t nodes = 0;
  std::uint64_t low = 0;  ///< lowest key in them
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
/// `levels` are those of `state`.
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
/// Returns the nodes that a search for a key visits, by the express lane if there is one.
[[nodiscard]] key_path path_to(const trace_state& state, std::uint64_t key);

struct surroundings {
  trace_state part;  ///< these nodes only
  std::vector<trace_name> left, right;
  bool more_left = false, more_right = false;
};
/// Throws `error` if the node does not exist.
[[nodiscard]] surroundings around(const trace_state& state, const std::vector<level_order>& levels, trace_name n,
                                  std::uint64_t reach);

}  // namespace espalier::explorer
