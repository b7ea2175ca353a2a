// state.hpp - a tree as plain data: the start and the end of a trace, and the state of a replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace espalier {

/// Name of a node: "l" and a number for leaves, "i" and a number for inner nodes.
struct trace_name {
  std::uint32_t id = 0;
  bool inner = false;

  friend bool operator==(trace_name, trace_name) = default;
  friend auto operator<=>(trace_name, trace_name) = default;
  [[nodiscard]] std::string text() const { return (inner ? 'i' : 'l') + std::to_string(id); }
  /// Parses a name; nothing if the text is not a name.
  [[nodiscard]] static std::optional<trace_name> of(const std::string& text);
};
struct trace_name_hash {
  [[nodiscard]] std::size_t operator()(trace_name n) const noexcept {
    return std::hash<std::uint64_t>{}(std::uint64_t{n.id} << 1 | (n.inner ? 1u : 0u));
  }
};

/// Kind of a node; `plain` for trees other than radix trees.
enum class trace_node_kind : std::uint8_t { plain, node4, node16, node48, node256, leaf, root };

/// Maximum number of children of a node of a radix tree; 1 for other kinds.
[[nodiscard]] inline std::size_t room_of(trace_node_kind kind) {
  switch (kind) {
    case trace_node_kind::node4:
      return 4;
    case trace_node_kind::node16:
      return 16;
    case trace_node_kind::node48:
      return 48;
    case trace_node_kind::node256:
      return 256;
    default:
      return 1;
  }
}

/// One node. `right` is a node of the same level.
struct trace_node_state {
  static constexpr std::uint64_t no_limit = std::numeric_limits<std::uint64_t>::max();
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  std::uint32_t level = 0;  ///< 0 for a leaf
  std::uint32_t version = 0;
  bool dead = false;
  std::uint32_t right = none;
  std::uint64_t high = no_limit;
  trace_node_kind kind = trace_node_kind::plain;
  std::vector<std::uint64_t> keys;
  std::vector<trace_name> children;
  std::string prefix;  ///< hexadecimal digits; radix trees only

  [[nodiscard]] bool is_inner() const { return level != 0; }
  friend bool operator==(const trace_node_state&, const trace_node_state&) = default;
};

/// One leaf of the express lane.
struct trace_lane_entry {
  std::uint64_t high;
  std::uint32_t leaf;
  friend bool operator==(trace_lane_entry, trace_lane_entry) = default;
};

/// All nodes of a tree and its express lane.
struct trace_state {
  trace_name root{0, true};
  std::unordered_map<trace_name, trace_node_state, trace_name_hash> nodes;
  std::vector<trace_lane_entry> lane;

  /// The node of this name, or null.
  [[nodiscard]] const trace_node_state* find(trace_name n) const {
    const auto at = nodes.find(n);
    return at == nodes.end() ? nullptr : &at->second;
  }
  /// All names in order: inner nodes by number, then leaves.
  [[nodiscard]] std::vector<trace_name> names() const;
  friend bool operator==(const trace_state&, const trace_state&) = default;
};

}  // namespace espalier
