// run.hpp - bulk operations on a team: run(team, job, first, last) answers queries [first, last) of a job.
//
// Each operation has the same three steps: load a batch of keys as words, search, store the results in the caller's
// types.
#if defined(ESPALIER_STATIC_TREE_RUN_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ESPALIER_STATIC_TREE_RUN_HPP
#undef ESPALIER_STATIC_TREE_RUN_HPP
#else
#define ESPALIER_STATIC_TREE_RUN_HPP
#endif

#include "espalier/static_tree/aggregate.hpp"
#include "espalier/static_tree/jobs.hpp"
#include "espalier/static_tree/run_rows.hpp"
#include "espalier/static_tree/search.hpp"

ESPALIER_BEGIN_TARGET_NAMESPACE

template <class Team>
struct runner {
  static constexpr unsigned batch = Team::batch;

  static ESPALIER_INLINE unsigned batch_size(std::size_t first, std::size_t last) {
    if constexpr (batch == 1) return 1;
    return last - first < batch ? static_cast<unsigned>(last - first) : batch;
  }

  // ---- loading keys, storing elements ---------------------------------------------------------------------
  template <scalar_kind Kind, class Word>
  static ESPALIER_INLINE void load_as(const void* keys, std::size_t first, unsigned n, Word* words) {
    for (unsigned j = 0; j < n; ++j) words[j] = encode_bits(Kind, load_bits<Word>(Kind, keys, first + j));
  }
  /// There is one loop per kind, so that a CPU compiler vectorises each.
  template <class Word>
  static ESPALIER_PER_BATCH void load_words(scalar_kind kind, const void* keys, std::size_t first, unsigned n,
                                            Word* words) {
    if constexpr (batch == 1) {
      words[0] = encode_bits(kind, load_bits<Word>(kind, keys, first));
    } else {
      switch (kind) {
        case scalar_kind::u8:
          return load_as<scalar_kind::u8>(keys, first, n, words);
        case scalar_kind::i8:
          return load_as<scalar_kind::i8>(keys, first, n, words);
        case scalar_kind::u16:
          return load_as<scalar_kind::u16>(keys, first, n, words);
        case scalar_kind::i16:
          return load_as<scalar_kind::i16>(keys, first, n, words);
        case scalar_kind::u32:
          return load_as<scalar_kind::u32>(keys, first, n, words);
        case scalar_kind::i32:
          return load_as<scalar_kind::i32>(keys, first, n, words);
        case scalar_kind::f32:
          return load_as<scalar_kind::f32>(keys, first, n, words);
        case scalar_kind::u64:
          return load_as<scalar_kind::u64>(keys, first, n, words);
        case scalar_kind::i64:
          return load_as<scalar_kind::i64>(keys, first, n, words);
        case scalar_kind::f64:
          return load_as<scalar_kind::f64>(keys, first, n, words);
        case scalar_kind::opaque:
          return;
      }
    }
  }
  template <class Word, unsigned V>
  static ESPALIER_INLINE void load_queries(const query_job<Word, V>& job, std::size_t first, unsigned n, Word* words) {
    if (job.place != nullptr) {
      for (unsigned j = 0; j < n; ++j) words[j] = load_streaming(static_cast<const Word*>(job.keys) + first + j);
    } else {
      load_words(job.tree.key, job.keys, first, n, words);
    }
  }
  template <class Job>
  static ESPALIER_INLINE std::size_t place_of(const Job& job, std::size_t i) {
    return job.place != nullptr ? load_streaming(job.place + i) : i;
  }

