// run_rows.hpp - rows of ranges on a team: the first elements of each range, in places of the caller's (run.hpp).
#if defined(ESPALIER_STATIC_TREE_RUN_ROWS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ESPALIER_STATIC_TREE_RUN_ROWS_HPP
#undef ESPALIER_STATIC_TREE_RUN_ROWS_HPP
#else
#define ESPALIER_STATIC_TREE_RUN_ROWS_HPP
#endif

#include "espalier/static_tree/jobs.hpp"
#include "espalier/static_tree/search.hpp"

ESPALIER_BEGIN_TARGET_NAMESPACE

/// `Runner`: runner<Team>, for reading keys, walking and copying.
template <class Team, class Runner>
struct rows_runner {
  static constexpr unsigned batch = Team::batch;
  /// Lines of a row that are asked for beforehand, and bytes of one that are put together before they are written.
  static constexpr std::uint64_t most_row_lines = 8;
  static constexpr std::size_t most_row_bytes = 512;

  /// Ranges of a batch whose lower ends were walked.
  template <class Word>
  struct row_batch {
    Word lo[batch], x[batch], hi[batch];
    std::uint64_t line[batch];
    bool past[batch];  ///< all elements are before the range
    unsigned n = 0;
  };
  template <class Word, unsigned V>
  static ESPALIER_INLINE void begin_rows(Team team, const range_head_job<Word, V>& job, std::size_t i, std::size_t last,
                                         row_batch<Word>& b) {
    using search = searcher<Team, Word, V>;
    const auto& t = job.tree;
    b.n = i < last ? Runner::batch_size(i, last) : 0;
    if (b.n == 0 || t.size == 0) return;
    const unsigned n = batch > 1 ? b.n : 1;  // a constant keeps a GPU thread's arrays in registers
    const bool above = job.ends == interval::left_open || job.ends == interval::open;
    Runner::load_queries(job, i, n, b.lo);
    Runner::load_words(t.key, job.hi, i, n, b.hi);
    for (unsigned j = 0; j < n; ++j) {
      const Word sought = static_cast<Word>(b.lo[j] + (above ? 1 : 0));
      b.past[j] = sought < b.lo[j] || sought > t.last;
      b.x[j] = b.past[j] ? t.last : search::clamp(t, sought);
    }
    if (batch > 1 && job.lines != nullptr) {
      for (unsigned j = 0; j < n; ++j) b.line[j] = job.lines[i + j];
    } else {
      Runner::find_lines(team, job, i, b.x, n, b.line);
    }
  }
  /// That a row may be in.
  template <class Word, unsigned V>
  [[nodiscard]] static ESPALIER_INLINE std::uint64_t lines_wanted(const range_head_job<Word, V>& job) {
    constexpr unsigned slots = tree_shape<Word, V>::keys_per_line;
    return (job.limit + 2 * slots - 2) / slots;
  }
  /// Lines of row j: those behind its first one, if a descent has asked for that already.
  template <class Word, unsigned V>
  static ESPALIER_INLINE void prefetch_row(Team team, const range_head_job<Word, V>& job, const row_batch<Word>& b,
                                           unsigned j) {
    using search = searcher<Team, Word, V>;
    if (j >= b.n || job.tree.size == 0) return;
    const std::uint64_t end = (job.tree.size + search::slots - 1) / search::slots;
    const std::uint64_t wanted = lines_wanted(job);
    const std::uint64_t lines = wanted < most_row_lines ? wanted : most_row_lines;
    for (std::uint64_t l = b.line[j] + (job.lines != nullptr ? 0 : 1); l < b.line[j] + lines && l < end; ++l)
      search::prefetch_line(team, job.tree, l);
  }

