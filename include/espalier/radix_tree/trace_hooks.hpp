// trace_hooks.hpp - trace events of radix trees: names of nodes, and the events that a writer records.
#pragma once

#include "espalier/radix_tree/view.hpp"
#include "espalier/trace/note.hpp"

namespace espalier {

/// Names of nodes in traces of trees with keys of eight bytes: inner nodes of all kinds are numbered together, after
/// the root's number 0, and a node that branches at byte `at` has level 8 - at, so that levels descend on every path.
struct radix_trace {
  static constexpr std::uint32_t root_level = 9;
  [[nodiscard]] static ESPALIER_INLINE trace_node root() { return {0, root_level}; }
  [[nodiscard]] static ESPALIER_INLINE std::uint32_t number(radix_link l) {
    return l.is_node() ? 1 + 4 * l.index() + static_cast<std::uint32_t>(l.kind()) : l.index();
  }
  [[nodiscard]] static ESPALIER_INLINE std::uint32_t level(std::uint32_t at) { return at < 8 ? 8 - at : 1; }
  [[nodiscard]] static ESPALIER_INLINE trace_node node(radix_link l, std::uint32_t at) {
    return {number(l), level(at)};
  }
  /// Version of a node's word `info`: even, or odd while it is latched.
  [[nodiscard]] static ESPALIER_INLINE std::uint32_t version(std::uint32_t info) {
    return 2 * (info / radix_info::one_version) + (info & radix_info::latched);
  }
};

/// Team of an untraced writer.
struct untraced_thread {};

/// Events of radix_mutator, which runs concurrently with others: events about nodes it has latched, and about new ones.
/// The link `nothing` stands for the holder of the root. For an untraced team the calls generate no code.
template <class Team, class View>
class radix_notes {
 public:
  ESPALIER_INLINE radix_notes(const Team&, const View&) {}
  ESPALIER_INLINE void attempt(unsigned) const {}
  ESPALIER_INLINE void reach(radix_link) const {}
  ESPALIER_INLINE void retry(radix_link, std::uint32_t, std::uint32_t) const {}
  ESPALIER_INLINE void latch(radix_link, std::uint32_t) const {}
  ESPALIER_INLINE void unlatch(radix_link, std::uint32_t) const {}
  ESPALIER_INLINE void attach(radix_link, unsigned, radix_link) const {}
  ESPALIER_INLINE void detach(radix_link, radix_link, unsigned) const {}
  ESPALIER_INLINE void drop_from_root(const std::uint32_t*) const {}
  ESPALIER_INLINE void branch(radix_link, unsigned, radix_link, std::uint32_t, radix_link) const {}
  ESPALIER_INLINE void kind(radix_link, radix_link, radix_link) const {}
  ESPALIER_INLINE void collapse(radix_link, unsigned, radix_link, radix_link) const {}
};

template <class Base, class View>
class radix_notes<traced_team<Base>, View> {
 public:
  ESPALIER_INLINE radix_notes(const traced_team<Base>& team, const View& tree) : team_(team), t_(tree) {}

