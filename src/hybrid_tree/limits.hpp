// limits.hpp - size limits of a hybrid tree.
#pragma once

#include <cstdint>
#include <string>

#include "espalier/static_tree/index.hpp"
#include "espalier/static_tree/layout.hpp"

namespace espalier::detail {

/// Keys per line of a static tree with these elements.
[[nodiscard]] inline unsigned keys_per_line(const element_type& e) {
  const auto of = [&]<class Word>(Word) -> unsigned {
    switch (value_slot(e.value_bytes)) {
      case 0:
        return tree_shape<Word, 0>::keys_per_line;
      case 4:
        return tree_shape<Word, 4>::keys_per_line;
      case 8:
        return tree_shape<Word, 8>::keys_per_line;
      default:
        return tree_shape<Word, 16>::keys_per_line;
    }
  };
  return bytes_of(e.key) <= 4 ? of(std::uint32_t{}) : of(std::uint64_t{});
}

/// Host and device exchange 32-bit line numbers. Throws if n elements need more lines.
inline void require_line_numbers(const element_type& e, std::uint64_t n) {
  constexpr std::uint64_t most_lines = 0xffffffffu;  // the last number means no line
  const std::uint64_t most = most_lines * keys_per_line(e);
  if (n > most) {
    throw error("hybrid_tree: the implicit layout has at most 2^32 - 1 lines of leaves, which for these types are " +
                std::to_string(most) + " elements, and was given " + std::to_string(n) +
                "; split the data over several trees, or use a static_tree on the CPU.");
  }
}

}  // namespace espalier::detail
