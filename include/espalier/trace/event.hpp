// event.hpp - one recorded event: a struct of 48 bytes, the same on a CPU and on a GPU.
//
// docs/trace-format.md defines the effect of each kind on the tree. The comment of a kind lists the members that it
// uses.
#pragma once

#include <cstdint>

#include "espalier/core/config.hpp"

namespace espalier {

enum class trace_kind : std::uint8_t {
  begin,    ///< what: trace_op, key; range: key2
  end,      ///< what: trace_op, at: trace_result, key2: elements of a range
  reach,    ///< node
  latch,    ///< node, other: version before
  unlatch,  ///< node, other: version after
  insert,   ///< node, at, key
  erase,    ///< node, at, key
  assign,   ///< node, at, key
  split,    ///< node, other: the new node, at: slots kept
  link,     ///< node, other: its right neighbour, at: slots kept, key: its high key
  post,     ///< node, at, key, other: child, leaf_child
  grow,     ///< node, other: left, other2: right, at: slots kept, key: separator, key2: high key of the left node
  merge,    ///< node, other: the dead leaf, at: elements moved, key: the previous high key of node
  retry,    ///< node, what: trace_why
  kind,     ///< node, other: its successor, other2: its version, at: kind before << 8 | kind after, key: trace_above
  state,    ///< other: position in recorded_trace::states, what: trace_state_why
  leaf,     ///< node, key
  branch,   ///< node, at, other: the new node, key: its level, other2: child, leaf_child
  drop,     ///< node, at, key, other: the removed leaf
  join,     ///< node, at, other: the removed node, other2: the child that replaces it, leaf_child
};

enum class trace_op : std::uint8_t { find, insert, assign, update, erase, range };
enum class trace_result : std::uint8_t { done, unchanged, out_of_nodes };
enum class trace_why : std::uint8_t {
  busy,     ///< another team holds the latch
  changed,  ///< the node changed while it was read
  restart,  ///< the operation starts again at the root
};

struct trace_event {
  std::uint64_t time = 0;  ///< nanoseconds of a clock of the device
  std::uint64_t key = 0;
  std::uint64_t key2 = 0;
  std::uint32_t team = 0;
  std::uint32_t node = 0;
  std::uint32_t other = 0;
  std::uint32_t other2 = 0;
  std::uint32_t at = 0;
  trace_kind kind = trace_kind::begin;
  std::uint8_t what = 0;
  std::uint8_t level = 0;       ///< level of node; 0 for a leaf
  std::uint8_t leaf_child = 0;  ///< 1 if the child is a leaf, whatever the level of the node (radix trees)

  friend bool operator==(const trace_event&, const trace_event&) = default;
};
static_assert(sizeof(trace_event) == 48);

/// A node in an event.
struct trace_node {
  std::uint32_t id;
  std::uint32_t level;  ///< 0 for a leaf
};

/// Encodes the parent of the node whose kind changes in the key of the event; 0 if it is not recorded.
struct trace_above {
  [[nodiscard]] static ESPALIER_INLINE std::uint64_t of(std::uint32_t id) { return std::uint64_t{id} + 1; }
  [[nodiscard]] static ESPALIER_INLINE std::uint32_t id(std::uint64_t key) {
    return static_cast<std::uint32_t>(key - 1);
  }
};

/// Constructors of events, one per kind.
namespace trace {

[[nodiscard]] ESPALIER_INLINE trace_node leaf(std::uint32_t id) { return {id, 0}; }
[[nodiscard]] ESPALIER_INLINE trace_event about(trace_kind kind, trace_node n, std::uint32_t at = 0,
                                                std::uint64_t key = 0, std::uint32_t other = 0) {
  trace_event e;
  e.kind = kind;
  e.node = n.id;
  e.level = static_cast<std::uint8_t>(n.level);
  e.at = at;
  e.key = key;
  e.other = other;
  return e;
}
[[nodiscard]] ESPALIER_INLINE trace_event begin(trace_op op, std::uint64_t key, std::uint64_t to = 0) {
  trace_event e;
  e.what = static_cast<std::uint8_t>(op);
  e.key = key;
  e.key2 = to;
  return e;
}
[[nodiscard]] ESPALIER_INLINE trace_event end(trace_op op, trace_result result, std::uint64_t count = 0) {
  trace_event e;
  e.kind = trace_kind::end;
  e.what = static_cast<std::uint8_t>(op);
  e.at = static_cast<std::uint32_t>(result);
  e.key2 = count;
  return e;
}
[[nodiscard]] ESPALIER_INLINE trace_event reach(trace_node n) { return about(trace_kind::reach, n); }
[[nodiscard]] ESPALIER_INLINE trace_event latch(trace_node n, std::uint32_t before) {
  return about(trace_kind::latch, n, 0, 0, before);
}
[[nodiscard]] ESPALIER_INLINE trace_event unlatch(trace_node n, std::uint32_t after) {
  return about(trace_kind::unlatch, n, 0, 0, after);
}
[[nodiscard]] ESPALIER_INLINE trace_event insert(trace_node n, std::uint32_t at, std::uint64_t key) {
  return about(trace_kind::insert, n, at, key);
}
[[nodiscard]] ESPALIER_INLINE trace_event erase(trace_node n, std::uint32_t at, std::uint64_t key) {
  return about(trace_kind::erase, n, at, key);
}
[[nodiscard]] ESPALIER_INLINE trace_event assign(trace_node n, std::uint32_t at, std::uint64_t key) {
  return about(trace_kind::assign, n, at, key);
}
[[nodiscard]] ESPALIER_INLINE trace_event split(trace_node n, std::uint32_t right, std::uint32_t keep) {
  return about(trace_kind::split, n, keep, 0, right);
}
[[nodiscard]] ESPALIER_INLINE trace_event link(trace_node n, std::uint32_t right, std::uint32_t keep,
                                               std::uint64_t high) {
  return about(trace_kind::link, n, keep, high, right);
}
[[nodiscard]] ESPALIER_INLINE trace_event post(trace_node n, std::uint32_t at, std::uint64_t low, std::uint32_t child) {
  return about(trace_kind::post, n, at, low, child);
}
[[nodiscard]] ESPALIER_INLINE trace_event grow(trace_node n, std::uint32_t left, std::uint32_t right,
                                               std::uint32_t keep, std::uint64_t separator) {
  trace_event e = about(trace_kind::grow, n, keep, separator, left);
  e.other2 = right;
  e.key2 = separator - 1;
  return e;
}
[[nodiscard]] ESPALIER_INLINE trace_event merge(trace_node n, std::uint32_t dead, std::uint32_t count,
                                                std::uint64_t high) {
  return about(trace_kind::merge, n, count, high, dead);
}
[[nodiscard]] ESPALIER_INLINE trace_event retry(trace_node n, trace_why why) {
  trace_event e = about(trace_kind::retry, n);
  e.what = static_cast<std::uint8_t>(why);
  return e;
}

}  // namespace trace
}  // namespace espalier
