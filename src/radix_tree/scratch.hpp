// scratch.hpp - scratch buffers and numbering, shared by the operations on a radix tree.
#pragma once

#include <cstdint>
#include <string>

#include "espalier/core/error.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/radix_tree/link.hpp"

namespace espalier::detail {

template <class T, class Context>
[[nodiscard]] buffer<T> room(Context& context, std::size_t n) {
  return buffer<T>(context.get_device(), n, context.order());
}

/// Replaces marks[i] by the number of marks set before i, for n marks with room for one more. Returns the number of
/// marks set.
template <class Context>
[[nodiscard]] std::uint64_t number_marks(Context& context, const buffer<std::uint64_t>& marks, std::size_t n) {
  context.zero(marks.data() + n, 8);
  context.exclusive_scan(marks.data(), marks.data(), n + 1);
  return context.read(marks.data() + n);
}

/// Checks the number of nodes or leaves of one kind.
inline void require_numbers_for(std::uint64_t n) {
  if (n > radix_link::most)
    throw error("radix_tree: " + std::to_string(n) + " nodes or leaves of one kind are more than the " +
                std::to_string(radix_link::most) + " that a tree can hold; split the keys over several trees.");
}

}  // namespace espalier::detail
