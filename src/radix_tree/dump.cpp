// dump.cpp - dumps everything reachable in a radix tree as text.
#include <sstream>
#include <string>

#include "espalier/radix_tree/trace_hooks.hpp"
#include "radix_tree/walk.hpp"

namespace espalier::detail {

namespace {

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
const char* kind_name(radix_link l) {
  static constexpr const char* kinds[] = {"node4", "node16", "node48", "node256"};
  return kinds[static_cast<unsigned>(l.kind())];
}

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

}  // namespace

std::string radix_index::dump(bool graphviz) const {
  std::string text;
  read_nodes(*this, [&](const auto& view, std::uint32_t root_info) {
    text = graphviz ? radix_graphviz(view) : radix_json(view, root_info);
  });
  return text;
}

}  // namespace espalier::detail
