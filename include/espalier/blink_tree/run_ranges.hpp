// run_ranges.hpp - bulk operations over ranges on a team: counts, compact or row-wise copies, aggregates.
#if defined(ESPALIER_BLINK_TREE_RUN_RANGES_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ESPALIER_BLINK_TREE_RUN_RANGES_HPP
#undef ESPALIER_BLINK_TREE_RUN_RANGES_HPP
#else
#define ESPALIER_BLINK_TREE_RUN_RANGES_HPP
#endif

#include <limits>

#include "espalier/blink_tree/batch_descent.hpp"
#include "espalier/blink_tree/read.hpp"
#include "espalier/static_tree/aggregate.hpp"
#include "espalier/team/multi_target.hpp"

ESPALIER_BEGIN_TARGET_NAMESPACE

template <class Team, class Reads, class View>
struct blink_range_runner;

template <class Team, class Reads, class Word, unsigned V, unsigned N>
struct blink_range_runner<Team, Reads, blink_view<Word, V, N>> : leaf_locator<Team, Reads, blink_view<Word, V, N>> {
  using base = leaf_locator<Team, Reads, blink_view<Word, V, N>>;
  using base::batch;
  using base::batch_size;
  using base::enter;
  using base::locate;
  using base::prefetch_ahead;
  using base::prefetch_leaf;
  using base::start;
  using base::word_at;
  using typename base::descent;
  using typename base::starts;
  using view = blink_view<Word, V, N>;
  using shape = typename view::leaf_shape;
  using value = typename shape::value;
  using io = runner<Team>;
  using reader = blink_reader<Team, Reads, view>;

  /// Converts query i to a closed range. Returns false if it is empty.
  static ESPALIER_INLINE bool closed(const blink_range_job<view>& job, std::size_t i, Word& lo, Word& hi) {
    lo = word_at(job.tree, job.lo, i);
    hi = word_at(job.tree, job.hi, i);
    return close(job.ends, lo, hi);
  }
  static ESPALIER_INLINE bool close(interval ends, Word& lo, Word& hi) {
    if (ends == interval::left_open || ends == interval::open) {
      if (lo == reader::largest) return false;
      ++lo;
    }
    if (ends == interval::right_open || ends == interval::open) {
      if (hi == 0) return false;
      --hi;
    }
    return lo <= hi;
  }
  /// Prefetches the leaves that a range up to hi reads after its first one. The lane names them, whereas links would be
  /// followed one after the other: 2^19 ranges of 32 elements from 2^22 keys that were inserted one by one take 0.36 us
  /// each instead of 0.92 us.
  static ESPALIER_INLINE void prefetch_behind(Team team, const view& t, std::uint64_t line, Word hi) {
    for (unsigned k = 0; k < most_behind && line + 1 < t.lane.size && t.lane.key_at(line) < hi; ++k) {
      prefetch_leaf(team, t, descent::leaf_of_line(t, ++line));
    }
  }
  static constexpr unsigned most_behind = 8;  ///< leaves of a range; 16 are not better
  /// Prefetch distance. 2 is as good as 4; with 8, a range at 2^22 keys took 313 ns instead of 283 ns.
  static constexpr unsigned ranges_ahead = 2;

