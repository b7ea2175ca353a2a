// radix_state.cpp - see radix_state.hpp.
#include "explorer/radix_state.hpp"

#include <string>
#include <utility>

namespace espalier::explorer {

namespace {

trace_name name_of_link(radix_link l) { return {radix_trace::number(l), l.is_node()}; }

std::string hex_of(std::uint64_t key, std::uint32_t from, std::uint32_t to) {
  static const char* digits = "0123456789abcdef";
  std::string text;
  for (std::uint32_t i = from; i < to && i < 8; ++i) {
    const auto byte = static_cast<unsigned>(key >> (56 - 8 * i) & 0xff);
    text += {digits[byte >> 4], digits[byte & 15]};
  }
  return text;
}

/// The tree below a link, whose first `known` bytes the way there has told.
class radix_walker {
 public:
  radix_walker(const numbers_view& t, trace_state& state) : t_(t), state_(state) {}

  /// A key below it.
  std::uint64_t operator()(radix_link l, std::uint32_t known) {
    if (!l.is_node()) {
      trace_node_state& leaf = state_.nodes[name_of_link(l)];
      leaf.kind = trace_node_kind::leaf;
      leaf.keys = {t_.key_of(l).word(0)};
      leaf.prefix = hex_of(leaf.keys[0], known, 8);
      return leaf.keys[0];
    }
    trace_node_state n;
    std::uint64_t some = 0;
    std::uint32_t at = 0;
    t_.with_node(l, [&](const auto& node) {
      at = node.head.at;
      n.level = radix_trace::level(at);
      n.kind = static_cast<trace_node_kind>(static_cast<unsigned>(l.kind()) + 1);
      n.version = radix_trace::version(node.head.info);
      each_child(node, 1, [&](unsigned symbol, radix_link child) {
        n.keys.push_back(symbol - 1);
        n.children.push_back(name_of_link(child));
        some = (*this)(child, at + 1);
        return true;
      });
    });
    n.prefix = hex_of(some, known, at);
    state_.nodes[name_of_link(l)] = std::move(n);
    return some;
  }

 private:
  const numbers_view& t_;
  trace_state& state_;
};

}  // namespace

trace_state radix_state(const numbers_view& tree, std::uint32_t root_info) {
  trace_state state;
  trace_node_state& top = state.nodes[state.root];
  top.level = radix_trace::root_level;
  top.kind = trace_node_kind::root;
  top.version = radix_trace::version(root_info);
  if (tree.size == 0) return state;
  top.keys = {0};
  top.children = {name_of_link(tree.root)};
  (void)radix_walker(tree, state)(tree.root, 0);
  return state;
}

}  // namespace espalier::explorer
