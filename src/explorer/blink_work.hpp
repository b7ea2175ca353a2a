// blink_work.hpp - operations on a B-link tree by traced teams; CPU threads and GPU tiles share this code.
#pragma once

#include "espalier/blink_tree/policy.hpp"
#include "espalier/trace/note.hpp"

namespace espalier::explorer {

/// Worker w processes the keys at w, w + workers, ... in order. The value of a key is the key itself.
template <protocol P, inner_index U, class View>
struct blink_work {
  View tree;
  event_log ring;
  trace_op op;
  const std::uint64_t* keys;
  std::uint64_t n;
  std::uint64_t to;
  std::uint64_t workers;
  std::uint8_t* results;  ///< trace_result per key
  std::uint64_t* found;   ///< the first elements of a range
  std::uint64_t most_found;
  std::uint64_t* count;  ///< the number of elements in the range

  template <class Team>
  ESPALIER_HD void operator()(Team plain, std::size_t w) const {
    const traced_team<Team> team(plain, ring, static_cast<std::uint32_t>(w));
    for (std::uint64_t i = w; i < n; i += workers) {
      note(team, trace::begin(op, keys[i], to));
      std::uint64_t seen = 0;
      const trace_result r = one(team, keys[i], seen);
      note(team, trace::end(op, r, seen));
      team.once([&] { results[i] = static_cast<std::uint8_t>(r); });
    }
  }

 private:
  template <class Team>
  ESPALIER_HD trace_result one(Team team, std::uint64_t key, std::uint64_t& seen) const {
    using ops = detail::blink_ops<P, U, Team, View>;
    std::uint64_t v = key;
    switch (op) {
      case trace_op::find:
        return ops::find(team, tree, key, v) ? trace_result::done : trace_result::unchanged;
      case trace_op::insert:
        return result_of(ops::insert(team, tree, key, v, false));
      case trace_op::assign:
        return result_of(ops::insert(team, tree, key, v, true));
      case trace_op::update:
        return result_of(ops::update(team, tree, key, v));
      case trace_op::erase:
        return result_of(ops::erase(team, tree, key));
      default:
        ops::scan(team, tree, key, to, [&](std::uint64_t k, const std::uint64_t&) {
          if (seen < most_found) team.once([&] { found[seen] = k; });
          ++seen;
          return true;
        });
        team.once([&] { *count = seen; });
        return seen != 0 ? trace_result::done : trace_result::unchanged;
    }
  }
  static ESPALIER_HD trace_result result_of(blink_outcome outcome) {
    return outcome == blink_outcome::done       ? trace_result::done
           : outcome == blink_outcome::not_done ? trace_result::unchanged
                                                : trace_result::out_of_nodes;
  }
};

}  // namespace espalier::explorer