  template <class Word>
  static ESPALIER_INLINE void store_key(scalar_kind kind, void* out, std::size_t i, Word key) {
    store_bits(kind, out, i, decode_bits(kind, key));
  }
  // Extracts by shifts, because a value whose address is taken leaves the registers of a GPU thread.
  template <class Raw>
  static ESPALIER_INLINE unsigned char byte_of(const Raw& raw, unsigned b) {
    if constexpr (sizeof(Raw) == 16) {
      return static_cast<unsigned char>((b < 8 ? raw.low : raw.high) >> (8 * (b % 8)));
    } else {
      return static_cast<unsigned char>(raw >> (8 * b));
    }
  }
  template <unsigned V>
  static ESPALIER_INLINE void store_value(unsigned value_bytes, void* out, std::size_t i,
                                          const typename value_raw<V>::type& raw) {
    if constexpr (V != 0) {
      // The caller's type may have a smaller alignment than the word of the same size.
      if (value_bytes == V && (batch > 1 || reinterpret_cast<std::uintptr_t>(out) % V == 0)) {
        auto* to = static_cast<unsigned char*>(out) + i * V;
        if constexpr (batch > 1) {
          memcpy(to, &raw, V);
        } else if constexpr (V == 16) {
          *reinterpret_cast<typename value_raw<V>::type*>(to) = raw;
        } else {
          store_streaming(reinterpret_cast<typename value_raw<V>::type*>(to), raw);
        }
      } else {
        auto* to = static_cast<unsigned char*>(out) + i * value_bytes;
        for (unsigned b = 0; b < value_bytes; ++b) to[b] = byte_of(raw, b);
      }
    }
  }
  /// Stores the element at `rank`, or zero bytes if `there` is false, at position i of the outputs that are not null.
  template <class Word, unsigned V>
  static ESPALIER_INLINE void store_element(const tree_view<Word, V>& t, std::uint64_t rank, bool there, std::size_t i,
                                            void* out_keys, void* out_values, std::uint8_t* found) {
    if (out_keys != nullptr) {
      if (there) {
        store_key(t.key, out_keys, i, t.key_at(rank));
      } else {
        store_bits(t.key, out_keys, i, Word{0});
      }
    }
    if (V != 0 && out_values != nullptr) {
      store_value<V>(t.value_bytes, out_values, i, there ? t.value_at(rank) : typename value_raw<V>::type{});
    }
    if (found != nullptr) store_streaming(found + i, std::uint8_t{there});
  }

  // ---- find -----------------------------------------------------------------------------------------------
  template <class Word, unsigned V>
  static ESPALIER_INLINE void answer(Team team, const find_job<Word, V>& job, std::uint64_t line, Word x, Word key,
                                     std::size_t i) {
    using search = searcher<Team, Word, V>;
    using raw = typename value_raw<V>::type;
    const auto& t = job.tree;
    for (;;) {
      const auto k = search::keys(team, t, line);
      if constexpr (V != 0 && V * search::slots <= 32) {
        // The loads of the values' sector and of the keys' sector are issued together: one wait instead of two.
        const auto v = team.template view<search::slots>(t.line_values(line));
        if (team.template get<search::slots - 1>(k) >= x) {
          const unsigned slot = team.template rank<0>(k, x);
          const bool hit = team.get(k, slot) == key;
          if (job.values != nullptr) store_value<V>(t.value_bytes, job.values, i, hit ? team.get(v, slot) : raw{});
          if (job.found != nullptr) store_streaming(job.found + i, std::uint8_t{hit});
          return;
        }
      } else {
        if (team.template get<search::slots - 1>(k) >= x) {
          const unsigned slot = team.template rank<0>(k, x);
          const bool hit = team.get(k, slot) == key;
          if (V != 0 && job.values != nullptr)
            store_value<V>(t.value_bytes, job.values, i, hit ? t.line_values(line)[slot] : raw{});
          if (job.found != nullptr) store_streaming(job.found + i, std::uint8_t{hit});
          return;
        }
      }
      line = search::next_line(team, t, line, x);
    }
  }

  template <class Word, unsigned V>
  static ESPALIER_INLINE void run(Team team, const find_job<Word, V>& job, std::size_t first, std::size_t last) {
    if constexpr (batch > 1) {
      if (job.lines != nullptr && job.tree.size != 0) return run_from_lines(team, job, first, last);
    }
    for (std::size_t i = first; i < last; i += batch) {
      const unsigned n = batch_size(i, last);
      Word key[batch], x[batch];
      std::uint64_t line[batch];
      load_queries(job, i, n, key);
      if (job.tree.size == 0) {
        for (unsigned j = 0; j < n; ++j)
          store_element(job.tree, 0, false, place_of(job, i + j), nullptr, job.values, job.found);
        continue;
      }
      for (unsigned j = 0; j < n; ++j) x[j] = searcher<Team, Word, V>::clamp(job.tree, key[j]);
      find_lines(team, job, i, x, n, line);
      answer_batch(team, job, line, x, key, i, n);
    }
  }

