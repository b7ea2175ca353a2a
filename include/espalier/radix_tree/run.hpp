// run.hpp - bulk questions on a team: run(team, job, first, last) does elements [first, last) of a job.
#pragma once

#include "espalier/radix_tree/descend.hpp"
#include "espalier/radix_tree/jobs.hpp"
#include "espalier/static_tree/run.hpp"  // store_value

namespace espalier {

template <class Team, unsigned V>
struct radix_runner {
  using view = radix_view<V>;
  using value = typename view::value;
  using search = radix_searcher<Team, view>;
  using io = runner<Team>;
  /// Questions whose searches go down side by side, so that their memory accesses overlap.
  static constexpr unsigned batch = Team::batch > 1 ? 32 : 1;

  static ESPALIER_INLINE void prefetch(Team team, const view& t, radix_link l) {
    if (l.is_nothing()) return;
    if (l.is_leaf()) {
      const std::byte* const p = t.leaf(l);
      team.prefetch(p);
      return;
    }
    t.with_node(l, [&](const auto& n) {
      const auto* const p = reinterpret_cast<const std::byte*>(&n);
      team.prefetch(p);
      if constexpr (sizeof(n) > 64) team.prefetch(p + 64);
    });
  }

  // ---- find ------------------------------------------------------------------------------------------------
  static ESPALIER_INLINE void answer(const radix_find_job<V>& job, std::size_t i, radix_link l) {
    const bool found = !l.is_nothing();
    if constexpr (V != 0) {
      if (job.values != nullptr)
        io::template store_value<V>(job.tree.value_bytes, job.values, i, found ? *job.tree.value_of(l) : value{});
    }
    if (job.found != nullptr) job.found[i] = found ? 1 : 0;
  }
  static ESPALIER_INLINE void run(Team team, const radix_find_job<V>& job, std::size_t first, std::size_t last) {
    if constexpr (Team::batch > 1) {
      for (std::size_t i = first; i < last; i += batch)
        find_together(team, job, i, last - i < batch ? static_cast<unsigned>(last - i) : batch);
    } else {
      for (std::size_t i = first; i < last; ++i) answer(job, i, search::find(team, job.tree, job.keys[i]));
    }
  }
  static ESPALIER_INLINE void find_together(Team team, const radix_find_job<V>& job, std::size_t first, unsigned n) {
    const view& t = job.tree;
    byte_key_view keys[batch];
    radix_link links[batch];
    for (unsigned j = 0; j < n; ++j) {
      keys[j] = job.keys[first + j];
      links[j] = t.root;
      if (t.in_table(keys[j])) team.prefetch(t.cells + t.cell_of(keys[j]));
    }
    for (unsigned j = 0; j < n; ++j) {
      if (t.in_table(keys[j])) links[j] = t.cells[t.cell_of(keys[j])];
      prefetch(team, t, links[j]);
    }
    for (bool below = true; below;) {
      below = false;
      for (unsigned j = 0; j < n; ++j) {
        if (!links[j].is_node()) continue;
        links[j] = search::step(team, t, links[j], keys[j]);
        prefetch(team, t, links[j]);
        below = below || links[j].is_node();
      }
    }
    for (unsigned j = 0; j < n; ++j) {
      const bool there = !links[j].is_nothing() && search::holds(t, links[j], keys[j]);
      radix_link l = there ? links[j] : radix_link{};
      if (!there && !t.table_is_exact && t.in_table(keys[j])) l = search::find_from(team, t, t.root, keys[j]);
      answer(job, first + j, l);
    }
  }

  // ---- ranks -----------------------------------------------------------------------------------------------
  static ESPALIER_INLINE void run(Team team, const radix_rank_job<V>& job, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const byte_key_view key = job.keys[i];
      switch (job.what) {
        case detail::radix_question::prefix_begin:
          job.ranks[i] = search::prefix(team, job.tree, key).first;
          break;
        case detail::radix_question::prefix_end:
          job.ranks[i] = search::prefix(team, job.tree, key).last;
          break;
        default:
          job.ranks[i] = bound(team, job.tree, key, job.what == detail::radix_question::upper_bound);
      }
    }
  }
  /// Keys below this one; with `inclusive` itself as well.
  static ESPALIER_INLINE std::uint64_t bound(Team team, const view& t, const byte_key_view& key, bool inclusive) {
    bool found;
    const std::uint64_t below = search::rank(team, t, key, found);
    return below + (found && inclusive ? 1 : 0);
  }
  static ESPALIER_INLINE void run(Team team, const radix_count_job<V>& job, std::size_t first, std::size_t last) {
    const bool open_below = job.ends == interval::left_open || job.ends == interval::open;
    const bool open_above = job.ends == interval::right_open || job.ends == interval::open;
    for (std::size_t i = first; i < last; ++i) {
      const std::uint64_t begin = bound(team, job.tree, job.lo[i], open_below);
      const std::uint64_t end = bound(team, job.tree, job.hi[i], !open_above);
      job.counts[i] = end > begin ? end - begin : 0;
    }
  }
  static ESPALIER_INLINE void run(Team team, const radix_count_prefix_job<V>& job, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const auto slice = search::prefix(team, job.tree, job.prefixes[i]);
      job.counts[i] = slice.last - slice.first;
    }
  }

  static ESPALIER_INLINE void run(Team team, const radix_longest_prefix_job<V>& job, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const radix_link l = search::longest_prefix(team, job.tree, job.keys[i]);
      const bool found = !l.is_nothing();
      if (job.lengths != nullptr) job.lengths[i] = found ? job.tree.key_of(l).size : 0;
      if constexpr (V != 0) {
        if (job.values != nullptr)
          io::template store_value<V>(job.tree.value_bytes, job.values, i, found ? *job.tree.value_of(l) : value{});
      }
      if (job.found != nullptr) job.found[i] = found ? 1 : 0;
    }
  }
};

}  // namespace espalier
