// run.hpp - bulk queries on a team: run(team, job, first, last) executes elements [first, last) of a job.
#pragma once

#include "espalier/radix_tree/aggregate.hpp"
#include "espalier/radix_tree/batch_search.hpp"
#include "espalier/radix_tree/jobs.hpp"
#include "espalier/static_tree/run.hpp"  // store_value
#include "espalier/sync/concurrent_access.hpp"

namespace espalier {

template <class Team, unsigned V>
struct radix_runner {
  using view = radix_view<V>;
  using value = typename view::value;
  using search = radix_searcher<Team, view>;
  using io = runner<Team>;
  using together = radix_batch_searcher<Team, view>;
  /// Number of queries that descend in an interleaved way, so that their memory accesses overlap.
  static constexpr unsigned batch = Team::batch > 1 ? together::most : 1;

  /// Calls several(i, n) for batches of queries that a CPU thread answers together, one(i) for the others.
  template <class Several, class One>
  static ESPALIER_INLINE void in_batches([[maybe_unused]] const view& t, std::size_t first, std::size_t last,
                                         [[maybe_unused]] Several several, One one) {
    std::size_t i = first;
    if constexpr (batch > 1) {
      for (; together::is_worth(t) && last - i >= together::fewest; i += batch) {
        const unsigned n = last - i < batch ? static_cast<unsigned>(last - i) : batch;
        several(i, n);
        if (n < batch) return;
      }
    }
    for (; i < last; ++i) one(i);
  }
  struct key_batch {
    byte_key_view key[batch] = {};  // for the compiler: only the first n are read
    ESPALIER_INLINE key_batch(const byte_batch& from, std::size_t first, unsigned n) {
      for (unsigned j = 0; j < n; ++j) key[j] = from[first + j];
    }
  };

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
    find_all(team, job, first, last);
  }
  static ESPALIER_INLINE void run(Team team, const radix_locate_job<V>& job, std::size_t first, std::size_t last) {
    find_all(team, job, first, last);
  }
  template <class Then>
  static ESPALIER_INLINE void run(Team team, const radix_each_job<V, Then>& job, std::size_t first, std::size_t last) {
    find_all(team, job, first, last);
  }
  template <class Then>
  static ESPALIER_INLINE void answer(const radix_each_job<V, Then>& job, std::size_t i, radix_link l) {
    job.then(i, l);
  }
  template <class Job>
  static ESPALIER_INLINE void find_all(Team team, const Job& job, std::size_t first, std::size_t last) {
    if constexpr (Team::batch > 1) {
      for (std::size_t i = first; i < last; i += batch)
        find_together(team, job, i, last - i < batch ? static_cast<unsigned>(last - i) : batch);
    } else {
      for (std::size_t i = first; i < last; ++i) answer(job, i, search::find(team, job.tree, job.keys[i]));
    }
  }
  static ESPALIER_INLINE void answer(const radix_locate_job<V>& job, std::size_t i, radix_link l) { job.links[i] = l; }
  /// Prefetches a leaf, and what else a job reads for it.
  template <class Job>
  static ESPALIER_INLINE void prefetch_for(Team team, const Job& job, radix_link l) {
    together::prefetch(team, job.tree, l);
    if constexpr (requires { job.then.place(l); }) {
      if (!l.is_nothing() && l.is_leaf()) team.prefetch(job.then.place(l));
    }
  }
  template <class Job>
  static ESPALIER_INLINE void find_together(Team team, const Job& job, std::size_t first, unsigned n) {
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
      prefetch_for(team, job, links[j]);
    }
    for (bool below = true; below;) {
      below = false;
      for (unsigned j = 0; j < n; ++j) {
        if (!links[j].is_node()) continue;
        links[j] = search::step(team, t, links[j], keys[j]);
        prefetch_for(team, job, links[j]);
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

  // ---- find, where long keys are compared elsewhere -----------------------------------------------------------
  static ESPALIER_INLINE void run(Team team, const radix_short_find_job<V>& job, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const byte_key_view key = job.find.keys[i];
      if (key.size <= most_leaf_bytes) answer(job.find, i, search::find(team, job.find.tree, key));
    }
  }
  static ESPALIER_INLINE void run(Team team, const radix_candidate_job<V>& job, std::size_t first, std::size_t last) {
    const view& t = job.find.tree;
    for (std::size_t i = job.first + first; i < job.first + last; ++i) {
      const byte_key_view key = job.find.keys[i];
      if (key.size <= most_leaf_bytes) {
        answer(job.find, i, search::find(team, t, key));
        continue;
      }
      answer(job.find, i, radix_link{});
      const radix_link l = search::candidate(team, t, key);
      if (l.kind() != radix_kind::leaf_long) continue;
      const auto* const leaf = reinterpret_cast<const std::uint64_t*>(t.leaf(l));
      if (leaf[1] == key.size) list(job, i, key, l, leaf[0]);
    }
  }
  static ESPALIER_INLINE void list(const radix_candidate_job<V>& job, std::size_t i, const byte_key_view& key,
                                   radix_link l, std::uint64_t heap_at) {
    std::uint64_t at = 0;
    if (job.copies != nullptr) {
      at = atomic_word_ref{job.copied}.fetch_add((std::uint64_t{key.size} + 7) / 8);
      for (std::uint32_t b = 0; b < key.size; b += 8) job.copies[at + b / 8] = key.word(b);
    }
    const std::uint64_t place = atomic_word_ref{job.listed}.fetch_increment_aggregated();
    job.candidates[place] = {heap_at, at, key.size, static_cast<std::uint32_t>(i - job.first)};
    job.leaves[place] = l;
  }

  // ---- ranks -----------------------------------------------------------------------------------------------
  static ESPALIER_INLINE void run(Team team, const radix_rank_job<V>& job, std::size_t first, std::size_t last) {
    const bool inclusive = job.what == bound_type::upper;
    in_batches(
        job.tree, first, last,
        [&](std::size_t i, unsigned n) { bounds(team, job.tree, job.keys, i, n, inclusive, job.ranks + i); },
        [&](std::size_t i) { job.ranks[i] = bound(team, job.tree, job.keys[i], inclusive); });
  }
  static ESPALIER_INLINE void bounds(Team team, const view& t, const byte_batch& keys, std::size_t first, unsigned n,
                                     bool inclusive, std::uint64_t* ranks) {
    const key_batch b(keys, first, n);
    together::rank(team, t, b.key, n, inclusive, ranks);
  }
  /// Returns the number of keys below this one; with `inclusive`, including it.
  static ESPALIER_INLINE std::uint64_t bound(Team team, const view& t, const byte_key_view& key, bool inclusive) {
    bool found;
    const std::uint64_t below = search::rank(team, t, key, found);
    return below + (found && inclusive ? 1 : 0);
  }
  static ESPALIER_INLINE typename search::rank_slice slice(Team team, const radix_slice_job<V>& job, std::size_t i) {
    const view& t = job.tree;
    const byte_key_view lo = job.lo[i];
    switch (job.what) {
      case detail::radix_slice::range: {
        const bool open_below = job.ends == interval::left_open || job.ends == interval::open;
        const bool open_above = job.ends == interval::right_open || job.ends == interval::open;
        return {bound(team, t, lo, open_below), bound(team, t, job.hi[i], !open_above)};
      }
      case detail::radix_slice::prefix:
        return search::prefix(team, t, lo);
      case detail::radix_slice::predecessor: {
        const std::uint64_t end = bound(team, t, lo, false);
        return {end == 0 ? 0 : end - 1, end};
      }
      default: {
        const std::uint64_t begin = bound(team, t, lo, job.what == detail::radix_slice::successor);
        return {begin, begin < t.size ? begin + 1 : begin};
      }
    }
  }
  /// The same for n queries.
  static ESPALIER_INLINE void slices(Team team, const radix_slice_job<V>& job, std::size_t first, unsigned n,
                                     std::uint64_t* begin, std::uint64_t* end) {
    const view& t = job.tree;
    switch (job.what) {
      case detail::radix_slice::range: {
        const bool open_below = job.ends == interval::left_open || job.ends == interval::open;
        const bool open_above = job.ends == interval::right_open || job.ends == interval::open;
        bounds(team, t, job.lo, first, n, open_below, begin);
        return bounds(team, t, job.hi, first, n, !open_above, end);
      }
      case detail::radix_slice::prefix: {
        const key_batch b(job.lo, first, n);
        return together::prefix(team, t, b.key, n, begin, end);
      }
      case detail::radix_slice::predecessor:
        bounds(team, t, job.lo, first, n, false, end);
        for (unsigned j = 0; j < n; ++j) begin[j] = end[j] == 0 ? 0 : end[j] - 1;
        return;
      default:
        bounds(team, t, job.lo, first, n, job.what == detail::radix_slice::successor, begin);
        for (unsigned j = 0; j < n; ++j) end[j] = begin[j] < t.size ? begin[j] + 1 : begin[j];
    }
  }
  static ESPALIER_INLINE void answer(const radix_slice_job<V>& job, std::size_t i, std::uint64_t begin,
                                     std::uint64_t end) {
    const std::uint64_t n = end > begin ? end - begin : 0;
    job.counts[i] = n < job.limit ? n : job.limit;
    if (job.begins != nullptr) job.begins[i] = begin;
  }
  static ESPALIER_INLINE void run(Team team, const radix_slice_job<V>& job, std::size_t first, std::size_t last) {
    in_batches(
        job.tree, first, last,
        [&](std::size_t i, unsigned n) {
          std::uint64_t begin[batch], end[batch];
          slices(team, job, i, n, begin, end);
          for (unsigned j = 0; j < n; ++j) answer(job, i + j, begin[j], end[j]);
        },
        [&](std::size_t i) {
          const auto s = slice(team, job, i);
          answer(job, i, s.first, s.last);
        });
  }

  static ESPALIER_INLINE void run(Team team, const radix_neighbour_job<V>& job, std::size_t first, std::size_t last) {
    const bool before = job.what == detail::radix_slice::predecessor,
               inclusive = job.what != detail::radix_slice::successor;
    in_batches(
        job.tree, first, last,
        [&](std::size_t i, unsigned n) {
          const key_batch b(job.keys, i, n);
          if (before) {
            together::template beside_key<false>(team, job.tree, b.key, n, false, job.links + i);
          } else {
            together::template beside_key<true>(team, job.tree, b.key, n, inclusive, job.links + i);
          }
          for (unsigned j = 0; j < n; ++j) job.counts[i + j] = job.links[i + j].is_nothing() ? 0 : 1;
        },
        [&](std::size_t i) {
          const byte_key_view key = job.keys[i];
          job.links[i] = before ? search::before(team, job.tree, key) : search::after(team, job.tree, key, inclusive);
          job.counts[i] = job.links[i].is_nothing() ? 0 : 1;
        });
  }

  /// Ranges were counted before. Prefetching their leaves for a batch gained nothing on a CPU.
  static ESPALIER_INLINE void run(Team, const radix_aggregate_job<V>& job, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) radix_aggregator<V>::answer(job, i);
  }

  static ESPALIER_INLINE void answer(const radix_longest_prefix_job<V>& job, std::size_t i, radix_link l) {
    const bool found = !l.is_nothing();
    if (job.lengths != nullptr) job.lengths[i] = found ? job.tree.key_of(l).size : 0;
    if constexpr (V != 0) {
      if (job.values != nullptr)
        io::template store_value<V>(job.tree.value_bytes, job.values, i, found ? *job.tree.value_of(l) : value{});
    }
    if (job.found != nullptr) job.found[i] = found ? 1 : 0;
  }
  static ESPALIER_INLINE void run(Team team, const radix_longest_prefix_job<V>& job, std::size_t first,
                                  std::size_t last) {
    in_batches(
        job.tree, first, last,
        [&](std::size_t i, unsigned n) {
          const key_batch b(job.keys, i, n);
          radix_link links[batch];
          together::longest_prefix(team, job.tree, b.key, n, links);
          for (unsigned j = 0; j < n; ++j) answer(job, i + j, links[j]);
        },
        [&](std::size_t i) { answer(job, i, search::longest_prefix(team, job.tree, job.keys[i])); });
  }
};

}  // namespace espalier