  /// answer() for the queries of a batch, with the lines of find_lines(). On a CPU all queries are answered from these
  /// lines at first; those that are undecided are answered once more, after the next lines were prefetched together.
  template <class Word, unsigned V>
  static ESPALIER_INLINE void answer_batch(Team team, const find_job<Word, V>& job, const std::uint64_t* line,
                                           const Word* x, const Word* key, std::size_t first, unsigned n) {
    if constexpr (batch == 1) {
      answer(team, job, line[0], x[0], key[0], place_of(job, first));
    } else {
      using search = searcher<Team, Word, V>;
      const auto& t = job.tree;
      unsigned late[batch];
      unsigned late_count = 0, lines_behind = 0;
      if (job.place != nullptr || (job.values != nullptr && t.value_bytes != V)) {
        // Rare: these queries are all answered one by one.
        for (; late_count < n; ++late_count) late[late_count] = late_count;
      } else {
        auto* const values =
            V == 0 || job.values == nullptr ? nullptr : static_cast<std::byte*>(job.values) + first * V;
        std::uint8_t* const found = job.found == nullptr ? nullptr : job.found + first;
        for (unsigned j = 0; j < n; ++j) {
          const auto k = search::keys(team, t, line[j]);
          const unsigned slot = team.template rank<0>(k, x[j]);
          late[late_count] = j;
          late_count += slot == search::slots ? 1u : 0u;
          const unsigned in_line = slot % search::slots;  // of an undecided line: any slot
          const bool hit = team.get(k, in_line) == key[j];
          if constexpr (V != 0) {
            using raw = typename value_raw<V>::type;
            if (values != nullptr) {
              const raw v = hit ? t.line_values(line[j])[in_line] : raw{};
              memcpy(values + std::size_t{j} * V, &v, V);
            }
          }
          if (found != nullptr) found[j] = hit ? 1 : 0;
        }
        lines_behind = 1;
        for (unsigned l = 0; l < late_count; ++l) search::prefetch_line(team, t, line[late[l]] + 1);
      }
      for (unsigned l = 0; l < late_count; ++l) {
        const unsigned j = late[l];
        answer(team, job, line[j] + lines_behind, x[j], key[j], place_of(job, first + j));
      }
    }
  }

  /// Answers queries whose lines are known beforehand. With each answer it prefetches one line of the next batch, so
  /// that memory is never idle while keys are compared. One in sixteen lines is too far to the left (separators tie),
  /// nearly always by one: the next line is prefetched, and its query is answered after all others of the batch.
  template <class Word, unsigned V>
  static ESPALIER_INLINE void run_from_lines(Team team, const find_job<Word, V>& job, std::size_t first,
                                             std::size_t last) {
    using search = searcher<Team, Word, V>;
    Word key[2][batch];
    unsigned n = batch_size(first, last);
    load_queries(job, first, n, key[0]);
    for (unsigned j = 0; j < n; ++j) search::prefetch_line(team, job.tree, job.lines[first + j]);
    for (unsigned half = 0; first < last; half ^= 1) {
      const std::size_t next = first + n;
      const unsigned coming = next < last ? batch_size(next, last) : 0;
      load_queries(job, next, coming, key[half ^ 1]);
      unsigned late[batch], late_count = 0;
      for (unsigned j = 0; j < n; ++j) {
        if (j < coming) search::prefetch_line(team, job.tree, job.lines[next + j]);
        const std::uint64_t line = job.lines[first + j];
        const Word k = key[half][j], x = search::clamp(job.tree, k);
        if (job.tree.line_keys(line)[search::slots - 1] < x) {
          search::prefetch_line(team, job.tree, line + 1);
          late[late_count++] = j;
        } else {
          answer(team, job, line, x, k, place_of(job, first + j));
        }
      }
      for (unsigned l = 0; l < late_count; ++l) {
        const unsigned j = late[l];
        const Word k = key[half][j];
        answer(team, job, std::uint64_t{job.lines[first + j]} + 1, search::clamp(job.tree, k), k,
               place_of(job, first + j));
      }
      first = next;
      n = coming;
    }
  }

  /// Stages 1 to 3, or the lines given by the job.
  template <class Word, unsigned V>
  static ESPALIER_INLINE void find_lines(Team team, const query_job<Word, V>& job, std::size_t first, const Word* x,
                                         unsigned n, std::uint64_t* line) {
    if constexpr (batch > 1) {
      if (job.lines != nullptr) {
        for (unsigned j = 0; j < n; ++j) {
          line[j] = job.lines[first + j];
          searcher<Team, Word, V>::prefetch_line(team, job.tree, line[j]);
        }
        return;
      }
    }
    descend(team, job, x, n, line);
  }

