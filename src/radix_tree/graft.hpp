// graft.hpp - inserts a sorted batch of new keys into a tree, without latches: the parallelism follows the output.
//
//   branch   keys that leave the tree at one position by one symbol. They are adjacent, because no key of the tree lies
//            between them, and become a subtree in the way of a build (build_kernels.hpp): a forest, whose trees end
//            where the branches do.
//   joint    a position where branches leave: a node that has no child there, or a path that has no node there. Its
//            branches are brought together by a sort. It is written once: a node for the path, or the node with all its
//            new children, in place or as a node of a kind that has room for them.
//
// Joints are identified by the link below: the highest one whose keys agree up to the joint or beyond. So the joints of
// a path are adjacent, from the top down, the node at its end comes last, and each joint knows its child. The topmost
// joint is linked into the holder of the link; if that node was replaced meanwhile, into its replacement, which is
// found among the joints.
//
// Old nodes are only read until everything is planned, and all memory is allocated by then: writing cannot fail. A
// replaced node is not changed, because the root table may lead to it.
#pragma once

#include <cstdint>
#include <utility>

#include "espalier/radix_tree/insert_erase.hpp"
#include "radix_tree/build_kernels.hpp"
#include "radix_tree/scratch.hpp"

namespace espalier::detail {

/// Computes the length of the longest common prefix of key i with any key of the tree, and the cuts of the forest: 0
/// where a branch begins.
template <unsigned V>
struct cut_branches {
  radix_view<V> tree;
  ordered_keys keys;
  std::uint32_t* agreed;
  std::uint32_t* cuts;
  std::uint64_t* begins;
  ESPALIER_HD void operator()(std::size_t i) const {
    const byte_key_view key = keys[i];
    const radix_link near = radix_searcher<scalar_team, radix_view<V>>::nearest(scalar_team{}, tree, key);
    const std::uint32_t own = first_difference(key, tree.key_of(near));
    const std::uint32_t parts = i == 0 ? 0 : first_difference(keys[i - 1], key);
    const bool begins_here = i == 0 || parts <= own;
    agreed[i] = own;
    cuts[i] = begins_here ? 0 : parts + 1;
    begins[i] = begins_here ? 1 : 0;
  }
};

/// A joint as a number: joints of one path are adjacent, from the top down.
struct joint_name {
  [[nodiscard]] static ESPALIER_INLINE std::uint64_t of(radix_link below, std::uint32_t at) {
    return std::uint64_t{below.word} << 32 | at;
  }
  [[nodiscard]] static ESPALIER_INLINE radix_link below(std::uint64_t name) {
    return {static_cast<std::uint32_t>(name >> 32)};
  }
  [[nodiscard]] static ESPALIER_INLINE std::uint32_t at(std::uint64_t name) { return static_cast<std::uint32_t>(name); }
};

/// The symbol by which a branch leaves, and the holder of the link below its joint.
struct branch_place {
  radix_link parent;  ///< nothing if it is the root
  std::uint16_t parent_symbol;
  std::uint16_t symbol;
};
template <unsigned V>
struct place_branch {
  radix_view<V> tree;
  ordered_keys keys;
  const std::uint32_t* agreed;
  const std::uint64_t* begins;  ///< scanned
  branch_place* places;
  std::uint64_t* joints;
  std::uint32_t* numbers;
  ESPALIER_HD void operator()(std::size_t i) const {
    if (begins[i + 1] == begins[i]) return;
    const auto b = static_cast<std::uint32_t>(begins[i]);
    const byte_key_view key = keys[i];
    const std::uint32_t at = agreed[i];
    branch_place place{{}, 0, static_cast<std::uint16_t>(symbol_at(key, at))};
    radix_link l = tree.root;
    while (l.is_node()) {
      radix_link next;
      tree.with_node(l, [&](const auto& n) {
        if (n.head.at >= at) return;
        const unsigned symbol = symbol_at(key, n.head.at);
        next = child_of(scalar_team{}, n, symbol);
        place.parent = l;
        place.parent_symbol = static_cast<std::uint16_t>(symbol);
      });
      if (next.is_nothing()) break;
      l = next;
    }
    places[b] = place;
    joints[b] = joint_name::of(l, at);
    numbers[b] = b;
  }
};

struct mark_joints {
  const std::uint64_t* names;  ///< joints of the branches, sorted
  std::uint64_t* marks;
  ESPALIER_HD void operator()(std::size_t p) const { marks[p] = p == 0 || names[p] != names[p - 1] ? 1 : 0; }
};
struct planned_joint {
  static constexpr std::uint8_t in_place = 0xff;