  /// A new attempt from the root; not every attempt records its path.
  ESPALIER_HD void attempt(unsigned turn) const { team_ = on_attempt(team_, turn); }
  ESPALIER_HD void reach(radix_link l) const { note(team_, trace::reach(name(l))); }
  /// The node was read under `expected`; `found` is its current word.
  ESPALIER_HD void retry(radix_link l, std::uint32_t expected, std::uint32_t found) const {
    const bool busy = (found & radix_info::latched) != 0 && (expected & radix_info::latched) == 0;
    note(team_, trace::retry(name(l), busy ? trace_why::busy : trace_why::changed));
  }
  ESPALIER_HD void latch(radix_link l, std::uint32_t info) const {
    if (team_.quiet) note(on_attempt(team_, 0), trace::reach(name(l)));
    note(team_, trace::latch(name(l), radix_trace::version(info)));
  }
  /// `info` is the word after the release.
  ESPALIER_HD void unlatch(radix_link l, std::uint32_t info) const {
    note(team_, trace::unlatch(name(l), radix_trace::version(info)));
  }
  /// Attaches a new leaf to a node at a symbol that has no child yet.
  ESPALIER_HD void attach(radix_link l, unsigned symbol, radix_link leaf) const {
    note(team_, trace::about(trace_kind::leaf, trace::leaf(leaf.index()), 0, t_.key_of(leaf).word(0)));
    trace_event e = trace::post(name(l), slot(l, symbol), key(l, symbol), leaf.index());
    e.leaf_child = 1;
    note(team_, e);
  }
  /// Detaches the leaf at a symbol. `seen` is the node that still has it: the node itself or the one that it replaces.
  ESPALIER_HD void detach(radix_link l, radix_link seen, unsigned symbol) const {
    const radix_link leaf = t_.with_node(seen, [&](const auto& n) { return child_of(team_, n, symbol); });
    note(team_, trace::about(trace_kind::drop, name(l), slot(seen, symbol), key(l, symbol), radix_trace::number(leaf)));
  }
  /// Detaches the only leaf.
  ESPALIER_HD void drop_from_root(const std::uint32_t* link) const {
    const radix_link leaf{load_relaxed(link)};
    note(team_, trace::about(trace_kind::drop, radix_trace::root(), 0, 0, radix_trace::number(leaf)));
  }
  /// Inserts `made`, which branches at byte `at`, between a node and its child at a symbol.
  ESPALIER_HD void branch(radix_link l, unsigned symbol, radix_link made, std::uint32_t at, radix_link child) const {
    trace_event e =
        trace::about(trace_kind::branch, name(l), slot(l, symbol), radix_trace::level(at), radix_trace::number(made));
    note(team_, with_child(e, child));
  }
  /// Replaces `l` by `made` below `above`.
  ESPALIER_HD void kind(radix_link above, radix_link l, radix_link made) const {
    const auto number = [](radix_link n) { return static_cast<std::uint32_t>(n.kind()) + 1; };  // trace_node_kind
    note(team_, trace::about(trace_kind::kind, name(l), number(l) << 8 | number(made), trace_above::of(name(above).id),
                             radix_trace::number(made)));
  }
  /// Removes `gone`, at a symbol of `above`, whose only child takes its place.
  ESPALIER_HD void collapse(radix_link above, unsigned symbol, radix_link gone, radix_link child) const {
    trace_event e = trace::about(trace_kind::join, name(above), slot(above, symbol), 0, radix_trace::number(gone));
    note(team_, with_child(e, child));
  }

 private:
  [[nodiscard]] ESPALIER_HD trace_node name(radix_link l) const {
    if (l.is_nothing()) return radix_trace::root();
    if (l.is_leaf()) return trace::leaf(radix_trace::number(l));
    return radix_trace::node(l, t_.with_node(l, [](const auto& n) { return load_relaxed(&n.head.at); }));
  }
  [[nodiscard]] static ESPALIER_HD trace_event with_child(trace_event e, radix_link child) {
    e.other2 = radix_trace::number(child);
    e.leaf_child = child.is_leaf() ? 1 : 0;
    return e;
  }
  [[nodiscard]] static ESPALIER_HD std::uint64_t key(radix_link l, unsigned symbol) {
    return l.is_nothing() ? 0 : symbol - 1;
  }
  /// Number of children at lower symbols, which is the position of the symbol in key order.
  [[nodiscard]] ESPALIER_HD std::uint32_t slot(radix_link l, unsigned symbol) const {
    if (l.is_nothing()) return 0;
    std::uint32_t below = 0;
    t_.with_node(l, [&](const auto& n) {
      each_child(n, 1, [&](unsigned s, radix_link) {
        if (s >= symbol) return false;
        ++below;
        return true;
      });
    });
    return below;
  }

  mutable traced_team<Base> team_;
  const View& t_;
};

}  // namespace espalier