  /// Stages 1 to 3. If a batch is said to ascend and its queries turn out to be close together, the lines in between
  /// are walked: neighbours share them, and a CPU's hardware prefetcher runs ahead.
  template <class Word, unsigned V>
  static ESPALIER_PER_BATCH void descend(Team team, const query_job<Word, V>& job, const Word* x, unsigned n,
                                         std::uint64_t* line) {
    using search = searcher<Team, Word, V>;
    const auto& t = job.tree;
    if constexpr (batch > 1) {
      if (job.ascending && n > 1) {
        line[0] = search::rank_in(team, t, search::descend(team, t, x[0]), x[0]) / search::slots;
        const std::uint64_t end = search::descend(team, t, x[n - 1]);
        // The difference wraps around to a large number if the batch does not ascend.
        if (end - line[0] <= 2 * std::uint64_t{n}) {
          const std::uint64_t far = 2 * std::uint64_t{n};
          for (unsigned j = 1; j < n; ++j) {
            // A query that is out of order, or far ahead, descends from the root.
            bool walk = x[j] >= x[j - 1];
            line[j] = line[j - 1];
            for (std::uint64_t steps = 0; walk && t.line_keys(line[j])[search::slots - 1] < x[j]; ++line[j]) {
              walk = ++steps <= far;
            }
            if (!walk) line[j] = search::descend(team, t, x[j]);
          }
          return;
        }
      }
    }
    search::first_lines(team, t, x, n, line);
  }

  // ---- inner levels only ----------------------------------------------------------------------------------
  /// Loads queries clamped to the range of the table. `prefetches` requests a prefetch of their cells.
  template <class Word>
  static ESPALIER_INLINE void load_clamped(Team team, const tree_view<Word, external_keys>& t, const void* keys,
                                           std::size_t first, unsigned n, [[maybe_unused]] bool prefetches, Word* x) {
    using search = searcher<Team, Word, external_keys>;
    load_words(t.key, keys, first, n, x);
    for (unsigned j = 0; j < n; ++j) {
      x[j] = search::clamp(t, x[j]);
      if constexpr (batch > 1) {
        if (prefetches) team.prefetch(search::cell_of(t, x[j]));
      }
    }
  }
  template <class Word>
  static ESPALIER_INLINE void run(Team team, const top_table_job<Word>& job, std::size_t first, std::size_t last) {
    using search = searcher<Team, Word, external_keys>;
    const auto& t = job.tree;
    for (std::size_t i = first; i < last; i += batch) {
      const unsigned n = batch_size(i, last);
      Word x[batch];
      load_clamped(team, t, job.keys, i, n, true, x);
      for (unsigned j = 0; j < n; ++j) job.groups[i + j] = search::group_of(t, *search::cell_of(t, x[j]), x[j]);
    }
  }
  template <class Word>
  static ESPALIER_INLINE void run(Team team, const find_line_job<Word>& job, std::size_t first, std::size_t last) {
    using search = searcher<Team, Word, external_keys>;
    const auto& t = job.tree;
    for (std::size_t i = first; i < last; i += batch) {
      const unsigned n = batch_size(i, last);
      Word x[batch];
      std::uint32_t group[batch];
      load_clamped(team, t, job.keys, i, n, job.groups == nullptr, x);
      for (unsigned j = 0; j < n; ++j) {
        group[j] = job.groups != nullptr ? job.groups[i + j] : search::group_of(t, *search::cell_of(t, x[j]), x[j]);
        if constexpr (batch > 1) team.prefetch(t.headers + group[j]);
      }
      for (unsigned j = 0; j < n; ++j)
        job.lines[i + j] = static_cast<std::uint32_t>(search::line_of(team, t, group[j], x[j]));
    }
  }

