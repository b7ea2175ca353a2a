// link.hpp - a one-word reference to a node: its kind and its number among the nodes of that kind, so that the size of
// the next read is known before it is issued.
#pragma once

#include <cstdint>

#include "espalier/core/config.hpp"

namespace espalier {

/// A leaf of 8, 16 or 32 bytes is `full` if its key has exactly that number of bytes; otherwise its last byte holds the
/// length (leaf.hpp).
enum class radix_kind : std::uint8_t {
  node4,
  node16,
  node48,
  node256,
  leaf8,
  leaf8_full,
  leaf16,
  leaf16_full,
  leaf32,
  leaf32_full,
  leaf_long,
  nothing = 15,
};

struct radix_link {
  static constexpr unsigned index_bits = 28;
  /// Maximum number of nodes of one kind.
  static constexpr std::uint64_t most = (std::uint64_t{1} << index_bits) - 1;
  std::uint32_t word = ~std::uint32_t{0};

  [[nodiscard]] static ESPALIER_INLINE radix_link of(radix_kind kind, std::uint64_t index) {
    return {
        static_cast<std::uint32_t>(static_cast<std::uint32_t>(kind) << index_bits | static_cast<std::uint32_t>(index))};
  }
  [[nodiscard]] ESPALIER_INLINE radix_kind kind() const { return static_cast<radix_kind>(word >> index_bits); }
  [[nodiscard]] ESPALIER_INLINE std::uint32_t index() const { return word & static_cast<std::uint32_t>(most); }
  [[nodiscard]] ESPALIER_INLINE bool is_nothing() const { return word == ~std::uint32_t{0}; }
  [[nodiscard]] ESPALIER_INLINE bool is_node() const { return kind() <= radix_kind::node256; }
  [[nodiscard]] ESPALIER_INLINE bool is_leaf() const { return !is_node() && !is_nothing(); }
  friend ESPALIER_INLINE bool operator==(radix_link a, radix_link b) { return a.word == b.word; }
};

}  // namespace espalier
