// node.hpp - memory layout of the nodes of a B-link tree, and the pools that hold them.
//
//   header   version | count, level, dead | right neighbour | high key
//   keys     ascending; unused slots hold the largest word, so that counting smaller keys needs no mask
//   values   in a leaf: the caller's values; in an inner node: numbers of children
//
// Invariants:
// (1) A node covers the keys up to and including `high`; the last one of its level has the largest word as high. Larger
//     keys are to the right: a search with a larger key follows `right`.
// (2) While teams run, the lowest key that a node covers does not change: splits take from its end, merges add to its
//     end. Exclusive maintenance (drop_empty_leaf) may extend a leaf to lower keys, those of empty leaves before it.
// (3) The `right` of a dead leaf names the leaf that covers its keys: the left neighbour that absorbed it or, after
//     maintenance, the next leaf to the right.
// (4) Key i of an inner node is the lowest key that child i covered when it was posted; key 0 is the node's lowest key.
//     Children between two posted ones are reached by right links: an inner level may be stale, never wrong. write.hpp
//     states which leaves are posted, and by which team: without a lane all of them, with a lane those of long chains.
// (5) Everything but `version` changes only while its writer holds the latch (sync/version_latch.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/core/config.hpp"
#include "espalier/static_tree/layout.hpp"
#include "espalier/sync/concurrent_access.hpp"

namespace espalier {

using node_id = std::uint32_t;
/// No node has this number. It is not reserved as a key or a value.
inline constexpr node_id no_node = ~node_id{0};

namespace detail {

[[nodiscard]] constexpr unsigned round_up(unsigned n, unsigned unit) { return (n + unit - 1) / unit * unit; }

/// Number of slots of a node. The default suits point operations: header and keys of a leaf are 64 bytes (u32) or 128
/// bytes (u64), and are read together.
template <class Word>
[[nodiscard]] constexpr unsigned node_slots(unsigned asked) {
  return asked != 0 ? asked : 12u;
}

}  // namespace detail

/// `right` of the last node of a level is no_node.
template <class Word>
struct node_head {
  std::uint32_t count = 0;
  std::uint32_t level = 0;  ///< 0 for a leaf
  bool dead = false;
  node_id right = no_node;
  Word high = static_cast<Word>(~Word{0});

  static constexpr std::uint32_t dead_bit = 0x80000000u;
  [[nodiscard]] ESPALIER_INLINE std::uint32_t info() const { return count | level << 16 | (dead ? dead_bit : 0u); }
  ESPALIER_INLINE void set_info(std::uint32_t info) {
    count = info & 0xffffu;
    level = info >> 16 & 0xffu;
    dead = (info & dead_bit) != 0;
  }
  /// Initialises all members at once: GCC keeps a header whose members are set one by one in memory, and each of these
  /// stores stalls a later load.
  [[nodiscard]] static ESPALIER_INLINE node_head of(std::uint32_t info, node_id right, Word high) {
    return {info & 0xffffu, info >> 16 & 0xffu, (info & dead_bit) != 0, right, high};
  }
};

template <class Word, unsigned ValueBytes, unsigned Slots>
struct node_shape {
  static_assert(Slots >= 8 && Slots <= 4096, "a node has 8 to 4096 slots");
  static_assert(Slots <= 16 || Slots % 32 == 0, "nodes wider than 16 slots have a multiple of 32");
  using word = Word;
  using value = typename value_raw<ValueBytes>::type;
  static constexpr unsigned slots = Slots;
  static constexpr unsigned value_bytes = ValueBytes;
  /// Number of slots that a team processes at a time.
  static constexpr unsigned chunk = Slots <= 16 ? Slots : 16;
  static constexpr unsigned keys_at = sizeof(Word) == 4 ? 16 : 32;
  static constexpr unsigned values_at =
      detail::round_up(keys_at + Slots * unsigned{sizeof(Word)}, ValueBytes > 8 ? ValueBytes : 8);
  static constexpr unsigned bytes = detail::round_up(values_at + Slots * ValueBytes, 64);
  static constexpr unsigned half = Slots / 2;
  /// Number of words in front of the keys. A small node is read from its beginning at once: header, then keys.
  static constexpr unsigned head_words = keys_at / sizeof(Word);
  static constexpr bool in_one_piece = Slots == chunk && (head_words + Slots) * sizeof(Word) % 16 == 0;
  /// A leaf with fewer elements absorbs its right neighbour ...
  static constexpr unsigned few = Slots / 4;
  /// ... if together they have at most this many: some room is left for the next inserts.
  static constexpr unsigned merged = Slots * 3 / 4;
};

/// The address of a node in memory.
template <class Shape>
struct node_at {
  using word = typename Shape::word;
  using value = typename Shape::value;
  std::byte* p;

