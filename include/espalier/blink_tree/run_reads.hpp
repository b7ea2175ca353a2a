// run_reads.hpp - bulk point queries on a team: find, and the nearest element at, after or before a key. With
// run_ranges.hpp all reads; the writes are in run.hpp.
#if defined(ESPALIER_BLINK_TREE_RUN_READS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ESPALIER_BLINK_TREE_RUN_READS_HPP
#undef ESPALIER_BLINK_TREE_RUN_READS_HPP
#else
#define ESPALIER_BLINK_TREE_RUN_READS_HPP
#endif

#include "espalier/blink_tree/run_ranges.hpp"
#include "espalier/team/multi_target.hpp"

ESPALIER_BEGIN_TARGET_NAMESPACE

template <class Team, class Reads, class View>
struct blink_read_runner;

template <class Team, class Reads, class Word, unsigned V, unsigned N>
struct blink_read_runner<Team, Reads, blink_view<Word, V, N>>
    : blink_range_runner<Team, Reads, blink_view<Word, V, N>> {
  using base = blink_range_runner<Team, Reads, blink_view<Word, V, N>>;
  using base::batch;
  using base::batch_size;
  using base::locate;
  using base::prefetch_ahead;
  using base::prefetch_most_of;
  using base::run;
  using base::start;
  using base::word_at;
  using typename base::descent;
  using typename base::io;
  using typename base::reader;
  using typename base::shape;
  using typename base::starts;
  using typename base::value;
  using typename base::view;

  // ---- find --------------------------------------------------------------------------------------------------
  static ESPALIER_INLINE void starts_of(Team team, const blink_find_job<view>& job, std::size_t i, unsigned n,
                                        starts& s) {
    if constexpr (Team::batch > 1) {
      io::load_words(job.tree.key, job.keys, i, n, s.key);
    } else {
      s.key[0] = team.lane() < n ? word_at(job.tree, job.keys, i + team.lane()) : Word{0};
    }
    locate(team, job.tree, s, n, job.lines == nullptr ? nullptr : job.lines + i);
  }
  static ESPALIER_INLINE void answer(Team team, const blink_find_job<view>& job, std::size_t i, bool found,
                                     const value& v) {
    team.once([&] {
      if (V != 0 && job.values != nullptr) io::template store_value<V>(job.tree.value_bytes, job.values, i, v);
      if (job.found != nullptr) store_streaming(job.found + i, std::uint8_t{found});
    });
  }
  static ESPALIER_INLINE void run(Team team, const blink_find_job<view>& job, std::size_t first, std::size_t last) {
    if constexpr (Team::batch > 1 && !is_traced<Team>) {
      find_ahead(team, job, first, last);
    } else {
      for (std::size_t i = first; i < last; i += batch) {
        const unsigned n = batch_size(i, last);
        starts s;
        starts_of(team, job, i, n, s);
        for (unsigned j = 0; j < n; ++j) {
          value v{};
          const bool found = reader::find_from(team, job.tree, s.id_of(team, j), s.key_of(team, j), v);
          answer(team, job, i + j, found, v);
        }
      }
    }
  }
  /// A CPU thread prefetches the leaves of the next batch while it searches those of the current batch.
  static ESPALIER_INLINE void find_ahead(Team team, const blink_find_job<view>& job, std::size_t first,
                                         std::size_t last) {
    const view& t = job.tree;
    const auto size_at = [&](std::size_t i) { return i < last ? batch_size(i, last) : 0; };
    unsigned now = 0, n = size_at(first);
    starts s[2];
    starts_of(team, job, first, n, s[0]);
    for (unsigned j = 0; j < n; ++j) prefetch_most_of(team, t, s[0].id[j]);
    for (std::size_t i = first; i < last; i += batch, now ^= 1) {
      const unsigned more = size_at(i + batch);
      starts& next = s[now ^ 1];
      if (more != 0) starts_of(team, job, i + batch, more, next);
      const auto ahead = [&](unsigned j) {
        if (j < more) prefetch_most_of(team, t, next.id[j]);
      };
      reader::template find_each<batch>(
          team, t, s[now].id, s[now].key, n, ahead,
          [&](unsigned j, bool found, const value& v) { answer(team, job, i + j, found, v); });
      n = more;
    }
  }

  // ---- the nearest element -------------------------------------------------------------------------------------
  /// Converts a query to the bound of a search for the first element at or after it, or for a predecessor the last
  /// element at or before it. Returns false if no element can be there.
  static ESPALIER_INLINE bool bound_of(detail::seek_kind kind, Word& x) {
    if (kind == detail::seek_kind::lower_bound) return true;
    if (kind == detail::seek_kind::successor) return ++x != 0;
    return x-- != 0;
  }
  static ESPALIER_INLINE void answer(Team team, const blink_seek_job<view>& job, std::size_t i, bool found,
                                     const typename reader::element& e) {
    const view& t = job.tree;
    team.once([&] {
      if (job.out_keys != nullptr) {
        if (found) {
          io::store_key(t.key, job.out_keys, i, e.key);
        } else {
          store_bits(t.key, job.out_keys, i, Word{0});
        }
      }
      if (V != 0 && job.out_values != nullptr)
        io::template store_value<V>(t.value_bytes, job.out_values, i, found ? e.v : value{});
      if (job.found != nullptr) store_streaming(job.found + i, std::uint8_t{found});
    });
  }
  static ESPALIER_INLINE void run(Team team, const blink_seek_job<view>& job, std::size_t first, std::size_t last) {
    const view& t = job.tree;
    if constexpr (Team::batch > 1) {
      if (t.lane.size != 0) return seek_in_batches(team, job, first, last);
    }
    for (std::size_t i = first; i < last; ++i) {
      typename reader::element e;
      Word x = word_at(t, job.keys, i);
      const bool found =
          bound_of(job.kind, x) && (job.kind == detail::seek_kind::predecessor ? reader::at_or_before(team, t, x, e)
                                                                               : reader::at_or_after(team, t, x, e));
      answer(team, job, i, found, e);
    }
  }
  /// The descents of a batch through the lane and the reads of its leaves overlap in a CPU thread.
  static ESPALIER_INLINE void seek_in_batches(Team team, const blink_seek_job<view>& job, std::size_t first,
                                              std::size_t last) {
    const view& t = job.tree;
    const bool before = job.kind == detail::seek_kind::predecessor;
    starts s;
    bool possible[batch];
    for (std::size_t i = first; i < last; i += batch) {
      const unsigned n = batch_size(i, last);
      io::load_words(t.key, job.keys, i, n, s.key);
      for (unsigned j = 0; j < n; ++j) possible[j] = bound_of(job.kind, s.key[j]);
      locate(team, t, s, n);
      for (unsigned j = 0; j < n; ++j) {
        prefetch_ahead(team, t, s, n, j);
        typename reader::element e;
        bool found = false;
        if (possible[j]) {
          found = before ? at_or_before(team, t, s, j, e) : reader::at_or_after_from(team, t, s.id[j], s.key[j], e);
        }
        answer(team, job, i + j, found, e);
      }
    }
  }
  /// reader::at_or_before() from the leaf of key j of a batch. The lowest key of that leaf is read from the lane only
  /// if the leaf has no answer: it is above 0 if the search has read it already.
  static ESPALIER_INLINE bool at_or_before(Team team, const view& t, const starts& s, unsigned j,
                                           typename reader::element& e) {
    typename descent::start from{s.id[j], 0};
    if (reader::last_up_to(team, t, from, s.key[j], e)) return true;
    const Word low = from.low != 0 ? from.low : descent::low_of_line(t, s.line[j]);
    return low != 0 && reader::at_or_before(team, t, static_cast<Word>(low - 1), e);
  }
};

ESPALIER_END_TARGET_NAMESPACE

#endif  // ESPALIER_BLINK_TREE_RUN_READS_HPP
