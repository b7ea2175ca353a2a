// policy.hpp - which code a protocol means.
#pragma once

#include "espalier/blink_tree/options.hpp"
#include "espalier/blink_tree/write.hpp"
#include "espalier/static_tree/index.hpp"

namespace espalier::detail {

/// The operations of one tree, for one team, while other teams read and write.
template <protocol Protocol, upper Upper, class Team, class View>
struct blink_ops {
  static_assert(Protocol == protocol::link || Protocol == protocol::none);
  using reads = std::conditional_t<Protocol == protocol::none, own_reads, racing_reads>;
  using reader = blink_reader<Team, reads, View>;
  using writer = blink_writer<Team, reads, Upper == upper::classic, View>;
  using descent = descender<Team, reads, View>;
  using word = typename View::leaf_shape::word;
  using value = typename View::leaf_shape::value;
  using element = typename reader::element;

  static ESPALIER_INLINE bool find(Team team, const View& t, word x, value& out) {
    return reader::find(team, t, x, out);
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
    return writer::insert_from(team, t, descent::leaf(team, t, x), x, v, assign);
  }
  static ESPALIER_INLINE blink_outcome update(Team team, const View& t, word x, const value& v) {
    return writer::update_from(team, t, descent::leaf(team, t, x), x, v);
  }
  static ESPALIER_INLINE blink_outcome erase(Team team, const View& t, word x) {
    return writer::erase_from(team, t, descent::leaf(team, t, x), x);
  }
};

}  // namespace espalier::detail