  // Header words are version, info, right; then high (u32: word 3, u64: bytes 16 to 23).
  [[nodiscard]] ESPALIER_INLINE std::uint32_t* words() const { return reinterpret_cast<std::uint32_t*>(p); }
  [[nodiscard]] ESPALIER_INLINE std::uint32_t* version() const { return words(); }
  [[nodiscard]] ESPALIER_INLINE std::uint32_t* info() const { return words() + 1; }
  [[nodiscard]] ESPALIER_INLINE node_id* right() const { return words() + 2; }
  [[nodiscard]] ESPALIER_INLINE word* high() const {
    return reinterpret_cast<word*>(p + (sizeof(word) == 4 ? 12 : 16));
  }
  [[nodiscard]] ESPALIER_INLINE word* keys() const { return reinterpret_cast<word*>(p + Shape::keys_at); }
  [[nodiscard]] ESPALIER_INLINE value* values() const { return reinterpret_cast<value*>(p + Shape::values_at); }
};

/// Slot `slot` of a leaf.
struct leaf_position {
  node_id id;
  std::uint32_t slot;
};

/// Number of elements before each leaf of a lane. It takes 32 bits per leaf, so that more of them stay in the caches:
/// numbers count from every 2^16th leaf on, and 2^16 leaves of 4096 elements cannot overflow.
struct leaf_ranks {
  static constexpr unsigned shift = 16;
  const std::uint64_t* bases = nullptr;  ///< null if the numbers are unknown
  const std::uint32_t* beyond = nullptr;

  [[nodiscard]] ESPALIER_INLINE explicit operator bool() const { return bases != nullptr; }
  [[nodiscard]] ESPALIER_INLINE std::uint64_t operator[](std::uint64_t line) const {
    return bases[line >> shift] + beyond[line];
  }
};

/// Counters of a pool, in the device's memory, because running kernels and threads take nodes from it.
struct pool_state {
  /// Low 32 bits: tickets issued since the last maintenance; high 32 bits: capacity. They are packed so that one
  /// fetch_add returns both. Tickets issued beyond the capacity are cancelled when the limit is raised.
  std::uint64_t tickets = 0;
  std::uint32_t recycled = 0;  ///< the first tickets get nodes from the list of reusable nodes,
  std::uint32_t fresh = 0;     ///< and the others are numbered from here

  [[nodiscard]] ESPALIER_INLINE static std::uint32_t asked(std::uint64_t tickets) {
    return static_cast<std::uint32_t>(tickets);
  }
  [[nodiscard]] ESPALIER_INLINE static std::uint32_t limit(std::uint64_t tickets) {
    return static_cast<std::uint32_t>(tickets >> 32);
  }
  [[nodiscard]] ESPALIER_INLINE static std::uint32_t taken(std::uint64_t tickets) {
    return asked(tickets) < limit(tickets) ? asked(tickets) : limit(tickets);
  }
};

/// Nodes are stored in a first block and, when it is full, in segments of 2^shift nodes. A node never moves while it
/// may be in use, so a pool grows while kernels and threads run.
struct pool_view {
  static constexpr unsigned most_segments = 4096;
  std::byte* first = nullptr;
  std::uint32_t first_nodes = 0;
  std::uint32_t shift = 0;
  std::uint64_t* segments = nullptr;  ///< addresses
  pool_state* state = nullptr;
  const node_id* reusable = nullptr;

