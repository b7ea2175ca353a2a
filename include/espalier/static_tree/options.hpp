// options.hpp - options of a build of the static tree, and the statistics that it reports.
#pragma once

#include <cstddef>

#include "espalier/index/options.hpp"

namespace espalier {

struct build_options {
  bool sorted = false;  ///< promise that keys ascend. It is checked; a broken promise is an `error`, never a wrong tree
  aggregates keep = aggregates::none;
};

struct tree_stats {
  std::size_t size = 0;   ///< elements
  unsigned height = 0;    ///< dependent memory accesses from a key to its element, before any bisection (layout.hpp)
  std::size_t bytes = 0;  ///< all memory the index holds on its device
  std::size_t leaf_bytes = 0;   ///< keys and values of the lines
  std::size_t inner_bytes = 0;  ///< headers and tables
  std::size_t aggregate_bytes = 0;
  std::size_t groups = 0;
  unsigned table_levels = 0;  ///< 1 for smooth keys; more where keys cluster in few table cells
  double fill = 0;            ///< used slots / all slots
};

}  // namespace espalier