  std::uint64_t name;
  std::uint32_t first;  ///< first of its branches, among the sorted ones
  std::uint16_t branches;
  std::uint16_t children;      ///< number of all children that the node will have
  std::uint16_t symbol_below;  ///< for a joint on a path: the symbol by which the path continues
  bool is_node;                ///< the joint is the node below
  std::uint8_t kind;           ///< kind of the new node

  [[nodiscard]] ESPALIER_INLINE radix_link below() const { return joint_name::below(name); }
  [[nodiscard]] ESPALIER_INLINE std::uint32_t at() const { return joint_name::at(name); }
};
template <unsigned V>
struct plan_joint {
  radix_view<V> tree;
  const std::uint64_t* names;
  std::size_t n;
  const std::uint64_t* marks;  ///< scanned
  const std::uint32_t* branches;
  const branch_place* places;
  planned_joint* joints;
  ESPALIER_HD void operator()(std::size_t p) const {
    if (marks[p + 1] == marks[p]) return;
    std::size_t last = p + 1;
    while (last < n && names[last] == names[p]) ++last;
    planned_joint j{names[p], static_cast<std::uint32_t>(p), static_cast<std::uint16_t>(last - p), 0, 0, false, 0};
    unsigned ends = places[branches[p]].symbol == end_symbol ? 1 : 0, room = 0;
    const radix_link below = j.below();
    if (below.is_node()) {
      tree.with_node(below, [&](const auto& node) {
        j.is_node = node.head.at == j.at();
        if (!j.is_node) return;
        room = std::remove_reference_t<decltype(node)>::room;
        j.children = static_cast<std::uint16_t>(j.branches + node.head.count());
        ends += node.head.end.is_nothing() ? 0 : 1;
      });
    }
    if (!j.is_node) {
      const radix_link leaf = radix_searcher<scalar_team, radix_view<V>>::first_leaf(tree, below);
      j.symbol_below = static_cast<std::uint16_t>(symbol_at(tree.key_of(leaf), j.at()));
      j.children = static_cast<std::uint16_t>(j.branches + 1);
      ends += j.symbol_below == end_symbol ? 1 : 0;
    }
    const unsigned bytes = j.children - ends;
    j.kind = j.is_node && bytes <= room ? planned_joint::in_place : static_cast<std::uint8_t>(kind_for(bytes));
    joints[marks[p]] = j;
  }
};

/// Counts the nodes of the forest and, after them, those of the joints: two kinds per word, because no batch has 2^32
/// nodes.
struct count_kinds {
  const planned_node* nodes;
  std::size_t n;
  const planned_joint* joints;
  std::uint64_t* small;  ///< node4 and node16
  std::uint64_t* large;  ///< node48 and node256
  [[nodiscard]] ESPALIER_INLINE unsigned kind(std::size_t k) const {
    return k < n ? static_cast<unsigned>(nodes[k].kind()) : joints[k - n].kind;
  }
  ESPALIER_HD void operator()(std::size_t k) const {
    const unsigned own = kind(k);
    small[k] = own == 0 ? 1 : own == 1 ? std::uint64_t{1} << 32 : 0;
    large[k] = own == 2 ? 1 : own == 3 ? std::uint64_t{1} << 32 : 0;
  }
};
struct number_kinds {
  count_kinds counted;  ///< scanned
  std::uint32_t before[4];
  radix_link* made;
  ESPALIER_HD void operator()(std::size_t k) const {
    const unsigned own = counted.kind(k);
    if (own == planned_joint::in_place) {
      made[k] = counted.joints[k - counted.n].below();
      return;
    }
    const std::uint64_t counts = own < 2 ? counted.small[k] : counted.large[k];
    const auto rank = static_cast<std::uint32_t>(own % 2 == 0 ? counts : counts >> 32);
    made[k] = radix_link::of(static_cast<radix_kind>(own), before[own] + rank);
  }
};

/// Writes the node of a joint.
template <unsigned V>
struct write_joint {
  radix_view<V> tree;
  const planned_joint* joints;
  std::size_t n;
  const std::uint32_t* branches;
  const branch_place* places;
  const radix_link* roots;  ///< roots of the branches
  const radix_link* made;

