// inner_levels_view.hpp - the levels above the lines of a static tree, or above the leaves of a B-link tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "espalier/static_tree/layout.hpp"

namespace espalier::detail {

/// The levels above the lines with their sizes in bytes, from which hybrid_tree makes a copy on another device.
template <class Word>
struct inner_levels_view {
  tree_view<Word, external_keys> view;  ///< its pointers refer to memory of the index's device
  std::size_t header_bytes = 0, cell_bytes = 0, subtable_bytes = 0;
  [[nodiscard]] std::size_t bytes() const { return header_bytes + cell_bytes + subtable_bytes; }
};
using any_inner_levels_view = std::variant<inner_levels_view<std::uint32_t>, inner_levels_view<std::uint64_t>>;

}  // namespace espalier::detail
