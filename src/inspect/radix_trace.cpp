// radix_trace.cpp - see radix_trace.hpp.
#include "espalier/inspect/radix_trace.hpp"

#include <string>
#include <utility>

#include "espalier/core/error.hpp"
#include "espalier/radix_tree/trace_hooks.hpp"
#include "inspect/radix_traced_run.hpp"
#include "radix_tree/walk.hpp"

namespace espalier::detail {

namespace {

std::string hexadecimal_of(const std::string& bytes) {
  static constexpr const char* digits = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {digits[byte >> 4], digits[byte & 15]};
  }
  return text;
}
trace_name name_of(radix_link l) { return {radix_trace::number(l), l.is_node()}; }

template <unsigned V>
void require_traced_key(const radix_view<V>& t, radix_link leaf) {
  const std::uint32_t size = t.key_of(leaf).size;
  if (size != 8)
    throw error("radix_tree: traces know keys of 8 bytes, such as byte_key(number), and this tree has one of " +
                std::to_string(size) + ".");
}

template <unsigned V>
trace_state state_of_view(const radix_view<V>& t, std::uint32_t root_info) {
  trace_state state;
  trace_node_state& top = state.nodes[state.root];
  top.level = radix_trace::root_level;
  top.kind = trace_node_kind::root;
  top.version = radix_trace::version(root_info);
  for (const radix_place& p : places_of(t)) {
    trace_node_state n;
    if (p.link.is_node()) {
      n.level = radix_trace::level(branches_at(t, p.link));
      n.kind = static_cast<trace_node_kind>(static_cast<unsigned>(p.link.kind()) + 1);
      t.with_node(p.link, [&](const auto& node) { n.version = radix_trace::version(node.head.info); });
      children_of(t, p.link, [&](unsigned symbol, radix_link child) {
        n.keys.push_back(symbol - 1);
        n.children.push_back(name_of(child));
      });
    } else {
      require_traced_key(t, p.link);
      n.kind = trace_node_kind::leaf;
      n.keys = {t.key_of(p.link).word(0)};
    }
    n.prefix = hexadecimal_of(prefix_of(t, p));
    state.nodes[name_of(p.link)] = std::move(n);
  }
  if (t.size != 0) {
    top.keys = {0};
    top.children = {name_of(t.root)};
  }
  return state;
}

}  // namespace

trace_header radix_trace_header(const radix_index& tree) {
  trace_header header;
  header.index = "radix";
  header.protocol = "none";
  header.slots = 256;
  header.device = tree.get_device().kind() == device_kind::cpu ? "cpu" : "gpu";
  header.team = "thread";  // on a GPU one per key, as for the library's own writes
  return header;
}

trace_state radix_state(const radix_index& tree) {
  trace_state state;
  read_nodes(tree, [&](const auto& view, std::uint32_t root_info) { state = state_of_view(view, root_info); });
  return state;
}

radix_traced_outcome run_traced(radix_index& tree, const radix_traced_call& call) {
  if (value_slot(tree.elements().value_bytes) != 8)
    throw error("radix_tree: calls are traced in trees with values of 8 bytes: give this one such values.");
  if (call.keys.n == 0) return {};
#ifdef ESPALIER_HAS_CUDA
  if (tree.get_device().kind() == device_kind::cuda) return run_traced_cuda(tree, call);
#endif
  return run_traced_cpu(tree, call);
}

}  // namespace espalier::detail