  ESPALIER_HD void operator()(std::size_t g) const {
    const planned_joint& j = joints[g];
    tree.with_node(made[g], [&](auto& to) {
      if (j.kind == planned_joint::in_place) {
        add(to, j);
      } else {
        make(to, j, g);
      }
    });
  }

 private:
  [[nodiscard]] ESPALIER_INLINE unsigned symbol(std::uint32_t p) const { return places[branches[p]].symbol; }
  [[nodiscard]] ESPALIER_INLINE radix_link branch(std::uint32_t p) const { return roots[branches[p]]; }

  template <class Node>
  ESPALIER_INLINE void make(Node& to, const planned_joint& j, std::size_t g) const {
    unsigned slot = 0;
    const auto put = [&](unsigned s, radix_link child) {
      if (s == end_symbol) {
        to.head.end = child;
      } else {
        put_at_slot(to, slot++, static_cast<std::uint8_t>(s - 1), child);
      }
    };
    std::uint32_t p = j.first;
    const std::uint32_t last = p + j.branches;
    const auto put_before = [&](unsigned end) {
      for (; p < last && symbol(p) < end; ++p) put(symbol(p), branch(p));
    };
    const radix_link below = j.below();
    if (j.is_node) {
      tree.with_node(below, [&](auto& from) {
        each_child(from, end_symbol, [&](unsigned s, radix_link child) {
          put_before(s);
          put(s, child);
          return true;
        });
        from.head.info |= radix_info::dead;
      });
    } else {
      put_before(j.symbol_below);
      put(j.symbol_below, g + 1 < n && joints[g + 1].below() == below ? made[g + 1] : below);
    }
    put_before(257);
    to.head.at = j.at();
    to.head.info = j.children * radix_info::one_child;
  }
  /// Adds the branches to a node that has room for them.
  template <class Node>
  ESPALIER_INLINE void add(Node& to, const planned_joint& j) const {
    std::uint32_t first = j.first, last = first + j.branches;
    to.head.info += j.branches * radix_info::one_child;
    if (symbol(first) == end_symbol) to.head.end = branch(first++);
    if constexpr (Node::room <= 16) {  // from the end, so that no entry is overwritten before it is moved
      unsigned there = 0;
      while (there < Node::room && !to.children[there].is_nothing()) ++there;
      for (unsigned slot = there + (last - first); last > first;) {
        const unsigned b = symbol(last - 1) - 1;
        --slot;
        if (there > 0 && to.bytes[there - 1] > b) {
          --there;
          to.bytes[slot] = to.bytes[there];
          to.children[slot] = to.children[there];
        } else {
          to.bytes[slot] = static_cast<std::uint8_t>(b);
          to.children[slot] = branch(--last);
        }
      }
    } else {
      for (unsigned slot = 0; first < last; ++first) {
        if constexpr (Node::kind == radix_kind::node48) {
          while (!to.children[slot].is_nothing()) ++slot;
        }
        put_at_slot(to, slot, static_cast<std::uint8_t>(symbol(first) - 1), branch(first));
      }
    }
  }
};
/// Links the topmost joint of each path into the holder of the link below.
template <unsigned V>
struct hang_joint {
  radix_view<V> tree;
  const planned_joint* joints;
  std::size_t n;
  const std::uint32_t* branches;
  const branch_place* places;
  const radix_link* made;
  radix_link* root;
  ESPALIER_HD void operator()(std::size_t g) const {
    const radix_link below = joints[g].below();
    if (made[g] == below || (g != 0 && joints[g - 1].below() == below)) return;
    const branch_place& place = places[branches[joints[g].first]];
    if (place.parent.is_nothing()) {
      *root = made[g];
      return;
    }
    tree.with_node(now(place.parent), [&](auto& node) { *place_of_child(node, place.parent_symbol) = made[g]; });
  }
  /// Returns the replacement of a node, or the node itself.
  [[nodiscard]] ESPALIER_INLINE radix_link now(radix_link node) const {
    const std::uint64_t name =
        joint_name::of(node, tree.with_node(node, [](const auto& old) { return std::uint32_t{old.head.at}; }));
    std::size_t first = 0, last = n;
    while (first < last) {
      const std::size_t middle = first + (last - first) / 2;
      if (joints[middle].name < name) {
        first = middle + 1;
      } else {
        last = middle;
      }
    }
    return first < n && joints[first].name == name ? made[first] : node;
  }
};
/// Counts replaced nodes by kind. Each of `parts` threads counts its own part first.
struct count_replaced {
  static constexpr std::size_t parts = 1u << 14;
  const planned_joint* joints;
  std::size_t n;
  std::uint32_t* dead;
  ESPALIER_HD void operator()(std::size_t part) const {
    std::uint32_t own[4] = {};
    for (std::size_t g = part; g < n; g += parts) {
      if (joints[g].is_node && joints[g].kind != planned_joint::in_place)
        ++own[static_cast<unsigned>(joints[g].below().kind())];
    }
    for (unsigned k = 0; k < 4; ++k) {
      if (own[k] != 0) (void)atomic_word_ref{dead + k}.fetch_add(own[k]);
    }
  }
};

/// The changes of a batch to the nodes of a tree: planned, then written.
template <class Context, unsigned V>
class radix_graft {
 public:
  /// Keys are sorted and distinct, and are not in the tree. Changes nothing, and allocates all memory that write()
  /// needs, except for that of the nodes.
  radix_graft(Context& context, const radix_view<V>& tree, const ordered_keys& keys)
      : context_(context),
        keys_(keys),
        cuts_(room<std::uint32_t>(context, keys.n + 1)),
        begins_(room<std::uint64_t>(context, keys.n + 1)),
        outcome_(room<outcome>(context, 1)) {
    plan_branches(tree);
    plan_forest();
    if (tree.size != 0) plan_joints(tree);
    count();
  }
  /// Number of new nodes of each kind.
  [[nodiscard]] std::size_t made(unsigned kind) const { return made_counts_[kind]; }

