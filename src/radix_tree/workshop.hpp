// workshop.hpp - what whoever works on a radix tree's memory needs: room, and numbers for what is marked.
#pragma once

#include <cstdint>

#include "espalier/device/buffer.hpp"

namespace espalier::detail {

template <class T, class Context>
[[nodiscard]] buffer<T> room(Context& context, std::size_t n) {
  return buffer<T>(context.where(), n, context.order());
}

/// Of n marks, with room for one more: marks[i] becomes how many are set before i. Returns how many are set.
template <class Context>
[[nodiscard]] std::uint64_t number_marks(Context& context, const buffer<std::uint64_t>& marks, std::size_t n) {
  context.zero(marks.data() + n, 8);
  context.exclusive_scan(marks.data(), marks.data(), n + 1);
  return context.read(marks.data() + n);
}

}  // namespace espalier::detail
