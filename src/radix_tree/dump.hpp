// dump.hpp - dumps everything reachable in a radix tree from a copy of its memory: as text, and as data for traces.
#pragma once

#include <cstdint>
#include <string>

#include "espalier/radix_tree/view.hpp"
#include "espalier/trace/state.hpp"

namespace espalier::detail {

/// `tree` refers to host memory; root_info is the word of the root's latch.
template <unsigned V>
[[nodiscard]] std::string radix_json(const radix_view<V>& tree, std::uint32_t root_info);
template <unsigned V>
[[nodiscard]] std::string radix_graphviz(const radix_view<V>& tree);
/// Throws `error` unless all keys have eight bytes.
template <unsigned V>
[[nodiscard]] trace_state radix_state(const radix_view<V>& tree, std::uint32_t root_info);

}  // namespace espalier::detail
