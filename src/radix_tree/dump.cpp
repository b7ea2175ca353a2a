// dump.cpp - see dump.hpp.
#include "radix_tree/dump.hpp"

#include <algorithm>
#include <sstream>
#include <utility>
#include <vector>

#include "espalier/core/error.hpp"
#include "espalier/radix_tree/trace_hooks.hpp"
#include "espalier/trace/trace.hpp"

namespace espalier::detail {

namespace {

/// A node or leaf, in key order from the root down.
struct radix_place {
  radix_link link;
  std::size_t parent;   ///< index of the parent; the root is its own parent
  std::uint32_t known;  ///< number of bytes determined by the path
  radix_link some;      ///< a leaf below, or the leaf itself
};

template <unsigned V>
std::uint32_t branches_at(const radix_view<V>& t, radix_link node) {
  return t.with_node(node, [](const auto& n) { return n.head.at; });
}
template <unsigned V, class F>
void children_of(const radix_view<V>& t, radix_link node, const F& f) {
  t.with_node(node, [&](const auto& n) {
    each_child(n, end_symbol, [&](unsigned symbol, radix_link child) {
      f(symbol, child);
      return true;
    });
  });
}

/// Not recursive, because a tree can be as deep as its longest key.
template <unsigned V>
std::vector<radix_place> places_of(const radix_view<V>& t) {
  std::vector<radix_place> places, open;
  if (t.size != 0) open.push_back({t.root, 0, 0, {}});
  while (!open.empty()) {
    const std::size_t here = places.size();
    places.push_back(open.back());
    open.pop_back();
    const radix_link l = places.back().link;
    if (!l.is_node()) continue;
    const std::size_t first = open.size();
    const std::uint32_t at = branches_at(t, l);
    children_of(t, l, [&](unsigned symbol, radix_link child) {
      open.push_back({child, here, symbol == end_symbol ? at : at + 1, {}});
    });
    std::reverse(open.begin() + static_cast<std::ptrdiff_t>(first), open.end());
  }
  for (std::size_t i = places.size(); i-- > 0;) {
    if (!places[i].link.is_node()) places[i].some = places[i].link;
    places[places[i].parent].some = places[i].some;
  }
  return places;
}

template <unsigned V>
std::string bytes_between(const radix_view<V>& t, radix_link leaf, std::uint32_t from, std::uint32_t to) {
  const leaf_key key = t.key_of(leaf);
  std::string bytes;
  for (std::uint32_t i = from; i < to; ++i) bytes += static_cast<char>(symbol_at(key, i) - 1);
  return bytes;
}
/// The bytes that all keys below share, beyond those determined by the path; for a leaf, the rest of its key.
template <unsigned V>
std::string prefix_of(const radix_view<V>& t, const radix_place& p) {
  return bytes_between(t, p.some, p.known, p.link.is_node() ? branches_at(t, p.link) : t.key_of(p.link).size);
}
template <unsigned V>
std::string key_of_leaf(const radix_view<V>& t, radix_link leaf) {
  return bytes_between(t, leaf, 0, t.key_of(leaf).size);
}

constexpr const char* hexadecimal_digits = "0123456789abcdef";

/// Quotes for JSON and Graphviz: printable ASCII is copied, other bytes and the backslash become \xNN.
std::string quoted(const std::string& bytes) {
  std::string text = "\"";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e || c == '\\') {
      text += {'\\', '\\', 'x', hexadecimal_digits[byte >> 4], hexadecimal_digits[byte & 15]};
    } else {
      if (c == '"') text += '\\';
      text += c;
    }
  }
  return text + '"';
}

/// Names as in traces; leaves of keys of more than eight bytes are numbered by their class.
std::string text_of_name(radix_link l) {
  static constexpr const char* classes[leaf_classes] = {"", "_16", "_32", "_long"};
  const std::string number = std::to_string(radix_trace::number(l));
  return l.is_node() ? 'i' + number : 'l' + number + classes[leaf_class(l.kind())];
}
const char* kind_name(radix_link l) { return trace_node_kind_names[static_cast<unsigned>(l.kind()) + 1]; }

template <unsigned V>
void write_inner_node(std::ostream& out, const radix_view<V>& t, const radix_place& p) {
  std::uint32_t version = 0;
  t.with_node(p.link, [&](const auto& n) { version = radix_trace::version(n.head.info); });
  out << "{\"name\":\"" << text_of_name(p.link) << "\",\"kind\":\"" << kind_name(p.link)
      << "\",\"at\":" << branches_at(t, p.link) << ",\"version\":" << version
      << ",\"prefix\":" << quoted(prefix_of(t, p));
  std::string keys, children, end = "null";
  children_of(t, p.link, [&](unsigned symbol, radix_link child) {
    const std::string name = '"' + text_of_name(child) + '"';
    if (symbol == end_symbol) {
      end = name;
      return;
    }
    const char* const comma = keys.empty() ? "" : ",";
    keys += comma + quoted(std::string(1, static_cast<char>(symbol - 1)));
    children += comma + name;
  });
  out << ",\"end\":" << end << ",\"keys\":[" << keys << "],\"children\":[" << children << "]}";
}