  template <class Word, unsigned V>
  static ESPALIER_INLINE void run(Team team, const range_head_job<Word, V>& job, std::size_t first, std::size_t last) {
    static_assert(batch > 1);  // on a GPU, a warp copies rows together (src/static_tree/cuda_rows.cuh)
    // Lines of a batch are asked for while the one in front of it is copied, row by row: of many at once a core
    // forgets some.
    row_batch<Word> batches[2];
    const bool whole = takes_whole_lines(job);
    begin_rows(team, job, first, last, batches[0]);
    for (unsigned j = 0; j < batches[0].n; ++j) prefetch_row(team, job, batches[0], j);
    for (unsigned half = 0; first < last; half ^= 1) {
      row_batch<Word>& b = batches[half];
      const row_batch<Word>& next = batches[half ^ 1];
      begin_rows(team, job, first + b.n, last, batches[half ^ 1]);
      if (whole) {
        settle_lines(team, job, b, 0);
        for (unsigned j = 0; j < b.n; j += together) {
          settle_lines(team, job, b, j + together);
          write_rows(team, job, b, next, j, first + j);
        }
      } else {
        for (unsigned j = 0; j < b.n; ++j) {
          prefetch_row(team, job, next, j);
          write_row(team, job, b, j, first + j);
        }
      }
      first += b.n;
    }
    team.fence_nontemporal();
  }
  template <class Word, unsigned V>
  struct row_target {
    const tree_view<Word, V>& tree;
    void* out_keys;
    void* out_values;
  };
  [[nodiscard]] static ESPALIER_INLINE bool streams(const void* out, std::size_t row_bytes) {
    return reinterpret_cast<std::uintptr_t>(out) % 32 == 0 && row_bytes % 32 == 0 && row_bytes <= most_row_bytes;
  }
  /// Rows of whole vectors are put together first and written past the caches: otherwise each of their lines would be
  /// read from memory before it is overwritten.
  template <class Word, unsigned V>
  static ESPALIER_INLINE void write_row(Team team, const range_head_job<Word, V>& job, const row_batch<Word>& b,
                                        unsigned j, std::size_t i) {
    const std::size_t key_row = job.limit * bytes_of(job.tree.key), value_row = job.limit * job.tree.value_bytes;
    std::uint64_t count = 0;
    if (streams(job.out_keys, key_row) && streams(job.out_values, value_row)) {
      alignas(64) std::byte keys[most_row_bytes];
      alignas(64) std::byte values[most_row_bytes];
      count = copy_row(team, job, b, j,
                       row_target<Word, V>{job.tree, job.out_keys == nullptr ? nullptr : keys,
                                           job.out_values == nullptr ? nullptr : values},
                       0);
      if (job.out_keys != nullptr && count != 0)
        put_row(team, static_cast<std::byte*>(job.out_keys) + i * key_row, keys, key_row, count == job.limit);
      if (job.out_values != nullptr && count != 0)
        put_row(team, static_cast<std::byte*>(job.out_values) + i * value_row, values, value_row, count == job.limit);
    } else {
      count = copy_row(team, job, b, j, row_target<Word, V>{job.tree, job.out_keys, job.out_values}, i * job.limit);
    }
    job.tell(i, count);
  }
  // ---- rows of whole lines ----------------------------------------------------------------------------------
  // A short row is in two or three lines, and where it begins in the first one is anybody's guess, so that a processor
  // guesses wrong at every step of a loop over what each line has of it. Here all lines that it may be in are copied
  // whole, and the row is where its first element is. Rows are written some steps after their lines were copied: to
  // read what was just written in other pieces makes a processor wait.
  static constexpr unsigned together = 8;
  static constexpr std::size_t most_copied_bytes = 512;  ///< of one row
  static constexpr std::uint64_t few_lines = 4;          ///< that are copied even if the row is nearly empty