  template <class Shape>
  [[nodiscard]] ESPALIER_INLINE node_at<Shape> at(node_id id) const {
    if (id < first_nodes) return {first + std::size_t{id} * Shape::bytes};
    const std::uint32_t n = id - first_nodes;
    // Bypasses L1, because the entry may have been written after the kernel started.
    auto* segment = reinterpret_cast<std::byte*>(load_relaxed(segments + (n >> shift)));
    return {segment + std::size_t{n & ((1u << shift) - 1)} * Shape::bytes};
  }

  /// Takes a node for exclusive use; returns no_node if none is left. Called by one lane.
  [[nodiscard]] ESPALIER_INLINE node_id take() const {
    const atomic_word_ref tickets{&state->tickets};
    std::uint64_t seen = tickets.load_relaxed();
    // The check first limits the tickets issued in vain to the number of running teams.
    if (pool_state::asked(seen) >= pool_state::limit(seen)) return no_node;
    seen = tickets.fetch_increment_aggregated();
    const std::uint32_t ticket = pool_state::asked(seen);
    if (ticket >= pool_state::limit(seen)) return no_node;
    return number(ticket);
  }
  /// A range of tickets whose nodes belong to the caller.
  struct ticket_range {
    std::uint32_t first = 0, count = 0;
  };
  /// Takes up to `most` nodes at once. Called by one thread.
  [[nodiscard]] ESPALIER_INLINE ticket_range take_up_to(std::uint32_t most) const {
    const atomic_word_ref tickets{&state->tickets};
    std::uint64_t seen = tickets.load_relaxed();
    const std::uint32_t left = pool_state::limit(seen) - pool_state::taken(seen);  // as in take()
    if (most > left) most = left;
    if (most == 0) return {};
    seen = tickets.fetch_add(most);
    const std::uint32_t begin = pool_state::taken(seen), granted = pool_state::limit(seen) - begin;
    return {begin, granted < most ? granted : most};
  }
  [[nodiscard]] ESPALIER_INLINE node_id number(std::uint32_t ticket) const {
    const std::uint32_t recycled = load_relaxed(&state->recycled);
    return ticket < recycled ? reusable[ticket] : load_relaxed(&state->fresh) + (ticket - recycled);
  }
};

/// Everything that an operation needs. Trivially copyable, passed to kernels by value.
template <class Word, unsigned ValueBytes, unsigned Slots>
struct blink_view {
  using leaf_shape = node_shape<Word, ValueBytes, Slots>;
  using inner_shape = node_shape<Word, 4, Slots>;
  static constexpr node_id first_leaf = 0;  ///< always covers the smallest key
  static constexpr node_id root = 0;        ///< root of the inner nodes; keeps its number while the tree grows

  pool_view leaves;
  pool_view inners;
  tree_view<Word, external_keys> lane;   ///< its keys are the high keys of leaves; size 0 if there is no lane
  const node_id* lane_leaves = nullptr;  ///< the leaf of each key; if null, the leaf with the same number
  scalar_kind key = scalar_kind::u32;
  scalar_kind value = scalar_kind::opaque;
  unsigned value_bytes = 0;  ///< size of the caller's type, at most ValueBytes

  [[nodiscard]] ESPALIER_INLINE node_at<leaf_shape> leaf(node_id id) const {
    return leaves.template at<leaf_shape>(id);
  }
  [[nodiscard]] ESPALIER_INLINE node_at<inner_shape> inner(node_id id) const {
    return inners.template at<inner_shape>(id);
  }
};

}  // namespace espalier