std::string hexadecimal_of(const std::string& bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {hexadecimal_digits[byte >> 4], hexadecimal_digits[byte & 15]};
  }
  return text;
}
trace_name trace_name_of(radix_link l) { return {radix_trace::number(l), l.is_node()}; }

template <unsigned V>
void require_traced_key(const radix_view<V>& t, radix_link leaf) {
  const std::uint32_t size = t.key_of(leaf).size;
  if (size != 8)
    throw error("radix_tree: traces know keys of 8 bytes, such as byte_key(number), and this tree has one of " +
                std::to_string(size) + ".");
}

}  // namespace

template <unsigned V>
std::string radix_json(const radix_view<V>& t, std::uint32_t root_info) {
  const std::vector<radix_place> places = places_of(t);
  std::ostringstream leaves, inner_nodes;
  for (const radix_place& p : places) {
    std::ostringstream& out = p.link.is_node() ? inner_nodes : leaves;
    if (out.tellp() != 0) out << ",";
    if (p.link.is_node()) {
      write_inner_node(out, t, p);
    } else {
      out << "{\"name\":\"" << text_of_name(p.link) << "\",\"prefix\":" << quoted(prefix_of(t, p))
          << ",\"key\":" << quoted(key_of_leaf(t, p.link)) << "}";
    }
  }
  std::ostringstream out;
  out << "{\"size\":" << t.size << ",\"table_bits\":" << t.table_bits
      << ",\"root\":{\"version\":" << radix_trace::version(root_info)
      << ",\"child\":" << (places.empty() ? "null" : '"' + text_of_name(t.root) + '"') << "},\"leaves\":["
      << leaves.str() << "],\"inner_nodes\":[" << inner_nodes.str() << "]}";
  return out.str();
}

template <unsigned V>
std::string radix_graphviz(const radix_view<V>& t) {
  std::ostringstream out;
  out << "digraph radix_tree {\n  node [shape=box];\n";
  for (const radix_place& p : places_of(t)) {
    const std::string name = text_of_name(p.link);
    if (!p.link.is_node()) {
      out << "  " << name << " [label=" << quoted(key_of_leaf(t, p.link)) << ", shape=plaintext];\n";
      continue;
    }
    out << "  " << name << " [label=" << quoted(kind_name(p.link) + (' ' + prefix_of(t, p))) << "];\n";
    children_of(t, p.link, [&](unsigned symbol, radix_link child) {
      const std::string byte(symbol == end_symbol ? 0 : 1, static_cast<char>(symbol - 1));
      out << "  " << name << " -> " << text_of_name(child) << " [label=" << quoted(byte) << "];\n";
    });
  }
  out << "}\n";
  return out.str();
}

template <unsigned V>
trace_state radix_state(const radix_view<V>& t, std::uint32_t root_info) {
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
        n.children.push_back(trace_name_of(child));
      });
    } else {
      require_traced_key(t, p.link);
      n.kind = trace_node_kind::leaf;
      n.keys = {t.key_of(p.link).word(0)};
    }
    n.prefix = hexadecimal_of(prefix_of(t, p));
    state.nodes[trace_name_of(p.link)] = std::move(n);
  }
  if (t.size != 0) {
    top.keys = {0};
    top.children = {trace_name_of(t.root)};
  }
  return state;
}

template std::string radix_json(const radix_view<0>&, std::uint32_t);
template std::string radix_json(const radix_view<4>&, std::uint32_t);
template std::string radix_json(const radix_view<8>&, std::uint32_t);
template std::string radix_json(const radix_view<16>&, std::uint32_t);
template std::string radix_graphviz(const radix_view<0>&);
template std::string radix_graphviz(const radix_view<4>&);
template std::string radix_graphviz(const radix_view<8>&);
template std::string radix_graphviz(const radix_view<16>&);
template trace_state radix_state(const radix_view<0>&, std::uint32_t);
template trace_state radix_state(const radix_view<4>&, std::uint32_t);
template trace_state radix_state(const radix_view<8>&, std::uint32_t);
template trace_state radix_state(const radix_view<16>&, std::uint32_t);

}  // namespace espalier::detail