  template <class Word, unsigned V>
  struct row_copy {
    using raw = typename value_raw<V>::type;
    static constexpr std::size_t places = most_copied_bytes / sizeof(Word);
    Word keys[places];
    raw values[V == 0 ? 1 : most_copied_bytes / sizeof(raw)];
    bool is_here;    ///< else the rest means nothing
    unsigned slot;   ///< of the first element
    unsigned count;  ///< of elements that are in the range; what is behind them may be written as well
  };
  template <class Word, unsigned V>
  [[nodiscard]] static ESPALIER_INLINE bool takes_whole_lines(const range_head_job<Word, V>& job) {
    const auto& t = job.tree;
    return (t.key == scalar_kind::u32 || t.key == scalar_kind::u64) && (V == 0 || t.value_bytes == V) &&
           job.limit != 0 && job.limit < most_copied_bytes &&
           lines_wanted(job) * tree_shape<Word, V>::line_bytes <= most_copied_bytes;
  }
  /// Lines that others have walked to (rows_from) may be too far to the left, nearly always by one: those of the rows
  /// from j on are put right, and what is then missing is asked for.
  template <class Word, unsigned V>
  static ESPALIER_INLINE void settle_lines(Team team, const range_head_job<Word, V>& job, row_batch<Word>& b,
                                           unsigned j) {
    using search = searcher<Team, Word, V>;
    if (job.lines == nullptr || job.tree.size == 0) return;
    for (unsigned k = j; k < b.n && k < j + together; ++k) {
      if (!(job.tree.line_keys(b.line[k])[search::slots - 1] < b.x[k])) continue;
      ++b.line[k];
      search::prefetch_line(team, job.tree, b.line[k] + lines_wanted(job) - 1);
    }
  }
  /// Rows from j on of b; meanwhile lines of the same rows of the next batch are asked for.
  template <class Word, unsigned V>
  static ESPALIER_INLINE void write_rows(Team team, const range_head_job<Word, V>& job, const row_batch<Word>& b,
                                         const row_batch<Word>& next, unsigned j, std::size_t i) {
    row_copy<Word, V> copies[together];
    const unsigned n = b.n - j < together ? b.n - j : together;
    for (unsigned k = 0; k < n; ++k) {
      prefetch_row(team, job, next, j + k);
      copy_lines(team, job, b, j + k, copies[k]);
    }
    // Neighbours share lines of the output, which go to memory at once if they are written without a pause.
    for (unsigned k = 0; k < n; ++k) {
      if (copies[k].is_here) put_whole(team, job.out_keys, copies[k].keys + copies[k].slot, i + k, job.limit);
    }
    if constexpr (V != 0) {
      for (unsigned k = 0; k < n; ++k) {
        if (copies[k].is_here) put_whole(team, job.out_values, copies[k].values + copies[k].slot, i + k, job.limit);
      }
    }
    for (unsigned k = 0; k < n; ++k) {
      if (!copies[k].is_here) {
        write_row(team, job, b, j + k, i + k);
      } else {
        job.tell(i + k, copies[k].count);
      }
    }
  }
  template <class Word, unsigned V>
  static ESPALIER_INLINE void copy_lines(Team team, const range_head_job<Word, V>& job, const row_batch<Word>& b,
                                         unsigned j, row_copy<Word, V>& to) {
    using search = searcher<Team, Word, V>;
    const auto& t = job.tree;
    const bool below = job.ends == interval::right_open || job.ends == interval::open;
    to.is_here = false;
    if (t.size == 0 || b.past[j] || (below && b.hi[j] == 0)) return;
    const std::uint64_t line = b.line[j], lines = lines_wanted(job);
    if ((line + lines) * search::slots > t.size) return;
    to.slot = team.template rank<0>(search::keys(team, t, line), b.x[j]);
    if (to.slot == search::slots) return;  // separators could not tell
    const Word most = static_cast<Word>(b.hi[j] - (below ? 1 : 0));
    const std::uint64_t end = to.slot + job.limit - 1;
    to.count = static_cast<unsigned>(job.limit);
    if (most < t.line_keys(line + end / search::slots)[end % search::slots]) {
      unsigned up_to = 0;
      for (std::uint64_t l = 0; l < lines; ++l)
        up_to += team.count(search::keys(team, t, line + l), at_most<Word>{most});
      to.count = up_to < to.slot ? 0 : up_to - to.slot;
      if (lines > few_lines && to.count < job.limit / 2) return;  // most of it would be copied for nothing
    }
    to.is_here = true;
    for (std::uint64_t l = 0; l < lines; ++l) {
      memcpy(to.keys + l * search::slots, t.line_keys(line + l), search::slots * sizeof(Word));
      if constexpr (V != 0) memcpy(to.values + l * search::slots, t.line_values(line + l), search::slots * V);
    }
  }
  template <class X>
  static ESPALIER_INLINE void put_whole(Team team, void* out, const X* row, std::size_t i, std::uint64_t limit) {
    if (out == nullptr) return;
    const std::size_t bytes = limit * sizeof(X);
    std::byte* const to = static_cast<std::byte*>(out) + i * bytes;
    if (streams(out, bytes)) {
      team.stream(to, row, bytes);
    } else {
      memcpy(to, row, bytes);
    }
  }

  static ESPALIER_INLINE void put_row(Team team, std::byte* to, const std::byte* row, std::size_t bytes, bool whole) {
    if (whole) {
      team.stream(to, row, bytes);
    } else {
      memcpy(to, row, bytes);  // what is behind the last element means nothing
    }
  }
  /// How many elements there were, from place `at` on.
  template <class Word, unsigned V>
  [[nodiscard]] static ESPALIER_INLINE std::uint64_t copy_row(Team team, const range_head_job<Word, V>& job,
                                                              const row_batch<Word>& b, unsigned j,
                                                              const row_target<Word, V>& to, std::size_t at) {
    using search = searcher<Team, Word, V>;
    const auto& t = job.tree;
    const bool below = job.ends == interval::right_open || job.ends == interval::open;
    if (t.size == 0 || b.past[j] || (below && b.hi[j] == 0)) return 0;
    const Word most = static_cast<Word>(b.hi[j] - (below ? 1 : 0));
    std::uint64_t count = 0, rank = search::rank_in(team, t, b.line[j], b.x[j]);
    while (count < job.limit && rank < t.size) {
      const auto slot = static_cast<unsigned>(rank % search::slots);
      const unsigned up_to = team.count(search::keys(team, t, rank / search::slots), at_most<Word>{most});  // ascending
      std::uint64_t n = up_to > slot ? up_to - slot : 0;
      if (n > job.limit - count) n = job.limit - count;
      if (n > t.size - rank) n = t.size - rank;
      Runner::copy_elements(to, rank, n, at + count);
      count += n;
      rank += n;
      if (up_to < search::slots) break;
    }
    return count;
  }
};

ESPALIER_END_TARGET_NAMESPACE

#endif
