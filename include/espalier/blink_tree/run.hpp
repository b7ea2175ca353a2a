// run.hpp - bulk operations on a team: run(team, job, first, last) does elements [first, last) of a job.
//
// Each operation is the same three steps: read keys as words, find the leaves where the searches start (a CPU thread for a
// batch at once, so that their memory accesses overlap; a tile with each lane for an element of its own), then one
// element after the other.
#pragma once

#include <limits>

#include "espalier/blink_tree/jobs.hpp"
#include "espalier/blink_tree/policy.hpp"
#include "espalier/static_tree/aggregate.hpp"
#include "espalier/static_tree/run.hpp"

namespace espalier {

/// `Reads`: how this job may read; `Writing`: what the tree's policy means for writes (policy.hpp).
template <class Team, class Reads, class Writing, class View>
struct blink_runner;

template <class Team, class Reads, class Writing, class Word, unsigned V, unsigned N>
struct blink_runner<Team, Reads, Writing, blink_view<Word, V, N>> {
  using view = blink_view<Word, V, N>;
  using shape = typename view::leaf_shape;
  using value = typename shape::value;
  using io = runner<Team>;
  using reader = blink_reader<Team, Reads, view>;
  using writer = typename Writing::template writer<Team, view>;
  using lane_search = searcher<Team, Word, lines_elsewhere>;
  using descent = descender<Team, Reads, view>;
  /// Elements that share one look at the upper levels.
  static constexpr unsigned batch = Team::batch > 1 ? 32 : Team::lanes();

  // ---- where searches start --------------------------------------------------------------------------------
  /// Keys and leaves of a batch: in arrays, or one in each lane.
  struct starts {
    Word key[Team::batch > 1 ? batch : 1];
    node_id id[Team::batch > 1 ? batch : 1];
    std::uint64_t line[Team::batch > 1 ? batch : 1];  ///< where the lane names that leaf; in arrays only

    ESPALIER_INLINE Word key_of(Team team, unsigned j) const {
      if constexpr (Team::batch > 1) return key[j];
      return team.nth(key[0], j);
    }
    ESPALIER_INLINE node_id id_of(Team team, unsigned j) const {
      if constexpr (Team::batch > 1) return id[j];
      return team.nth(id[0], j);
    }
  };

  static ESPALIER_INLINE void prefetch_leaf(Team team, const view& t, node_id id) {
    const std::byte* p = t.leaf(id).p;
    team.prefetch(p);
    if constexpr (shape::chunk == N && shape::bytes > 64) {
      for (unsigned b = 64; b < shape::bytes; b += 64) team.prefetch(p + b);
    }
  }
  /// From lines to leaves.
  static ESPALIER_INLINE void enter(Team team, const view& t, starts& s, unsigned n) {
    if (t.lane_leaves != nullptr) {
      for (unsigned j = 0; j < n; ++j) team.prefetch(t.lane_leaves + s.line[j]);
    }
    for (unsigned j = 0; j < n; ++j) {
      s.id[j] = descent::leaf_of_line(t, s.line[j]);
      prefetch_leaf(team, t, s.id[j]);
    }
  }
  static ESPALIER_INLINE void land(Team team, const view& t, starts& s, unsigned n) {
    if constexpr (Team::batch > 1) {
      if (t.lane.size == 0) {
        for (unsigned j = 0; j < n; ++j) {
          s.id[j] = descent::by_nodes(team, t, s.key[j], 0).id;
          prefetch_leaf(team, t, s.id[j]);
        }
        return;
      }
      Word x[batch];
      for (unsigned j = 0; j < n; ++j) x[j] = s.key[j] < t.lane.first ? t.lane.first : s.key[j];
      lane_search::descend(team, t.lane, x, n, s.line);
      enter(team, t, s, n);
    } else {
      using alone = typename Team::alone;
      s.id[0] = team.lane() < n ? descender<alone, Reads, view>::leaf(alone{}, t, s.key[0]) : node_id{0};
    }
  }
  /// key_at(j) is the word of element j.
  template <class KeyAt>
  static ESPALIER_INLINE starts start(Team team, const view& t, unsigned n, KeyAt key_at) {
    starts s;
    if constexpr (Team::batch > 1) {
      for (unsigned j = 0; j < n; ++j) s.key[j] = key_at(j);
    } else {
      s.key[0] = team.lane() < n ? key_at(team.lane()) : Word{0};
    }
    land(team, t, s, n);
    return s;
  }
  static ESPALIER_INLINE unsigned batch_size(std::size_t first, std::size_t last) {
    return last - first < batch ? static_cast<unsigned>(last - first) : batch;
  }
  static ESPALIER_INLINE Word word_at(const view& t, const void* keys, std::size_t i) {
    return encode_bits(t.key, load_bits<Word>(t.key, keys, i));
  }