  // ---- ranks ----------------------------------------------------------------------------------------------
  /// Lower bounds of words, or upper bounds, which are the lower bounds of the next word, and the end for the largest
  /// word.
  template <class Word, unsigned V>
  static ESPALIER_PER_BATCH void ranks(Team team, const query_job<Word, V>& job, std::size_t first, bool upper,
                                       Word* key, unsigned n, std::uint64_t* rank) {
    using search = searcher<Team, Word, V>;
    const auto& t = job.tree;
    if (t.size == 0) {
      for (unsigned j = 0; j < n; ++j) rank[j] = 0;
      return;
    }
    Word x[batch]{};  // zeros: g++ 12 does not see that all n are assigned
    std::uint64_t line[batch];
    bool past[batch];
    for (unsigned j = 0; j < n; ++j) {
      const Word sought = static_cast<Word>(key[j] + (upper ? 1 : 0));
      past[j] = sought < key[j] || sought > t.last;
      x[j] = past[j] ? t.last : search::clamp(t, sought);
    }
    find_lines(team, job, first, x, n, line);
    search::ranks_in(team, t, line, x, n, rank);
    for (unsigned j = 0; j < n; ++j) rank[j] = past[j] ? t.size : rank[j];
  }

  template <class Word, unsigned V>
  static ESPALIER_INLINE void run(Team team, const rank_job<Word, V>& job, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; i += batch) {
      const unsigned n = batch_size(i, last);
      Word key[batch];
      std::uint64_t rank[batch];
      load_queries(job, i, n, key);
      ranks(team, job, i, job.upper, key, n, rank);
      for (unsigned j = 0; j < n; ++j) store_streaming(job.ranks + place_of(job, i + j), rank[j]);
    }
  }

  template <class Word, unsigned V>
  static ESPALIER_INLINE void run(Team team, const seek_job<Word, V>& job, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; i += batch) {
      const unsigned n = batch_size(i, last);
      Word key[batch];
      std::uint64_t rank[batch];
      load_queries(job, i, n, key);
      ranks(team, job, i, job.kind == detail::seek_kind::successor, key, n, rank);
      const bool before = job.kind == detail::seek_kind::predecessor;
      for (unsigned j = 0; j < n; ++j) {
        const bool there = before ? rank[j] > 0 : rank[j] < job.tree.size;
        store_element(job.tree, before ? rank[j] - 1 : rank[j], there, place_of(job, i + j), job.out_keys,
                      job.out_values, job.found);
      }
    }
  }

  template <class Word, unsigned V>
  static ESPALIER_INLINE void run(Team, const select_job<Word, V>& job, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      store_element(job.tree, job.ranks[i], job.ranks[i] < job.tree.size, i, job.out_keys, job.out_values, job.found);
    }
  }

  // ---- ranges ---------------------------------------------------------------------------------------------
  /// Computes ranks [begin, end) of each range of a batch; end >= begin.
  template <class Word, unsigned V>
  static ESPALIER_INLINE void range_ranks(Team team, const range_job<Word, V>& job, std::size_t i, unsigned n,
                                          std::uint64_t* begin, std::uint64_t* end) {
    const query_job<Word, V> query{job.tree, nullptr, nullptr, false};
    Word key[batch];
    load_words(job.tree.key, job.lo, i, n, key);
    ranks(team, query, i, job.ends == interval::left_open || job.ends == interval::open, key, n, begin);
    load_words(job.tree.key, job.hi, i, n, key);
    ranks(team, query, i, job.ends == interval::closed || job.ends == interval::left_open, key, n, end);
    for (unsigned j = 0; j < n; ++j) {
      if (end[j] < begin[j]) end[j] = begin[j];
    }
  }

  // One end of a range by itself, for teams that divide the ends among them. Both ends are lower bounds: of a key, or
  // of the next one, which the largest word does not have.
  template <class Word>
  struct range_end {
    Word sought;
    bool past;  ///< all elements are before it
  };
  template <class Word, unsigned V>
  static ESPALIER_INLINE range_end<Word> end_of(const range_job<Word, V>& job, std::size_t i, bool is_upper) {
    static_assert(batch == 1);
    const auto& t = job.tree;
    const bool next = is_upper ? job.ends == interval::closed || job.ends == interval::left_open
                               : job.ends == interval::left_open || job.ends == interval::open;
    Word key[1];
    load_words(t.key, is_upper ? job.hi : job.lo, i, 1, key);
    const Word sought = static_cast<Word>(key[0] + (next ? 1 : 0));
    const bool past = sought < key[0] || sought > t.last;
    return {past ? t.last : searcher<Team, Word, V>::clamp(t, sought), past};
  }
  template <class Word, unsigned V>
  static ESPALIER_INLINE std::uint64_t rank_of_end(Team team, const range_job<Word, V>& job, std::size_t i,
                                                   bool is_upper) {
    using search = searcher<Team, Word, V>;
    const auto& t = job.tree;
    if (t.size == 0) return 0;
    const range_end<Word> end = end_of(job, i, is_upper);
    return end.past ? t.size : search::rank_in(team, t, search::descend(team, t, end.sought), end.sought);
  }
  template <class Sum>
  struct summed_end {
    std::uint64_t rank;
    Sum sum;  ///< of all elements before it, which are integers
  };
  /// Keys and summands of a line and the prefix sum in front of it are loaded together: one wait instead of two.
  template <class Word, unsigned V>
  static ESPALIER_INLINE auto sum_of_end(Team team, const aggregate_job<Word, V>& job, std::size_t i, bool is_upper) {
    using search = searcher<Team, Word, V>;
    using aggregates = aggregator<Word, V>;
    using result = summed_end<typename aggregates::sum_type>;
    const auto& t = job.tree;
    if (t.size == 0) return result{0, 0};
    const range_end<Word> end = end_of(job, i, is_upper);
    if (end.past) return result{t.size, aggregates::prefix(t, t.size)};
    std::uint64_t line = search::descend(team, t, end.sought);
    for (;;) {
      const auto k = search::keys(team, t, line);
      const auto summands = aggregates::summands_of(team, t, line);
      const auto prefix = aggregates::prefix_of_block(t, line);
      if (team.template get<search::slots - 1>(k) >= end.sought) {
        const unsigned slot = team.template rank<0>(k, end.sought);
        return result{line * search::slots + slot, aggregates::sum_before(team, t, line, slot, summands, prefix)};
      }
      line = search::next_line(team, t, line, end.sought);
    }
  }

  template <class Word, unsigned V, class End>
  static ESPALIER_INLINE void answer_sum(const aggregate_job<Word, V>& job, const End& begin, const End& end,
                                         std::size_t i) {
    const bool some = begin.rank < end.rank;
    if (job.found != nullptr) job.found[i] = some ? 1 : 0;
    aggregator<Word, V>::answer_integers(job, some ? end.sum - begin.sum : decltype(end.sum){0}, begin.rank, end.rank,
                                         i);
  }
  template <class Word, unsigned V>
  static ESPALIER_INLINE void answer_count(const count_job<Word, V>& job, std::uint64_t begin, std::uint64_t end,
                                           std::size_t i) {
    const std::uint64_t size = end > begin ? end - begin : 0;
    if (job.counts != nullptr) job.counts[i] = size < job.limit ? size : job.limit;
    if (job.starts != nullptr) job.starts[i] = begin;
  }
  template <class Word, unsigned V>
  static ESPALIER_INLINE void run(Team team, const count_job<Word, V>& job, std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; i += batch) {
      const unsigned n = batch_size(i, last);
      std::uint64_t begin[batch], end[batch];
      range_ranks(team, job, i, n, begin, end);
      for (unsigned j = 0; j < n; ++j) answer_count(job, begin[j], end[j], i + j);
    }
  }

  template <class Word, unsigned V>
  static ESPALIER_INLINE void run(Team team, const fill_job<Word, V>& job, std::size_t first, std::size_t last) {
    static_assert(batch > 1);  // on a GPU, a warp copies a piece of the output (src/static_tree/cuda_fill.cuh)
    if (job.queries == 0) return;
    const std::uint64_t total = job.offsets[job.queries];  // the caller's memory may be larger or smaller
    if (last > total) last = total;
    if (last > job.capacity) last = job.capacity;
    if (first >= last) return;
    std::uint64_t query = 0, end = job.queries;  // the last query with offsets[query] <= first
    while (end - query > 1) {
      const std::uint64_t middle = query + (end - query) / 2;
      if (job.offsets[middle] <= first) {
        query = middle;
      } else {
        end = middle;
      }
    }
    // The offsets are the caller's. Offsets of other ranges or of another tree may name no element; then nothing is
    // written.
    for (std::size_t i = first; i < last && query < job.queries; ++query) {
      const std::uint64_t end_of_range = job.offsets[query + 1] < last ? job.offsets[query + 1] : last;
      const std::size_t stop = end_of_range > i ? end_of_range : i;
      const std::uint64_t rank = job.starts[query] + (i - job.offsets[query]);
      const std::uint64_t left = rank < job.tree.size ? job.tree.size - rank : 0;
      const std::size_t n = stop - i < left ? stop - i : left;
      prefetch_range(team, job, query + ranges_ahead);
      if (n != 0) copy_elements(job, rank, n, i);
      i = stop;
    }
  }

  /// Prefetch distance. Short ranges may be anywhere in the tree, so their lines are prefetched this number of ranges
  /// before they are copied. For longer ranges only the first lines are prefetched; the hardware prefetcher finds the
  /// others.
  static constexpr std::uint64_t ranges_ahead = 24;
  template <class Word, unsigned V>
  static ESPALIER_INLINE void prefetch_range(Team team, const fill_job<Word, V>& job, std::uint64_t query) {
    if (query >= job.queries) return;
    constexpr unsigned slots = tree_shape<Word, V>::keys_per_line;
    const std::uint64_t count = job.offsets[query + 1] - job.offsets[query];
    if (count == 0) return;
    const std::uint64_t line = job.starts[query] / slots, last = (job.starts[query] + count - 1) / slots;
    for (std::uint64_t l = line; l <= last && l < line + 4; ++l)
      searcher<Team, Word, V>::prefetch_line(team, job.tree, l);
  }

  template <class Word, unsigned V>
  static ESPALIER_INLINE void run(Team team, const range_head_job<Word, V>& job, std::size_t first, std::size_t last) {
    rows_runner<Team, runner>::run(team, job, first, last);
  }

  /// Copies elements [rank, rank + count) to positions from i on, line by line. On a CPU a line is one or two vector
  /// copies.
  template <class Job>
  static ESPALIER_INLINE void copy_elements(const Job& job, std::uint64_t rank, std::size_t count, std::size_t i) {
    constexpr unsigned slots = std::remove_cvref_t<decltype(job.tree)>::shape::keys_per_line;
    while (count != 0) {
      const auto slot = static_cast<unsigned>(rank % slots);
      const unsigned n = count < slots - slot ? static_cast<unsigned>(count) : slots - slot;
      if (n == slots) {
        copy_slots(job, rank / slots, 0, slots, i);  // a constant count removes the loop
      } else {
        copy_slots(job, rank / slots, slot, n, i);
      }
      rank += n;
      count -= n;
      i += n;
    }
  }
  template <class Job>
  static ESPALIER_INLINE void copy_slots(const Job& job, std::uint64_t line, unsigned slot, unsigned n, std::size_t i) {
    const auto& t = job.tree;
    constexpr unsigned V = std::remove_cvref_t<decltype(job.tree)>::slot_bytes;
    using Word = typename std::remove_cvref_t<decltype(job.tree)>::word;
    if (job.out_keys != nullptr) {
      const Word* keys = t.line_keys(line) + slot;
      if (t.key == scalar_kind::u32 || t.key == scalar_kind::u64) {
        memcpy(static_cast<Word*>(job.out_keys) + i, keys, n * sizeof(Word));
      } else {
        for (unsigned j = 0; j < n; ++j) store_key(t.key, job.out_keys, i + j, keys[j]);
      }
    }
    if (V != 0 && job.out_values != nullptr) {
      const auto* values = t.line_values(line) + slot;
      if (t.value_bytes == V) {
        memcpy(static_cast<std::byte*>(job.out_values) + i * V, values, n * V);
      } else {
        for (unsigned j = 0; j < n; ++j) store_value<V>(t.value_bytes, job.out_values, i + j, values[j]);
      }
    }
  }

  template <class Word, unsigned V>
  static ESPALIER_INLINE void run(Team team, const aggregate_job<Word, V>& job, std::size_t first, std::size_t last) {
    if constexpr (batch == 1 && V != 16) {
      if (aggregator<Word, V>::sums_integers(job)) {
        for (std::size_t i = first; i < last; ++i) {
          const auto begin = sum_of_end(team, job, i, false);
          answer_sum(job, begin, sum_of_end(team, job, i, true), i);
        }
        return;
      }
    }
    for (std::size_t i = first; i < last; i += batch) {
      const unsigned n = batch_size(i, last);
      std::uint64_t begin[batch], end[batch];
      range_ranks(team, job, i, n, begin, end);
      for (unsigned j = 0; j < n; ++j) aggregator<Word, V>::prefetch(team, job, begin[j], end[j]);
      for (unsigned j = 0; j < n; ++j) aggregator<Word, V>::answer(job, begin[j], end[j], i + j);
    }
  }
};

ESPALIER_END_TARGET_NAMESPACE

#endif