  /// Finds the start leaves of n ranges from number i on, whose first keys are in `s`; CPU only. `Job::lines` holds
  /// their lines if a count, or for rows another device, has found them before.
  template <class Job>
  static ESPALIER_INLINE void range_starts(Team team, const Job& job, std::size_t i, unsigned n, starts& s) {
    const view& t = job.tree;
    constexpr bool knows_lines = std::is_same_v<Job, blink_fill_job<view>> || std::is_same_v<Job, blink_rows_job<view>>;
    if constexpr (knows_lines) {
      if (job.lines != nullptr) {
        for (unsigned j = 0; j < n; ++j) s.line[j] = job.lines[i + j];
        for (unsigned j = 0; j < n; ++j) team.prefetch(t.lane.line_keys(s.line[j]));
        return enter(team, t, s, n);
      }
    }
    locate(team, t, s, n);
    if constexpr (std::is_same_v<Job, blink_count_job<view>>) {
      if (job.lines != nullptr) {
        for (unsigned j = 0; j < n; ++j) job.lines[i + j] = static_cast<std::uint32_t>(s.line[j]);
      }
    }
  }
  /// Calls body(i, start leaf, lo, hi, is not empty) for each range.
  template <class Job, class Body>
  static ESPALIER_INLINE void ranges(Team team, const Job& job, std::size_t first, std::size_t last, Body body) {
    const view& t = job.tree;
    for (std::size_t i = first; i < last; i += batch) {
      const unsigned n = batch_size(i, last);
      if constexpr (Team::batch > 1) {
        starts s;
        Word hi[batch];
        bool some[batch];
        io::load_words(t.key, job.lo, i, n, s.key);
        io::load_words(t.key, job.hi, i, n, hi);
        for (unsigned j = 0; j < n; ++j) some[j] = close(job.ends, s.key[j], hi[j]);
        range_starts(team, job, i, n, s);
        const auto ask_for = [&](unsigned j) {
          if (j < n && t.lane.size != 0) prefetch_behind(team, t, s.line[j], hi[j]);
        };
        for (unsigned j = 0; j < ranges_ahead; ++j) ask_for(j);
        for (unsigned j = 0; j < n; ++j) {
          prefetch_ahead(team, t, s, n, j);
          ask_for(j + ranges_ahead);
          body(i + j, s.id[j], s.key[j], hi[j], some[j]);
        }
      } else {
        const starts s = start(team, t, n, [&](unsigned j) {
          Word lo, hi;
          (void)closed(job, i + j, lo, hi);
          return lo;
        });
        for (unsigned j = 0; j < n; ++j) {
          Word lo, hi;
          const bool some = closed(job, i + j, lo, hi);
          body(i + j, s.id_of(team, j), lo, hi, some);
        }
      }
    }
  }

