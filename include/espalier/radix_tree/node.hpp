// node.hpp - the four kinds of inner nodes.
//
// A node branches at one position of the keys: all keys below it agree before `at`, and are at least that long. The
// common bytes are not stored in the node (every leaf below it has them): a search reads only the bytes at which nodes
// branch, and compares the whole key in the leaf. Paths are therefore compressed whatever their length, and a path is
// split by inserting a node. A node has at most one child per symbol (key.hpp); the child at `end` is a key that is a
// prefix of all others below the node.
//
//   node4    32 bytes, one sector      node48   480 bytes, of which a search reads three sectors
//   node16   96 bytes, two sectors     node256  1056 bytes, two sectors
// Invariants: 2 <= count; bytes of node4 and node16 ascend; unused bytes are 0xff and unused children nothing.
#pragma once

#include <cstdint>

#include "espalier/core/config.hpp"
#include "espalier/radix_tree/key.hpp"
#include "espalier/radix_tree/link.hpp"
#include "espalier/team/team.hpp"

namespace espalier {

/// A word of a node with the number of its children and the state for writers (insert_erase.hpp).
struct radix_info {
  static constexpr std::uint32_t latched = 1, dead = 2, one_child = 4, one_version = 1u << 11;
  [[nodiscard]] static ESPALIER_INLINE unsigned count(std::uint32_t info) { return info >> 2 & 0x1ffu; }
};
struct radix_head {
  std::uint32_t at;
  std::uint32_t info;
  radix_link end;
  /// Number of children, including the one at `end`.
  [[nodiscard]] ESPALIER_INLINE unsigned count() const { return radix_info::count(info); }
};

struct alignas(32) radix_node4 {
  static constexpr radix_kind kind = radix_kind::node4;
  static constexpr unsigned room = 4;
  radix_head head;
  std::uint8_t bytes[4];
  radix_link children[4];
};
struct alignas(32) radix_node16 {
  static constexpr radix_kind kind = radix_kind::node16;
  static constexpr unsigned room = 16;
  radix_head head;
  std::uint32_t unused;
  std::uint8_t bytes[16];
  radix_link children[16];
};
struct alignas(32) radix_node48 {
  static constexpr radix_kind kind = radix_kind::node48;
  static constexpr unsigned room = 48;
  static constexpr std::uint8_t none = 0xff;
  radix_head head;
  std::uint32_t unused;
  std::uint8_t slots[256];  ///< slot by byte; none if there is no child
  radix_link children[48];
};
struct alignas(32) radix_node256 {
  static constexpr radix_kind kind = radix_kind::node256;
  static constexpr unsigned room = 256;
  radix_head head;
  std::uint32_t unused;
  radix_link children[256];  ///< child by byte
};
static_assert(sizeof(radix_node4) == 32 && sizeof(radix_node16) == 96 && sizeof(radix_node48) == 480 &&
              sizeof(radix_node256) == 1056);

/// Returns the smallest kind with room for this number of children at bytes.
[[nodiscard]] ESPALIER_INLINE radix_kind kind_for(unsigned children) {
  return children <= radix_node4::room    ? radix_kind::node4
         : children <= radix_node16::room ? radix_kind::node16
         : children <= radix_node48::room ? radix_kind::node48
                                          : radix_kind::node256;
}

/// Number of children at bytes at which a node shrinks to the next smaller kind. It is a few below the capacity of that
/// kind, so that alternating inserts and erases do not change the kind each time.
[[nodiscard]] ESPALIER_HD constexpr unsigned shrinks_at(radix_kind kind) {
  return kind == radix_kind::node16 ? 3 : kind == radix_kind::node48 ? 12 : kind == radix_kind::node256 ? 37 : 0;
}

// ---- the child at a byte -----------------------------------------------------------------------------------
// If several bytes are 0xff, the first one is the used one, if any is: the children of the others are nothing.
template <class Team>
[[nodiscard]] ESPALIER_INLINE radix_link child_at(Team, const radix_node4& n, std::uint8_t b) {
  radix_link found;
  for (unsigned i = 4; i-- > 0;) {
    if (n.bytes[i] == b) found = n.children[i];
  }
  return found;
}
template <class Team>
[[nodiscard]] ESPALIER_INLINE radix_link child_at(Team team, const radix_node16& n, std::uint8_t b) {
  const unsigned i = team.template rank<0>(team.template view<16>(n.bytes), b);
  return i < 16 && n.bytes[i] == b ? n.children[i] : radix_link{};
}
template <class Team>
[[nodiscard]] ESPALIER_INLINE radix_link child_at(Team, const radix_node48& n, std::uint8_t b) {
  const std::uint8_t slot = n.slots[b];
  return slot == radix_node48::none ? radix_link{} : n.children[slot];
}
template <class Team>
[[nodiscard]] ESPALIER_INLINE radix_link child_at(Team, const radix_node256& n, std::uint8_t b) {
  return n.children[b];
}
template <class Team, class Node>
[[nodiscard]] ESPALIER_INLINE radix_link child_of(Team team, const Node& n, unsigned symbol) {
  return symbol == end_symbol ? n.head.end : child_at(team, n, static_cast<std::uint8_t>(symbol - 1));
}

// ---- neighbours in symbol order ------------------------------------------------------------------------------
/// Calls f(symbol, child) for the children with symbols in [from, 256], ascending, until it returns false.
template <class Node, class F>
ESPALIER_HD void each_child(const Node& n, unsigned from, F f) {
  if (from == end_symbol) {
    if (!n.head.end.is_nothing() && !f(end_symbol, n.head.end)) return;
    from = 1;
  }
  if constexpr (Node::room <= 16) {
    for (unsigned i = 0; i < Node::room && !n.children[i].is_nothing(); ++i) {
      if (symbol_of_byte(n.bytes[i]) >= from && !f(symbol_of_byte(n.bytes[i]), n.children[i])) return;
    }
  } else {
    for (unsigned s = from; s <= 256; ++s) {
      const radix_link child = child_at(0, n, static_cast<std::uint8_t>(s - 1));
      if (!child.is_nothing() && !f(s, child)) return;
    }
  }
}
/// The same for symbols in [0, below), descending.
template <class Node, class F>
ESPALIER_HD void each_child_back(const Node& n, unsigned below, F f) {
  if constexpr (Node::room <= 16) {
    for (unsigned i = Node::room; i-- > 0;) {
      if (!n.children[i].is_nothing() && symbol_of_byte(n.bytes[i]) < below &&
          !f(symbol_of_byte(n.bytes[i]), n.children[i]))
        return;
    }
  } else {
    for (unsigned s = below; s-- > 1;) {
      const radix_link child = child_at(0, n, static_cast<std::uint8_t>(s - 1));
      if (!child.is_nothing() && !f(s, child)) return;
    }
  }
  if (below > end_symbol && !n.head.end.is_nothing()) (void)f(end_symbol, n.head.end);
}

}  // namespace espalier
