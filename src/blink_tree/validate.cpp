// validate.cpp - checks the invariants of node.hpp, one function each, and dumps the nodes as text.
#include <cstdio>
#include <sstream>

#include "blink_tree/node_copy.hpp"
#include "espalier/blink_tree/index.hpp"

namespace espalier::detail {

namespace {

/// Concatenates its arguments.
template <class... Parts>
std::string say(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// Collects the first broken invariant.
class checker {
 public:
  explicit checker(const blink_node_copy& image) : image_(image) {}

  validation operator()() {
    chain();
    lost();
    lane();
    inner_levels();
    return result_;
  }

 private:
  bool fail(const std::string& what) {
    if (result_.ok) result_ = {false, what};
    return false;
  }
  static std::string name(const char* kind, node_id id) { return say(kind, ' ', id); }

  /// Checks that the version is even, the count in bounds, keys ascend within [low, high], and unused slots hold the
  /// largest word.
  bool node(const char* kind, const node_level_image& level, node_id id, std::uint64_t low) {
    const auto& n = level.nodes[id];
    const std::uint64_t* keys = level.keys_of(id);
    if ((n.version & 1) != 0) return fail(say(name(kind, id), " is latched although no operation is in progress."));
    if (n.head.count > level.slots) return fail(say(name(kind, id), " has more elements than slots."));
    for (unsigned i = 0; i < n.head.count; ++i) {
      if (keys[i] < low || keys[i] > n.head.high)
        return fail(say(name(kind, id), " holds a key outside of what it covers."));
      if (i != 0 && keys[i] <= keys[i - 1]) return fail(say(name(kind, id), ": its keys do not ascend."));
    }
    for (unsigned i = n.head.count; i < level.slots; ++i) {
      if (keys[i] != level.largest) return fail(say(name(kind, id), ": an unused slot is not marked as such."));
    }
    return true;
  }

  /// Checks the leaves from the first one by right links: each begins where the previous one ends, and the last one
  /// ends at the largest word.
  void chain() {
    const auto& level = image_.leaves;
    seen_.assign(level.nodes.size(), false);
    low_.assign(level.nodes.size(), 0);
    std::uint64_t low = 0;
    for (node_id id = 0;;) {
      if (id >= level.nodes.size()) return void(fail(say("a right link leads to leaf ", id, ", which is none.")));
      const auto& n = level.nodes[id];
      if (seen_[id]) return void(fail("the right links of the leaves form a circle."));
      if (n.head.dead) return void(fail(say("a right link leads to leaf ", id, ", which is dead.")));
      if (n.head.level != 0) return void(fail(say(name("leaf", id), " says that it is none.")));
      if (n.head.high < low) return void(fail(say(name("leaf", id), " ends before it begins.")));
      if (!node("leaf", level, id, low)) return;
      seen_[id] = true;
      low_[id] = low;
      order_.push_back(id);
      if (n.head.right == no_node) {
        if (n.head.high != level.largest) fail("the last leaf does not cover the largest keys.");
        return;
      }
      low = n.head.high + 1;
      id = n.head.right;
    }
  }

  /// Checks that every leaf that was taken is in the chain, or dead and leads to a live one, or waits for reuse.
  void lost() {
    if (!result_.ok) return;
    const auto& level = image_.leaves;
    std::vector<bool> unused(level.nodes.size(), false);
    for (const node_id id : image_.unused) {
      if (id >= unused.size() || unused[id]) return void(fail("a leaf waits twice for reuse."));
      if (!level.nodes[id].head.dead) return void(fail(say(name("leaf", id), " waits for reuse and is not dead.")));
      unused[id] = true;
    }
    for (node_id id = 0; id < level.nodes.size(); ++id) {
      if (seen_[id] || unused[id]) continue;
      if (!level.nodes[id].head.dead) return void(fail(say(name("leaf", id), " is lost: no link leads to it.")));
      node_id to = id;
      for (std::size_t steps = 0; level.nodes[to].head.dead; ++steps) {
        if (steps > level.nodes.size()) return void(fail("dead leaves lead to each other in a circle."));
        to = level.nodes[to].head.right;
        if (to >= level.nodes.size()) return void(fail(say(name("dead leaf", id), " leads nowhere.")));
      }
    }
  }

  /// Returns whether a leaf, following dead ones, begins at or before `low`: searches must not start above their key.
  bool starts_at_or_before(node_id id, std::uint64_t low) const {
    const auto& level = image_.leaves;
    while (id < level.nodes.size() && level.nodes[id].head.dead) id = level.nodes[id].head.right;
    return id < level.nodes.size() && low_[id] <= low;
  }

  void lane() {
    if (!result_.ok || !image_.has_lane) return;
    const auto& highs = image_.lane_highs;
    if (highs.empty() || highs.back() != image_.leaves.largest)
      return void(fail("the lane does not cover the largest keys."));
    for (std::size_t i = 0; i < highs.size(); ++i) {
      if (i != 0 && highs[i] <= highs[i - 1]) return void(fail("the keys of the lane do not ascend."));
      const node_id id = image_.lane_ids.empty() ? static_cast<node_id>(i) : image_.lane_ids[i];
      const std::uint64_t low = i == 0 ? 0 : highs[i - 1] + 1;
      if (!starts_at_or_before(id, low)) return void(fail(say("the lane leads past keys at its place ", i, ".")));
    }
  }

  /// Checks each level from its first node by right links; entries ascend and lead to nodes that begin at or before
  /// them.
  void inner_levels() {
    if (!result_.ok) return;
    const auto& level = image_.inners;
    if (level.nodes.empty()) return void(fail("there is no root."));
    std::size_t reached = 0;
    for (node_id first = 0;;) {
      const std::uint32_t height = level.nodes[first].head.level;
      if (height == 0) return void(fail("an inner node says that it is a leaf."));
      std::uint64_t low = 0;
      for (node_id id = first;;) {
        if (id >= level.nodes.size() || ++reached > level.nodes.size())
          return void(fail("a link of the inner nodes leads astray."));
        const auto& n = level.nodes[id];
        if (n.head.level != height) return void(fail("right links connect inner nodes of different levels."));
        if (n.head.count == 0) return void(fail(say(name("inner node", id), " has no child.")));
        if (!node("inner node", level, id, low)) return;
        for (unsigned i = 0; i < n.head.count && height == 1; ++i) {
          if (!starts_at_or_before(level.children_of(id)[i], level.keys_of(id)[i]))
            return void(fail(say(name("inner node", id), " leads past keys.")));
        }
        if (n.head.right == no_node) {
          if (n.head.high != level.largest)
            return void(fail("the last inner node of a level does not cover the largest keys."));
          break;
        }
        low = n.head.high + 1;
        id = n.head.right;
      }
      if (height == 1) return;
      first = level.children_of(first)[0];
    }
  }

  const blink_node_copy& image_;
  validation result_;
  std::vector<bool> seen_;
  std::vector<std::uint64_t> low_;
  std::vector<node_id> order_;
};

/// Formats a key as readable text.
std::string text_of(scalar_kind kind, std::uint64_t word) {
  const std::uint64_t bits = bytes_of(kind) <= 4 ? decode_bits<std::uint32_t>(kind, static_cast<std::uint32_t>(word))
                                                 : decode_bits<std::uint64_t>(kind, word);
  char text[40];
  switch (kind) {
    case scalar_kind::i8:
      return std::to_string(static_cast<std::int8_t>(bits));
    case scalar_kind::i16:
      return std::to_string(static_cast<std::int16_t>(bits));
    case scalar_kind::i32:
      return std::to_string(static_cast<std::int32_t>(bits));
    case scalar_kind::i64:
      return std::to_string(static_cast<std::int64_t>(bits));
    case scalar_kind::f32: {
      const auto low = static_cast<std::uint32_t>(bits);
      float f;
      std::memcpy(&f, &low, 4);
      std::snprintf(text, sizeof(text), "%.9g", static_cast<double>(f));
      return text;
    }
    case scalar_kind::f64: {
      double d;
      std::memcpy(&d, &bits, 8);
      std::snprintf(text, sizeof(text), "%.17g", d);
      return text;
    }
    default:
      return std::to_string(bits);
  }
}
/// JSON does not support infinities and NaN.
std::string json_key(scalar_kind kind, std::uint64_t word) {
  const std::string text = text_of(kind, word);
  return text.find_first_of("ni") == std::string::npos ? text : say('"', text, '"');
}

void write_node(std::ostream& out, const blink_node_copy& image, const node_level_image& level, node_id id, bool leaf) {
  const auto& n = level.nodes[id];
  out << "{\"id\":" << id << ",\"level\":" << n.head.level << ",\"version\":" << n.version
      << ",\"dead\":" << (n.head.dead ? "true" : "false") << ",\"right\":";
  if (n.head.right == no_node) {
    out << "null";
  } else {
    out << n.head.right;
  }
  out << ",\"high\":" << json_key(image.key, n.head.high) << ",\"keys\":[";
  for (unsigned i = 0; i < n.head.count; ++i) out << (i != 0 ? "," : "") << json_key(image.key, level.keys_of(id)[i]);
  out << "]";
  if (!leaf) {
    out << ",\"children\":[";
    for (unsigned i = 0; i < n.head.count; ++i) out << (i != 0 ? "," : "") << level.children_of(id)[i];
    out << "]";
  }
  out << "}";
}

}  // namespace

validation blink_index::validate() const { return copy_nodes().validate(); }
std::string blink_index::dump(bool graphviz) const {
  const blink_node_copy image = copy_nodes();
  return graphviz ? image.graphviz() : image.json();
}

std::vector<bool> blink_node_copy::is_unused() const {
  std::vector<bool> waits(leaves.nodes.size(), false);
  for (const node_id id : unused) waits[id] = true;
  return waits;
}
validation blink_node_copy::validate() const { return checker(*this)(); }

std::string blink_node_copy::json() const {
  const std::vector<bool> unused_leaf = is_unused();
  std::ostringstream out;
  out << "{\"slots\":" << leaves.slots << ",\"leaves\":[";
  const char* comma = "";
  for (node_id id = 0; id < leaves.nodes.size(); ++id) {
    if (unused_leaf[id]) continue;
    out << comma;
    comma = ",";
    write_node(out, *this, leaves, id, true);
  }
  out << "],\"inner_nodes\":[";
  for (node_id id = 0; id < inners.nodes.size(); ++id) {
    if (id != 0) out << ",";
    write_node(out, *this, inners, id, false);
  }
  out << "],\"lane\":[";
  for (std::size_t i = 0; has_lane && i < lane_highs.size(); ++i) {
    out << (i != 0 ? "," : "") << "{\"high\":" << json_key(key, lane_highs[i]) << ",\"leaf\":" << lane_leaf(i) << "}";
  }
  out << "]}";
  return out.str();
}

std::string blink_node_copy::graphviz() const {
  const std::vector<bool> unused_leaf = is_unused();
  std::ostringstream out;
  out << "digraph blink_tree {\n  node [shape=record];\n";
  const auto keys_of = [&](const node_level_image& level, node_id id) {
    std::ostringstream text;
    for (unsigned i = 0; i < level.nodes[id].head.count; ++i)
      text << (i != 0 ? "|" : "") << text_of(key, level.keys_of(id)[i]);
    return text.str();
  };
  for (node_id id = 0; id < inners.nodes.size(); ++id) {
    const auto& n = inners.nodes[id];
    out << "  i" << id << " [label=\"" << keys_of(inners, id) << "\"];\n";
    for (unsigned i = 0; i < n.head.count; ++i)
      out << "  i" << id << " -> " << (n.head.level == 1 ? "l" : "i") << inners.children_of(id)[i] << ";\n";
    if (n.head.right != no_node)
      out << "  i" << id << " -> i" << n.head.right << " [style=dashed, constraint=false];\n";
  }
  for (node_id id = 0; id < leaves.nodes.size(); ++id) {
    if (unused_leaf[id]) continue;
    const auto& n = leaves.nodes[id];
    out << "  l" << id << " [label=\"" << keys_of(leaves, id) << "\"" << (n.head.dead ? ", style=dotted" : "")
        << "];\n";
    if (n.head.right != no_node)
      out << "  l" << id << " -> l" << n.head.right << " [style=dashed, constraint=false];\n";
  }
  out << "}\n";
  return out.str();
}

}  // namespace espalier::detail
