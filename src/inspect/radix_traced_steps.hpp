// radix_traced_steps.hpp - operations on a radix tree by traced teams, shared by CPU threads and GPU threads.
//
// Keys have eight bytes. Keys of a write that neither insert nor erase a leaf are executed by traced_queries; the
// others are left to traced_changes, which calls radix_mutator (espalier/radix_tree/insert_erase.hpp).
#pragma once

#include "espalier/radix_tree/descend.hpp"
#include "espalier/radix_tree/insert_erase.hpp"
#include "espalier/trace/note.hpp"
#include "radix_tree/in_place.hpp"

namespace espalier::detail {

/// Calls are traced in trees with values of eight bytes, to compile them once.
inline constexpr unsigned traced_value_slot = 8;

/// Worker w executes the keys at w, w + workers, ... in sequence.
template <unsigned V>
struct traced_queries {
  static constexpr std::uint8_t left_over = 0xff;

  radix_view<V> tree;
  event_log ring;
  trace_op op;
  byte_batch keys;
  std::uint64_t n;
  std::uint64_t to;
  std::uint64_t workers;
  std::uint8_t* results;  ///< trace_result of each key, or left_over
  std::uint64_t* found;   ///< the first elements of a range, and
  std::uint64_t most_found;
  std::uint64_t* count;  ///< the number of its elements

  template <class Team>
  ESPALIER_HD void operator()(Team plain, std::size_t w) const {
    const traced_team<Team> team(plain, ring, static_cast<std::uint32_t>(w));
    for (std::uint64_t i = w; i < n; i += workers) {
      const byte_key_view key = keys[i];
      if (op == trace_op::insert || op == trace_op::assign || op == trace_op::erase) {
        const bool there = !radix_searcher<Team, radix_view<V>>::find(plain, tree, key).is_nothing();
        if (there == (op == trace_op::erase)) {
          results[i] = left_over;
          continue;
        }
      }
      note(team, trace::begin(op, key.word(0), to));
      std::uint64_t seen = 0;
      const trace_result r = op == trace_op::range ? range(team, key, seen) : one(team, key);
      note(team, trace::end(op, r, seen));
      results[i] = static_cast<std::uint8_t>(r);
    }
  }

 private:
  template <class Team>
  ESPALIER_HD trace_result one(const Team& team, const byte_key_view& key) const {
    const radix_link leaf = radix_searcher<Team, radix_view<V>>::find(team, tree, key);
    const bool there = !leaf.is_nothing(), assigns = op == trace_op::assign || op == trace_op::update;
    if (there && assigns) note(team, trace::assign(trace::leaf(radix_trace::number(leaf)), 0, key.word(0)));
    return there && op != trace_op::insert && op != trace_op::assign ? trace_result::done : trace_result::unchanged;
  }
  template <class Team>
  ESPALIER_HD trace_result range(const Team& team, const byte_key_view& from, std::uint64_t& seen) const {
    bool there;
    for (std::uint64_t r = radix_searcher<Team, radix_view<V>>::rank(team, tree, from, there); r < tree.size; ++r) {
      const radix_link leaf = tree.leaf_at(r);
      const std::uint64_t key = tree.key_of(leaf).word(0);
      if (key > to) break;
      note(team, trace::reach(trace::leaf(radix_trace::number(leaf))));
      if (seen < most_found) found[seen] = key;
      ++seen;
    }
    *count = seen;
    return seen != 0 ? trace_result::done : trace_result::unchanged;
  }
};

/// Inserts listed element j as leaf links[j]; refused elements are listed again.
template <unsigned V>
struct insert_listed {
  radix_view<V> tree;
  radix_root* root;
  radix_pools pools;
  listed_keys_of keys;
  const radix_link* links;
  const std::uint32_t* pending;  ///< positions in the list; null for all
  std::uint32_t* refused;
  std::uint32_t* refusals;
  [[nodiscard]] ESPALIER_INLINE std::uint32_t place(std::size_t i) const {
    return pending == nullptr ? static_cast<std::uint32_t>(i) : pending[i];
  }
  [[nodiscard]] ESPALIER_INLINE byte_key_view key(std::size_t i) const { return keys.batch[keys.numbers[place(i)]]; }
  template <class Team>
  ESPALIER_INLINE radix_outcome by(const Team& team, std::size_t i) const {
    const std::uint32_t j = place(i);
    const radix_mutator<radix_view<V>, Team> change(tree, root, pools, team);
    const auto outcome = change.insert(keys.batch[keys.numbers[j]], links[j]);
    if (outcome == radix_outcome::out_of_nodes) refused[atomic_word_ref{refusals}.fetch_increment_aggregated()] = j;
    return outcome;
  }
};
template <unsigned V>
struct erase_listed {
  radix_view<V> tree;
  radix_root* root;
  radix_pools pools;
  listed_keys_of keys;
  [[nodiscard]] ESPALIER_INLINE byte_key_view key(std::size_t j) const { return keys.batch[keys.numbers[j]]; }
  template <class Team>
  ESPALIER_INLINE radix_outcome by(const Team& team, std::size_t j) const {
    return radix_mutator<radix_view<V>, Team>(tree, root, pools, team).erase(key(j));
  }
};

/// Worker w executes elements w, w + workers, ... of a step that changes nodes.
template <class Step>
struct traced_changes {
  Step step;
  event_log ring;
  trace_op op;
  std::size_t n;
  std::size_t workers;

  template <class Team>
  ESPALIER_HD void operator()(Team plain, std::size_t w) const {
    const traced_team<Team> team(plain, ring, static_cast<std::uint32_t>(w));
    for (std::size_t i = w; i < n; i += workers) {
      note(team, trace::begin(op, step.key(i).word(0)));
      const radix_outcome outcome = step.by(team, i);
      note(team, trace::end(op, outcome == radix_outcome::done        ? trace_result::done
                                : outcome == radix_outcome::unchanged ? trace_result::unchanged
                                                                      : trace_result::out_of_nodes));
    }
  }
};

}  // namespace espalier::detail