  static ESPALIER_INLINE void run(Team team, const blink_count_job<view>& job, std::size_t first, std::size_t last) {
    if constexpr (std::is_same_v<Reads, stable_reads>) {
      if (job.ranks) return count_by_ranks(team, job, first, last);
    }
    ranges(team, job, first, last, [&](std::size_t i, node_id id, Word lo, Word hi, bool some) {
      leaf_position start{id, 0};
      const std::uint64_t n = some ? reader::count_from(team, job.tree, id, lo, hi, job.limit, start) : 0;
      answer(team, job, i, n, start);
    });
  }
  static ESPALIER_INLINE void answer(Team team, const blink_count_job<view>& job, std::size_t i, std::uint64_t n,
                                     leaf_position start) {
    team.once([&] {
      store_streaming(job.counts + i, n);
      if (job.starts != nullptr) job.starts[i] = start;
      if (job.long_ones != nullptr && n > range_part) atomic_word_ref{job.long_ones}.store_relaxed(1);
    });
  }
  /// Counts by differences of ranks, whatever the length of the ranges.
  static ESPALIER_INLINE void count_by_ranks(Team team, const blink_count_job<view>& job, std::size_t first,
                                             std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      Word lo, hi;
      leaf_position start{0, 0}, end{0, 0};
      std::uint64_t n = 0;
      if (closed(job, i, lo, hi)) {
        const std::uint64_t below = reader::rank_of(team, job.tree, job.ranks, lo, start);
        n = (hi == reader::largest ? job.ranks[job.tree.lane.size]
                                   : reader::rank_of(team, job.tree, job.ranks, static_cast<Word>(hi + 1), end)) -
            below;
        if (n > job.limit) n = job.limit;
      }
      answer(team, job, i, n, start);
    }
  }

  /// Outputs of ranges. With `Plain`, keys and values are words as they are stored in a leaf.
  template <bool Plain, class Job>
  struct output {
    const Job& job;
    std::uint64_t at;   ///< position of the next element
    std::uint64_t end;  ///< positions from `at` to here are written later, by this team

    template <class Keys, class Values>
    ESPALIER_INLINE void append(Team team, const Keys& keys, [[maybe_unused]] const Values& values, unsigned from,
                                unsigned to) {
      const std::uint64_t shift = at - from;
      if constexpr (Plain && Team::batch > 1) {
        // Whole chunks take a few wide stores, without a loop whose end is hard to predict.
        if (end - at >= shape::chunk) {
          auto* to_keys = static_cast<Word*>(job.out_keys) + at;
          auto* to_values = static_cast<value*>(job.out_values) + at;
          at += to - from;
          if (from == 0) {
            team.store(to_keys, keys);
            if constexpr (V != 0) team.store(to_values, values);
          } else {
            team.store(to_keys, team.tail(keys, from, Word{}));
            if constexpr (V != 0) team.store(to_values, team.tail(values, from, value{}));
          }
          return;
        }
      }
      at += to - from;
      if constexpr (Plain) {
        auto* to_keys = static_cast<Word*>(job.out_keys) + shift;
        team.for_slots(keys, from, to, [=](unsigned j, Word key) { store_streaming(to_keys + j, key); });
        if constexpr (V != 0) {
          auto* to_values = static_cast<value*>(job.out_values) + shift;
          team.for_slots(values, from, to, [=](unsigned j, const value& v) { to_values[j] = v; });
        }
      } else {
        const view& t = job.tree;
        if (job.out_keys != nullptr)
          team.for_slots(keys, from, to,
                         [&](unsigned j, Word key) { io::store_key(t.key, job.out_keys, shift + j, key); });
        if constexpr (V != 0) {
          if (job.out_values != nullptr)
            team.for_slots(values, from, to, [&](unsigned j, const value& v) {
              io::template store_value<V>(t.value_bytes, job.out_values, shift + j, v);
            });
        }
      }
    }

    /// Stores one element. Called by one lane.
    ESPALIER_INLINE void put(std::uint64_t i, const typename reader::element& e) const {
      if constexpr (Plain) {
        store_streaming(static_cast<Word*>(job.out_keys) + i, e.key);
        if constexpr (V != 0) static_cast<value*>(job.out_values)[i] = e.v;
      } else {
        const view& t = job.tree;
        if (job.out_keys != nullptr) io::store_key(t.key, job.out_keys, i, e.key);
        if constexpr (V != 0) {
          if (job.out_values != nullptr) io::template store_value<V>(t.value_bytes, job.out_values, i, e.v);
        }
      }
    }
  };
  template <class Job>
  static ESPALIER_INLINE bool is_plain(const Job& job) {
    const view& t = job.tree;
    return job.out_keys != nullptr && (t.key == scalar_kind::u32 || t.key == scalar_kind::u64) &&
           (V == 0 || (job.out_values != nullptr && t.value_bytes == V));
  }
  static ESPALIER_INLINE void run(Team team, const blink_fill_job<view>& job, std::size_t first, std::size_t last) {
    if (is_plain(job)) {
      fill<true>(team, job, first, last);
    } else {
      fill<false>(team, job, first, last);
    }
  }
  template <bool Plain>
  static ESPALIER_INLINE void fill(Team team, const blink_fill_job<view>& job, std::size_t first, std::size_t last) {
    if constexpr (std::is_same_v<Reads, stable_reads>) {
      if (job.ranks) return copy_parts<Plain>(team, job, first, last);
      for (std::size_t i = first; i < last; ++i) {
        output<Plain, blink_fill_job<view>> out{job, 0, 0};
        const auto append = [&](const auto& keys, const auto& values, unsigned from, unsigned to) {
          out.append(team, keys, values, from, to);
        };
        out.at = job.offsets[i];
        const leaf_position start = job.starts[i];
        reader::copy_from(team, job.tree, start.id, start.slot, job.offsets[i + 1] - out.at, append);
      }
    } else {
      fill_beside_writers<Plain>(team, job, first, last);
    }
  }
  /// Each lane looks up the elements of its output positions, and neighbouring lanes write whole sectors.
  template <bool Plain>
  static ESPALIER_INLINE void copy_parts(Team team, const blink_fill_job<view>& job, std::size_t first,
                                         std::size_t last) {
    const output<Plain, blink_fill_job<view>> out{job, 0, 0};
    for (std::size_t i = first; i < last; ++i) {
      const part p = part_at(job, i);
      reader::each_by_ranks(team, job.tree, job.ranks, p.start, p.size, static_cast<unsigned>(p.at % Team::lanes()),
                            [&](std::uint64_t j, const auto& e) { out.put(p.at + j, e); });
    }
  }
  struct part {
    leaf_position start;
    std::uint64_t at, size;  ///< positions in the outputs
  };
  static ESPALIER_INLINE part part_at(const blink_fill_job<view>& job, std::size_t i) {
    if (job.parts == nullptr) return {job.starts[i], job.offsets[i], job.offsets[i + 1] - job.offsets[i]};
    const std::size_t range = last_not_above(job.parts, 0, job.ranges, i);
    const std::uint64_t skipped = (i - job.parts[range]) * range_part;
    part p{job.starts[range], job.offsets[range] + skipped, job.offsets[range + 1] - job.offsets[range] - skipped};
    if (p.size > range_part) p.size = range_part;
    if (skipped != 0) {
      const std::uint64_t rank = job.ranks[p.start.id] + p.start.slot + skipped;
      const std::size_t line = last_not_above(job.ranks, p.start.id, job.tree.lane.size, rank);
      p.start = {static_cast<node_id>(line), static_cast<std::uint32_t>(rank - job.ranks[line])};
    }
    return p;
  }
  /// Returns the last i of [begin, end) with a[i] <= x, which must exist.
  template <class Array>
  static ESPALIER_INLINE std::size_t last_not_above(const Array& a, std::size_t begin, std::size_t end,
                                                    std::uint64_t x) {
    while (end - begin > 1) {
      const std::size_t middle = begin + (end - begin) / 2;
      (a[middle] <= x ? begin : end) = middle;
    }
    return begin;
  }
  template <bool Plain>
  static ESPALIER_INLINE void fill_beside_writers(Team team, const blink_fill_job<view>& job, std::size_t first,
                                                  std::size_t last) {
    ranges(team, job, first, last, [&](std::size_t i, node_id id, Word lo, Word hi, bool some) {
      const std::uint64_t begin = job.offsets[i], end = job.offsets[i + 1];
      output<Plain, blink_fill_job<view>> out{job, begin, job.offsets[last]};
      bool more = false;
      if (some) {
        reader::scan_from(team, job.tree, id, lo, hi,
                          [&](const auto& keys, const auto& values, unsigned from, unsigned to) {
                            if (to - from > end - out.at) {
                              more = true;
                              to = from + static_cast<unsigned>(end - out.at);
                            }
                            out.append(team, keys, values, from, to);
                            return !more && (out.at < end || (job.changed != nullptr && end - begin < job.limit));
                          });
      }
      if (job.changed != nullptr && (out.at != end || (more && end - begin < job.limit))) {
        team.once([&] { atomic_word_ref{job.changed}.fetch_add(1); });
      }
    });
  }

  static ESPALIER_INLINE void run(Team team, const blink_rows_job<view>& job, std::size_t first, std::size_t last) {
    if (is_plain(job)) {
      rows<true>(team, job, first, last);
    } else {
      rows<false>(team, job, first, last);
    }
  }
  template <bool Plain>
  static ESPALIER_INLINE void rows(Team team, const blink_rows_job<view>& job, std::size_t first, std::size_t last) {
    if constexpr (std::is_same_v<Reads, stable_reads>) {
      if (job.ranks) return rows_by_ranks<Plain>(team, job, first, last);
    }
    ranges(team, job, first, last, [&](std::size_t i, node_id id, Word lo, Word hi, bool some) {
      const std::uint64_t begin = i * job.limit, end = begin + job.limit;
      output<Plain, blink_rows_job<view>> out{job, begin, end};
      if (some) {
        reader::scan_from(team, job.tree, id, lo, hi,
                          [&](const auto& keys, const auto& values, unsigned from, unsigned to) {
                            if (to - from > end - out.at) to = from + static_cast<unsigned>(end - out.at);
                            out.append(team, keys, values, from, to);
                            return out.at < end;
                          });
      }
      team.once([&] { store_streaming(job.counts + i, out.at - begin); });
    });
  }
  /// Each lane finds the start of a different row; then all lanes fill one row after the other.
  template <bool Plain>
  static ESPALIER_INLINE void rows_by_ranks(Team team, const blink_rows_job<view>& job, std::size_t first,
                                            std::size_t last) {
    using alone = typename Team::single_lane_team;
    const output<Plain, blink_rows_job<view>> out{job, 0, 0};
    for (std::size_t i = first; i < last; i += Team::lanes()) {
      const unsigned rows = last - i < Team::lanes() ? static_cast<unsigned>(last - i) : Team::lanes();
      leaf_position place{0, 0};
      Word lo, hi{};
      std::uint64_t most = 0;
      if (team.lane() < rows && closed(job, i + team.lane(), lo, hi)) {
        const std::uint64_t below = blink_reader<alone, Reads, view>::rank_of(alone{}, job.tree, job.ranks, lo, place);
        most = job.ranks[job.tree.lane.size] - below;
        if (most > job.limit) most = job.limit;
      }
      for (unsigned j = 0; j < rows; ++j) {
        const leaf_position start{team.broadcast(place.id, j), team.broadcast(place.slot, j)};
        const std::uint64_t begin = (i + j) * job.limit;
        const std::uint64_t n =
            reader::each_up_to(team, job.tree, job.ranks, start, team.broadcast(hi, j), team.broadcast(most, j),
                               [&](std::uint64_t k, const auto& e) { out.put(begin + k, e); });
        team.once([&] { store_streaming(job.counts + i + j, n); });
      }
    }
  }

  static ESPALIER_INLINE void run(Team team, const blink_aggregate_job<view>& job, std::size_t first,
                                  std::size_t last) {
    if constexpr (V != 16) {
      using agg = aggregator<Word, V>;
      using word = typename agg::word;
      const view& t = job.tree;
      const scalar_kind kind = V == 0 ? t.key : t.value;
      const bool floats = kind == scalar_kind::f32 || kind == scalar_kind::f64;
      ranges(team, job, first, last, [&](std::size_t i, node_id id, Word lo, Word hi, bool some) {
        std::uint64_t count = 0;
        typename agg::sum_type exact = 0;
        double sum = 0;
        word least = std::numeric_limits<word>::max(), most = 0;
        const auto add = [&](word bits) {
          const word w = encode_bits(kind, bits);
          if (w < least) least = w;
          if (w > most) most = w;
          if (floats) {
            sum += agg::double_of(kind, bits);
          } else {
            exact += agg::integer_of(kind, bits);
          }
        };
        if (some) {
          reader::scan_from(team, t, id, lo, hi, [&](const auto& keys, const auto& values, unsigned from, unsigned to) {
            count += to - from;
            for (unsigned j = from; j < to; ++j) {
              if constexpr (V == 0) {
                add(decode_bits(kind, team.get(keys, j)));
              } else {
                add(team.get(values, j));
              }
            }
            return true;
          });
        }
        team.once([&] { answer(job, kind, floats, i, count, exact, sum, least, most); });
      });
    }
  }
  template <class Exact, class Bits>
  static ESPALIER_INLINE void answer(const blink_aggregate_job<view>& job, scalar_kind kind, bool floats, std::size_t i,
                                     std::uint64_t count, Exact exact, double sum, Bits least, Bits most) {
    using agg = aggregator<Word, V>;
    if (job.found != nullptr) job.found[i] = count != 0 ? 1 : 0;
    switch (job.op) {
      case detail::aggregate_op::min:
        store_bits(kind, job.out, i, count == 0 ? Bits{0} : decode_bits(kind, least));
        return;
      case detail::aggregate_op::max:
        store_bits(kind, job.out, i, count == 0 ? Bits{0} : decode_bits(kind, most));
        return;
      case detail::aggregate_op::sum:
        if (floats) {
          static_cast<double*>(job.out)[i] = sum;
        } else {
          static_cast<Exact*>(job.out)[i] = exact;
        }
        return;
      case detail::aggregate_op::avg: {
        const bool is_signed = kind == scalar_kind::i8 || kind == scalar_kind::i16 || kind == scalar_kind::i32;
        if (!floats) sum = agg::to_double(exact, is_signed);
        static_cast<double*>(job.out)[i] =
            count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(count);
        return;
      }
    }
  }
};

ESPALIER_END_TARGET_NAMESPACE

#endif  // ESPALIER_BLINK_TREE_RUN_RANGES_HPP
