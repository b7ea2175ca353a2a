// validate.cpp - see validate.hpp.
#include "radix_tree/validate.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "espalier/radix_tree/descend.hpp"
#include "espalier/team/scalar_team.hpp"

namespace espalier::detail {
namespace {

template <unsigned V>
class checker {
 public:
  checker(const radix_view<V>& tree, const radix_counts& counts) : t_(tree), counts_(counts) {
    for (unsigned k = 0; k < 4; ++k) node_seen_[k].resize(counts.nodes[k]);
    for (unsigned c = 0; c < leaf_classes; ++c) leaf_seen_[c].resize(counts.leaves[c]);
  }

  [[nodiscard]] std::string problem() {
    if (t_.size == 0) return t_.root.is_nothing() ? "" : "an empty tree has a root";
    std::string found = walk();
    if (!found.empty()) return found;
    if (in_order_.size() != t_.size)
      return std::to_string(in_order_.size()) + " keys are reached, but there are " + std::to_string(t_.size);
    for (unsigned k = 0; k < 4; ++k) {
      if (unseen(node_seen_[k]) != counts_.dead_nodes[k]) return "nodes of kind " + std::to_string(k) + " are lost";
    }
    for (unsigned c = 0; c < leaf_classes; ++c) {
      if (unseen(leaf_seen_[c]) != counts_.dead_leaves[c]) return "leaves of class " + std::to_string(c) + " are lost";
    }
    found = order_problem();
    return found.empty() ? table_problem() : found;
  }

 private:
  static std::size_t unseen(const std::vector<bool>& seen) {
    return static_cast<std::size_t>(std::count(seen.begin(), seen.end(), false));
  }
  static std::string name(radix_link l) {
    return "kind " + std::to_string(static_cast<unsigned>(l.kind())) + " number " + std::to_string(l.index());
  }

  /// Traverses the tree in key order with an explicit stack, because a path may be as long as a key.
  [[nodiscard]] std::string walk() {
    std::vector<radix_link> open{t_.root};
    std::vector<std::int64_t> at{-1};
    while (!open.empty()) {
      const radix_link l = open.back();
      const std::int64_t above = at.back();
      open.pop_back();
      at.pop_back();
      if (l.is_nothing()) return "a link leads nowhere";
      if (l.is_leaf()) {
        const unsigned c = leaf_class(l.kind());
        if (l.index() >= counts_.leaves[c]) return name(l) + " does not exist";
        if (leaf_seen_[c][l.index()]) return name(l) + " is reached twice";
        leaf_seen_[c][l.index()] = true;
        const leaf_key key = t_.key_of(l);
        if (l.kind() != leaf_kind(key.size)) return name(l) + " has a key of " + std::to_string(key.size) + " bytes";
        if (!in_order_.empty()) {
          const leaf_key before = t_.key_of(in_order_.back());
          const std::uint32_t d = first_difference(before, key);
          if (d == same_key) return name(l) + " has the key of its neighbour";
          if (symbol_at(before, d) >= symbol_at(key, d)) return name(l) + " is out of order";
        }
        in_order_.push_back(l);
        continue;
      }
      const auto k = static_cast<unsigned>(l.kind());
      if (l.index() >= counts_.nodes[k]) return name(l) + " does not exist";
      if (node_seen_[k][l.index()]) return name(l) + " is reached twice";
      node_seen_[k][l.index()] = true;
      std::string wrong;
      t_.with_node(l, [&](const auto& n) { wrong = node_problem(n, above, open, at); });
      if (!wrong.empty()) return name(l) + " " + wrong;
    }
    return {};
  }
  template <class Node>
  [[nodiscard]] std::string node_problem(const Node& n, std::int64_t above, std::vector<radix_link>& open,
                                         std::vector<std::int64_t>& at) {
    if (static_cast<std::int64_t>(n.head.at) <= above) return "branches at or above its parent";
    std::vector<radix_link> children;
    std::vector<unsigned> symbols;
    each_child(n, end_symbol, [&](unsigned s, radix_link child) {
      children.push_back(child);
      symbols.push_back(s);
      return true;
    });
    if (children.size() != n.head.count()) return "counts " + std::to_string(n.head.count()) + " children";
    if ((n.head.info & (radix_info::latched | radix_info::dead)) != 0) return "is latched or dead";
    if (children.size() < 2) return "has fewer than two children";
    if (children.size() - (n.head.end.is_nothing() ? 0 : 1) > Node::room) return "has too many children";
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (i != 0 && symbols[i] <= symbols[i - 1]) return "has its bytes out of order";
      // The keys below it must have this symbol here, and agree before; neighbours in key order are compared as leaves.
      const radix_link leaf = radix_searcher<scalar_team, radix_view<V>>::first_leaf(t_, children[i]);
      if (leaf.is_nothing()) return "has an empty child";
      const leaf_key key = t_.key_of(leaf);
      if (key.size < n.head.at || symbol_at(key, n.head.at) != symbols[i])
        return "leads to a key with another byte there";
      if (i != 0) {
        const radix_link first = radix_searcher<scalar_team, radix_view<V>>::first_leaf(t_, children[0]);
        if (first_difference(t_.key_of(first), key) != n.head.at) return "has keys that part elsewhere";
      }
    }
    for (std::size_t i = children.size(); i-- > 0;) {
      open.push_back(children[i]);
      at.push_back(n.head.at);
    }
    return {};
  }
  [[nodiscard]] std::string order_problem() {
    for (std::size_t i = 0; i < in_order_.size(); ++i) {
      if (!(t_.leaf_at(i) == in_order_[i])) return "the leaf of rank " + std::to_string(i) + " is another one";
      if (t_.rank_of(in_order_[i]) != i) return name(in_order_[i]) + " has another rank";
    }
    return {};
  }
  [[nodiscard]] std::string table_problem() {
    if (t_.table_bits == 0) return {};
    for (const radix_link l : in_order_) {
      const leaf_key key = t_.key_of(l);
      if (!t_.in_table(key)) continue;
      const radix_link found =
          radix_searcher<scalar_team, radix_view<V>>::find_from(scalar_team{}, t_, t_.cells[t_.cell_of(key)], key);
      if (t_.table_is_exact && !(found == l)) return name(l) + " is not found by the table";
    }
    return {};
  }

  const radix_view<V>& t_;
  radix_counts counts_;
  std::vector<bool> node_seen_[4], leaf_seen_[leaf_classes];
  std::vector<radix_link> in_order_;
};

}  // namespace

template <unsigned V>
validation validate_radix(const radix_view<V>& tree, const radix_counts& counts) {
  const std::string problem = checker<V>(tree, counts).problem();
  return {problem.empty(), problem};
}
template validation validate_radix(const radix_view<0>&, const radix_counts&);
template validation validate_radix(const radix_view<4>&, const radix_counts&);
template validation validate_radix(const radix_view<8>&, const radix_counts&);
template validation validate_radix(const radix_view<16>&, const radix_counts&);

}  // namespace espalier::detail