  // ---- reads -------------------------------------------------------------------------------------------------
  static ESPALIER_INLINE void run(Team team, const blink_find_job<view>& job, std::size_t first, std::size_t last) {
    const view& t = job.tree;
    for (std::size_t i = first; i < last; i += batch) {
      const unsigned n = batch_size(i, last);
      const starts s = start(team, t, n, [&](unsigned j) { return word_at(t, job.keys, i + j); });
      for (unsigned j = 0; j < n; ++j) {
        value v{};
        const bool found = reader::find_from(team, t, s.id_of(team, j), s.key_of(team, j), v);
        team.once([&] {
          if (V != 0 && job.values != nullptr) io::template store_value<V>(t.value_bytes, job.values, i + j, v);
          if (job.found != nullptr) store_once(job.found + i + j, std::uint8_t{found});
        });
      }
    }
  }

  static ESPALIER_INLINE bool seek(Team team, const view& t, detail::seek_kind kind, Word x,
                                   typename reader::element& e) {
    switch (kind) {
      case detail::seek_kind::lower_bound:
        return reader::at_or_after(team, t, x, e);
      case detail::seek_kind::successor:
        return x != reader::largest && reader::at_or_after(team, t, static_cast<Word>(x + 1), e);
      default:
        return x != 0 && reader::at_or_before(team, t, static_cast<Word>(x - 1), e);
    }
  }
  static ESPALIER_INLINE void run(Team team, const blink_seek_job<view>& job, std::size_t first, std::size_t last) {
    const view& t = job.tree;
    for (std::size_t i = first; i < last; ++i) {
      typename reader::element e;
      const bool found = seek(team, t, job.kind, word_at(t, job.keys, i), e);
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
        if (job.found != nullptr) store_once(job.found + i, std::uint8_t{found});
      });
    }
  }

  /// Query i as a closed range. False: it is empty.
  static ESPALIER_INLINE bool closed(const blink_range_job<view>& job, std::size_t i, Word& lo, Word& hi) {
    lo = word_at(job.tree, job.lo, i);
    hi = word_at(job.tree, job.hi, i);
    if (job.ends == interval::left_open || job.ends == interval::open) {
      if (lo == reader::largest) return false;
      ++lo;
    }
    if (job.ends == interval::right_open || job.ends == interval::open) {
      if (hi == 0) return false;
      --hi;
    }
    return lo <= hi;
  }
  /// Leaves that a range up to hi reads behind its first one. The lane names them, where links would be waited for one after
  /// the other: 2^19 ranges of 32 from 2^22 keys that came one by one take 0.36 us each instead of 0.92.
  static ESPALIER_INLINE void prefetch_behind(Team team, const view& t, std::uint64_t line, Word hi) {
    for (unsigned k = 0; k < most_behind && line + 1 < t.lane.size && t.lane.key_at(line) < hi; ++k) {
      prefetch_leaf(team, t, descent::leaf_of_line(t, ++line));
    }
  }
  static constexpr unsigned most_behind = 8;   ///< leaves of a range; 16 are no better
  static constexpr unsigned ranges_ahead = 2;  ///< as good as 4; with 8 a range at 2^22 keys took 313 ns, not 283

  /// Of n ranges from number i on. `Job::lines` keeps them from the count to the copying.
  template <class Job>
  static ESPALIER_INLINE starts range_starts(Team team, const Job& job, std::size_t i, unsigned n) {
    const view& t = job.tree;
    if constexpr (Team::batch > 1 && std::is_same_v<Job, blink_fill_job<view>>) {
      if (job.lines != nullptr) {
        starts s;
        for (unsigned j = 0; j < n; ++j) s.line[j] = job.lines[i + j];
        for (unsigned j = 0; j < n; ++j) team.prefetch(t.lane.line_keys(s.line[j]));
        enter(team, t, s, n);
        return s;
      }
    }
    const starts s = start(team, t, n, [&](unsigned j) {
      Word lo, hi;
      (void)closed(job, i + j, lo, hi);
      return lo;
    });
    if constexpr (Team::batch > 1 && std::is_same_v<Job, blink_count_job<view>>) {
      if (job.lines != nullptr) {
        for (unsigned j = 0; j < n; ++j) job.lines[i + j] = static_cast<std::uint32_t>(s.line[j]);
      }
    }
    return s;
  }
  /// body(i, start leaf, lo, hi, is not empty) for each range.
  template <class Job, class Body>
  static ESPALIER_INLINE void ranges(Team team, const Job& job, std::size_t first, std::size_t last, Body body) {
    const view& t = job.tree;
    for (std::size_t i = first; i < last; i += batch) {
      const unsigned n = batch_size(i, last);
      const starts s = range_starts(team, job, i, n);
      const auto ask_for = [&](unsigned j) {
        if constexpr (Team::batch > 1) {
          if (j < n && t.lane.size != 0) prefetch_behind(team, t, s.line[j], word_at(t, job.hi, i + j));
        }
      };
      for (unsigned j = 0; j < ranges_ahead; ++j) ask_for(j);
      for (unsigned j = 0; j < n; ++j) {
        ask_for(j + ranges_ahead);
        Word lo, hi;
        const bool some = closed(job, i + j, lo, hi);
        body(i + j, s.id_of(team, j), lo, hi, some);
      }
    }
  }

  static ESPALIER_INLINE void run(Team team, const blink_count_job<view>& job, std::size_t first, std::size_t last) {
    if constexpr (std::is_same_v<Reads, stable_reads>) {
      if (job.ranks) return count_by_ranks(team, job, first, last);
    }
    ranges(team, job, first, last, [&](std::size_t i, node_id id, Word lo, Word hi, bool some) {
      leaf_place start{id, 0};
      const std::uint64_t n = some ? reader::count_from(team, job.tree, id, lo, hi, job.limit, start) : 0;
      answer(team, job, i, n, start);
    });
  }
  static ESPALIER_INLINE void answer(Team team, const blink_count_job<view>& job, std::size_t i, std::uint64_t n,
                                     leaf_place start) {
    team.once([&] {
      store_once(job.counts + i, n);
      if (job.starts != nullptr) job.starts[i] = start;
      if (job.long_ones != nullptr && n > range_part) shared_word{job.long_ones}.store_relaxed(1);
    });
  }
  /// By differences of ranks, however long the ranges are.
  static ESPALIER_INLINE void count_by_ranks(Team team, const blink_count_job<view>& job, std::size_t first,
                                             std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      Word lo, hi;
      leaf_place start{0, 0}, end{0, 0};
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

  /// The outputs of ranges. `Plain`: keys and values are words as they lie in a leaf.
  template <bool Plain, class Job>
  struct output {
    const Job& job;
    std::uint64_t at;   ///< where the next element goes
    std::uint64_t end;  ///< places from `at` to here are written later, and by this team

    template <class Keys, class Values>
    ESPALIER_INLINE void append(Team team, const Keys& keys, [[maybe_unused]] const Values& values, unsigned from,
                                unsigned to) {
      const std::uint64_t shift = at - from;
      if constexpr (Plain && Team::batch > 1) {
        if (end - at >= shape::chunk) {  // whole chunks: a few wide stores, and no loop whose end is hard to foresee
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
        team.for_slots(keys, from, to, [=](unsigned j, Word key) { store_once(to_keys + j, key); });
        if constexpr (V != 0) {
          auto* to_values = static_cast<value*>(job.out_values) + shift;
          team.for_slots(values, from, to, [=](unsigned j, const value& v) { to_values[j] = v; });
        }
      } else {
        const view& t = job.tree;
        if (job.out_keys != nullptr)
          team.for_slots(keys, from, to, [&](unsigned j, Word key) { io::store_key(t.key, job.out_keys, shift + j, key); });
        if constexpr (V != 0) {
          if (job.out_values != nullptr)
            team.for_slots(values, from, to, [&](unsigned j, const value& v) {
              io::template store_value<V>(t.value_bytes, job.out_values, shift + j, v);
            });
        }
      }
    }

    /// By one lane.
    ESPALIER_INLINE void put(std::uint64_t i, const typename reader::element& e) const {
      if constexpr (Plain) {
        store_once(static_cast<Word*>(job.out_keys) + i, e.key);
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
        const leaf_place start = job.starts[i];
        reader::copy_from(team, job.tree, start.id, start.slot, job.offsets[i + 1] - out.at, append);
      }
    } else {
      fill_beside_writers<Plain>(team, job, first, last);
    }
  }
  /// Each lane looks up what belongs at its places of the outputs, and neighbours write whole sectors.
  template <bool Plain>
  static ESPALIER_INLINE void copy_parts(Team team, const blink_fill_job<view>& job, std::size_t first, std::size_t last) {
    const output<Plain, blink_fill_job<view>> out{job, 0, 0};
    for (std::size_t i = first; i < last; ++i) {
      const part p = part_at(job, i);
      reader::each_by_ranks(team, job.tree, job.ranks, p.start, p.size, static_cast<unsigned>(p.at % Team::lanes()),
                            [&](std::uint64_t j, const auto& e) { out.put(p.at + j, e); });
    }
  }
  struct part {
    leaf_place start;
    std::uint64_t at, size;  ///< in the outputs
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
  /// Last i of [begin, end) with a[i] <= x; there is one.
  template <class Array>
  static ESPALIER_INLINE std::size_t last_not_above(const Array& a, std::size_t begin, std::size_t end, std::uint64_t x) {
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
        team.once([&] { shared_word{job.changed}.fetch_add(1); });
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
      team.once([&] { store_once(job.counts + i, out.at - begin); });
    });
  }
  /// Each lane looks where a row of its own begins; then all fill one row after the other.
  template <bool Plain>
  static ESPALIER_INLINE void rows_by_ranks(Team team, const blink_rows_job<view>& job, std::size_t first,
                                            std::size_t last) {
    using alone = typename Team::alone;
    const output<Plain, blink_rows_job<view>> out{job, 0, 0};
    for (std::size_t i = first; i < last; i += Team::lanes()) {
      const unsigned rows = last - i < Team::lanes() ? static_cast<unsigned>(last - i) : Team::lanes();
      leaf_place place{0, 0};
      Word lo, hi{};
      std::uint64_t most = 0;
      if (team.lane() < rows && closed(job, i + team.lane(), lo, hi)) {
        const std::uint64_t below = blink_reader<alone, Reads, view>::rank_of(alone{}, job.tree, job.ranks, lo, place);
        most = job.ranks[job.tree.lane.size] - below;
        if (most > job.limit) most = job.limit;
      }
      for (unsigned j = 0; j < rows; ++j) {
        const leaf_place start{team.nth(place.id, j), team.nth(place.slot, j)};
        const std::uint64_t begin = (i + j) * job.limit;
        const std::uint64_t n = reader::each_up_to(team, job.tree, job.ranks, start, team.nth(hi, j), team.nth(most, j),
                                                   [&](std::uint64_t k, const auto& e) { out.put(begin + k, e); });
        team.once([&] { store_once(job.counts + i + j, n); });
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
  static ESPALIER_INLINE void answer(const blink_aggregate_job<view>& job, scalar_kind kind, bool floats,
                                     std::size_t i, std::uint64_t count, Exact exact, double sum, Bits least,
                                     Bits most) {
    using agg = aggregator<Word, V>;
    if (job.found != nullptr) job.found[i] = count != 0 ? 1 : 0;
    switch (job.op) {
      case aggregate_kind::min:
        store_bits(kind, job.out, i, count == 0 ? Bits{0} : decode_bits(kind, least));
        return;
      case aggregate_kind::max:
        store_bits(kind, job.out, i, count == 0 ? Bits{0} : decode_bits(kind, most));
        return;
      case aggregate_kind::sum:
        if (floats) {
          static_cast<double*>(job.out)[i] = sum;
        } else {
          static_cast<Exact*>(job.out)[i] = exact;
        }
        return;
      case aggregate_kind::avg: {
        const bool is_signed = kind == scalar_kind::i8 || kind == scalar_kind::i16 || kind == scalar_kind::i32;
        if (!floats) sum = agg::to_double(exact, is_signed);
        static_cast<double*>(job.out)[i] =
            count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / static_cast<double>(count);
        return;
      }
    }
  }

  // ---- writes ------------------------------------------------------------------------------------------------
  template <splitting Splits>
  static ESPALIER_INLINE blink_outcome one(Team team, const view& t, blink_op op, node_id id, Word x, const value& v,
                                           value& out) {
    switch (op) {
      case blink_op::find:
        return writer::find_from(team, t, id, x, out) ? blink_outcome::done : blink_outcome::unchanged;
      case blink_op::insert:
        return writer::template insert_from<Splits>(team, t, id, x, v, false);
      case blink_op::insert_or_assign:
        return writer::template insert_from<Splits>(team, t, id, x, v, true);
      case blink_op::update:
        return writer::update_from(team, t, id, x, v);
      default:
        return writer::erase_from(team, t, id, x);
    }
  }
  /// Element e of the batch; false: there was no room.
  template <splitting Splits>
  static ESPALIER_INLINE bool element(Team team, const blink_write_job<view>& job, blink_op op, std::size_t e,
                                      node_id id, Word x) {
    const view& t = job.tree;
    value v{}, out{};
    if (V != 0 && job.values != nullptr && op != blink_op::find && op != blink_op::erase)
      v = load_value<V>(t.value_bytes, job.values, e);
    const blink_outcome r = one<Splits>(team, t, op, id, x, v, out);
    team.once([&] {
      if (r == blink_outcome::no_room) {
        job.refused[shared_word{job.refusals}.fetch_one()] = static_cast<std::uint32_t>(e);
        return;
      }
      if (job.done != nullptr) store_once(job.done + e, std::uint8_t{r == blink_outcome::done});
      if (V != 0 && op == blink_op::find && job.out_values != nullptr)
        io::template store_value<V>(t.value_bytes, job.out_values, e, out);
    });
    return r != blink_outcome::no_room;
  }
  static ESPALIER_COLD bool element_called(Team team, const blink_write_job<view>& job, std::size_t e, node_id id,
                                           Word x) {
    const blink_op op = job.ops == nullptr ? job.op : static_cast<blink_op>(job.ops[e]);
    return element<splitting::allowed>(team, job, op, e, id, x);
  }

  /// body(element, start leaf, key) for each element of [first, last).
  template <class Body>
  static ESPALIER_INLINE void elements(Team team, const blink_write_job<view>& job, std::size_t first,
                                       std::size_t last, Body body) {
    for (std::size_t i = first; i < last; i += batch) {
      const unsigned n = batch_size(i, last);
      const auto number = [&](unsigned j) -> std::size_t { return job.order == nullptr ? i + j : job.order[i + j]; };
      const starts s =
          start(team, job.tree, n, [&](unsigned j) { return word_at(job.tree, job.keys, number(j)); });
      for (unsigned j = 0; j < n; ++j) body(number(j), s.id_of(team, j), s.key_of(team, j));
    }
  }
  static ESPALIER_INLINE void run(Team team, const blink_write_job<view>& job, std::size_t first, std::size_t last) {
    elements(team, job, first, last,
             [&](std::size_t e, node_id id, Word x) { (void)element_called(team, job, e, id, x); });
  }
  template <blink_op Op>
  static ESPALIER_INLINE void run(Team team, const blink_first_pass_job<view, Op>& job, std::size_t first,
                                  std::size_t last) {
    constexpr splitting splits = Team::batch > 1 ? splitting::allowed : splitting::never;
    elements(team, job, first, last,
             [&](std::size_t e, node_id id, Word x) { (void)element<splits>(team, job, Op, e, id, x); });
  }

  /// In `done`: this element and what follows it in its run are still to do.
  static constexpr std::uint8_t refused_mark = 2;
  /// All elements with the key of position i of the sorted batch, in batch order, if i is the first of them. The rest of a
  /// run waits with the one that found no room.
  static ESPALIER_INLINE void run(Team team, const blink_ordered_job<view>& job, std::size_t first, std::size_t last) {
    const view& t = job.tree;
    for (std::size_t i = first; i < last; ++i) {
      const Word x = word_at(t, job.keys, job.order[i]);
      if (i != 0 && word_at(t, job.keys, job.order[i - 1]) == x) continue;
      const node_id id = descent::leaf(team, t, x);
      bool room = true;
      for (std::size_t k = i; k < job.size && word_at(t, job.keys, job.order[k]) == x; ++k) {
        const std::size_t e = job.order[k];
        if (job.resumed && job.done[e] != refused_mark) continue;
        if (room) room = element_called(team, job, e, id, x);
        if (!room) team.once([&] { job.done[e] = refused_mark; });
        team.sync();
      }
    }
  }
};

}  // namespace espalier
