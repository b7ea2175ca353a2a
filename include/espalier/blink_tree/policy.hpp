// policy.hpp - maps a protocol to its implementation.
#pragma once

#include <type_traits>

#include "espalier/blink_tree/latch_coupling.hpp"
#include "espalier/blink_tree/options.hpp"
#include "espalier/blink_tree/write.hpp"

namespace espalier::detail {

/// Write operations of a tree for any team: writer<Team, View> has find_from, insert_from, update_from and erase_from.
template <protocol Protocol, inner_index Upper>
struct protocol_traits {
  using reads = std::conditional_t<Protocol == protocol::single_writer, own_reads, racing_reads>;
  static constexpr bool starts_at_leaf = true;  ///< operations receive the leaf to which the inner levels lead
  template <class Team, class View>
  using writer = blink_writer<Team, reads, Upper == inner_index::inner_nodes, View>;
};
template <inner_index Upper>
struct protocol_traits<protocol::latch_coupling, Upper> {
  static_assert(Upper == inner_index::inner_nodes, "the protocol couple needs inner nodes that know every leaf");
  using reads = racing_reads;
  static constexpr bool starts_at_leaf = false;
  template <class Team, class View>
  using writer = couple_writer<Team, View>;
};

/// The operations of one tree for one team, concurrent with reads and writes of other teams.
template <protocol Protocol, inner_index Upper, class Team, class View>
struct blink_ops {
  using traits = protocol_traits<Protocol, Upper>;
  using reads = typename traits::reads;
  using reader = blink_reader<Team, asking<reads>, View>;
  using writer = typename traits::template writer<Team, View>;
  using descent = descender<Team, reads, View>;
  using word = typename View::leaf_shape::word;
  using value = typename View::leaf_shape::value;
  using element = typename reader::element;

  static ESPALIER_INLINE node_id start(Team team, const View& t, word x) {
    if constexpr (traits::starts_at_leaf) return descent::leaf(team, t, x);
    return no_node;
  }
  static ESPALIER_INLINE bool find(Team team, const View& t, word x, value& out) {
    return writer::find_from(team, t, start(team, t, x), x, out);
  }
  static ESPALIER_INLINE bool at_or_after(Team team, const View& t, word x, element& out) {
    return reader::at_or_after(team, t, x, out);
  }
  static ESPALIER_INLINE bool at_or_before(Team team, const View& t, word x, element& out) {
    return reader::at_or_before(team, t, x, out);
  }
  template <class Visit>
  static ESPALIER_INLINE void scan(Team team, const View& t, word lo, word hi, Visit visit) {
    if (lo <= hi) reader::scan(team, t, lo, hi, visit);
  }
  static ESPALIER_INLINE blink_outcome insert(Team team, const View& t, word x, const value& v, bool assign) {
    return writer::insert_from(team, t, start(team, t, x), x, v, assign);
  }
  template <class Apply>
  static ESPALIER_INLINE blink_outcome insert_or_apply(Team team, const View& t, word x, const value& v, Apply apply) {
    return writer::insert_or_apply_from(team, t, start(team, t, x), x, v, apply);
  }
  static ESPALIER_INLINE blink_outcome update(Team team, const View& t, word x, const value& v) {
    return writer::update_from(team, t, start(team, t, x), x, v);
  }
  static ESPALIER_INLINE blink_outcome erase(Team team, const View& t, word x) {
    return writer::erase_from(team, t, start(team, t, x), x);
  }
};

}  // namespace espalier::detail