  struct outcome {
    radix_link root;
    std::uint32_t dead[4];  ///< dead nodes by kind
  };
  /// `leaves` are the leaves of the keys, already written; `before` is the number of existing nodes of each kind, after
  /// which there is room.
  [[nodiscard]] outcome write(const radix_view<V>& tree, const radix_link* leaves, const std::size_t (&before)[4]) {
    const outcome start{tree.root, {}};
    context_.copy(outcome_.data(), &start, sizeof(start));
    if constexpr (Context::on_gpu) context_.order().synchronize();
    number_kinds number{counted(), {}, links_.data()};
    for (unsigned k = 0; k < 4; ++k) number.before[k] = static_cast<std::uint32_t>(before[k]);
    const std::size_t trees = nodes_.size(), joints = joints_.size();
    context_.for_each(trees + joints, number);
    context_.for_each(trees, write_head<V>{tree, nodes_.data(), links_.data()});
    const hang<V> up{tree,          keys_,         cuts_.data(),  owners_.data(), ordinals_.data(),
                     nodes_.data(), links_.data(), roots_.data(), begins_.data()};
    context_.for_each(keys_.n, hang_leaf<V>{up, leaves});
    context_.for_each(trees, hang_node<V>{up});
    if (joints == 0) {
      context_.copy(&outcome_.data()->root, roots_.data(), sizeof(radix_link));
    } else {
      const radix_link* const made = links_.data() + trees;
      context_.for_each(
          joints, write_joint<V>{tree, joints_.data(), joints, branches_.data(), places_.data(), roots_.data(), made});
      context_.for_each(joints, hang_joint<V>{tree, joints_.data(), joints, branches_.data(), places_.data(), made,
                                              &outcome_.data()->root});
      context_.for_each(joints < count_replaced::parts ? joints : count_replaced::parts,
                        count_replaced{joints_.data(), joints, outcome_.data()->dead});
    }
    return context_.read(outcome_.data());
  }

 private:
  void plan_branches(const radix_view<V>& tree) {
    const std::size_t n = keys_.n;
    if (tree.size == 0) {  // one branch, which becomes the tree
      context_.for_each(n + 1, write_cut{keys_, cuts_.data()});
      context_.zero(begins_.data(), begins_.bytes());
      roots_ = room<radix_link>(context_, 1);
      return;
    }
    const buffer<std::uint32_t> agreed = room<std::uint32_t>(context_, n);
    context_.zero(cuts_.data() + n, 4);
    context_.for_each(n, cut_branches<V>{tree, keys_, agreed.data(), cuts_.data(), begins_.data()});
    const std::size_t branches = number_marks(context_, begins_, n);
    roots_ = room<radix_link>(context_, branches);
    places_ = room<branch_place>(context_, branches);
    names_ = room<std::uint64_t>(context_, branches);
    branches_ = room<std::uint32_t>(context_, branches);
    buffer<std::uint64_t> names = room<std::uint64_t>(context_, branches);
    const buffer<std::uint32_t> numbers = room<std::uint32_t>(context_, branches);
    context_.for_each(
        n, place_branch<V>{tree, keys_, agreed.data(), begins_.data(), places_.data(), names.data(), numbers.data()});
    context_.sort_from(names.data(), names_, numbers.data(), branches_, branches);
  }
  void plan_forest() {
    const range_min_tree<Context> low(context_, cuts_.data(), keys_.n + 1);
    const std::size_t inner = keys_.n - 1;
    const buffer<std::uint64_t> opens = room<std::uint64_t>(context_, inner + 1);
    context_.for_each(inner, mark_opening{low.view(), opens.data()});
    nodes_ = room<planned_node>(context_, number_marks(context_, opens, inner));
    owners_ = room<std::uint32_t>(context_, keys_.n + 1);
    ordinals_ = room<std::uint16_t>(context_, keys_.n + 1);
    if (nodes_.size() == 0) return;
    context_.for_each(inner,
                      plan_node{keys_, low.view(), opens.data(), nodes_.data(), owners_.data(), ordinals_.data()});
  }
  void plan_joints(const radix_view<V>& tree) {
    const std::size_t n = branches_.size();
    const buffer<std::uint64_t> marks = room<std::uint64_t>(context_, n + 1);
    context_.for_each(n, mark_joints{names_.data(), marks.data()});
    joints_ = room<planned_joint>(context_, number_marks(context_, marks, n));
    context_.for_each(
        n, plan_joint<V>{tree, names_.data(), n, marks.data(), branches_.data(), places_.data(), joints_.data()});
  }
  void count() {
    const std::size_t n = nodes_.size() + joints_.size();
    links_ = room<radix_link>(context_, n);
    small_ = room<std::uint64_t>(context_, n + 1);
    large_ = room<std::uint64_t>(context_, n + 1);
    context_.for_each(n, counted());
    const std::uint64_t small = number_marks(context_, small_, n), large = number_marks(context_, large_, n);
    made_counts_[0] = static_cast<std::uint32_t>(small);
    made_counts_[1] = static_cast<std::size_t>(small >> 32);
    made_counts_[2] = static_cast<std::uint32_t>(large);
    made_counts_[3] = static_cast<std::size_t>(large >> 32);
  }
  [[nodiscard]] count_kinds counted() const {
    return {nodes_.data(), nodes_.size(), joints_.data(), small_.data(), large_.data()};
  }

  Context& context_;
  ordered_keys keys_;
  buffer<std::uint32_t> cuts_;    ///< cuts of the forest
  buffer<std::uint64_t> begins_;  ///< number of branches that begin before key i
  buffer<outcome> outcome_;
  buffer<radix_link> roots_;  ///< roots of the branches, in key order
  buffer<branch_place> places_;
  buffer<std::uint64_t> names_;     ///< joints of the branches, sorted
  buffer<std::uint32_t> branches_;  ///< numbers of the branches in that order
  buffer<planned_node> nodes_;      ///< nodes of the forest
  buffer<std::uint32_t> owners_;
  buffer<std::uint16_t> ordinals_;
  buffer<planned_joint> joints_;
  buffer<std::uint64_t> small_, large_;
  buffer<radix_link> links_;  ///< links of the forest's nodes, then of the joints' nodes
  std::size_t made_counts_[4] = {};
};

}  // namespace espalier::detail
