// run_rows.hpp - range_rows on a team: writes the first elements of each range to the caller's rows (run.hpp).
#if defined(ESPALIER_STATIC_TREE_RUN_ROWS_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ESPALIER_STATIC_TREE_RUN_ROWS_HPP
#undef ESPALIER_STATIC_TREE_RUN_ROWS_HPP
#else
#define ESPALIER_STATIC_TREE_RUN_ROWS_HPP
#endif

#include "espalier/static_tree/jobs.hpp"
#include "espalier/static_tree/search.hpp"

ESPALIER_BEGIN_TARGET_NAMESPACE

/// `Runner` is runner<Team>, which loads keys, descends and copies.
template <class Team, class Runner>
struct rows_runner {
  static constexpr unsigned batch = Team::batch;
  /// Maximum number of lines of a row that are prefetched, and maximum number of bytes of a row that are assembled
  /// before they are written.
  static constexpr std::uint64_t most_row_lines = 8;
  static constexpr std::size_t most_row_bytes = 512;

  /// A batch of ranges whose lower ends have been searched.
  template <class Word>
  struct row_batch {
    Word lo[batch], x[batch], hi[batch];
    std::uint64_t line[batch];
    bool past[batch];  ///< all elements are before the range
    unsigned n = 0;
  };
  template <class Word, unsigned V>
  static ESPALIER_PER_BATCH void begin_rows(Team team, const range_head_job<Word, V>& job, std::size_t i,
                                            std::size_t last, row_batch<Word>& b) {
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
  /// Maximum number of lines that a row can span.
  template <class Word, unsigned V>
  [[nodiscard]] static ESPALIER_INLINE std::uint64_t lines_wanted(const range_head_job<Word, V>& job) {
    constexpr unsigned slots = tree_shape<Word, V>::keys_per_line;
    return (job.limit + 2 * slots - 2) / slots;
  }
  /// Prefetches the lines of row j; without the first one if the descent has prefetched it already.
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
    // The lines of a batch are prefetched row by row while the previous batch is copied: a core drops prefetches if
    // many are issued at once.
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
  /// Rows that are multiples of a vector are assembled first and written with non-temporal stores; otherwise each of
  /// their lines would be read from memory before it is overwritten.
  template <class Word, unsigned V>
  static ESPALIER_PER_BATCH void write_row(Team team, const range_head_job<Word, V>& job, const row_batch<Word>& b,
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
  // A short row spans two or three lines and starts at an unpredictable slot of the first one, so a loop over the share
  // of each line would mispredict at every step. Here all lines that the row may span are copied whole, and the row
  // starts at the slot of its first element. Rows are written several steps after their lines were copied, because
  // loads that overlap recent stores of a different width stall.
  static constexpr unsigned together = 8;
  static constexpr std::size_t most_copied_bytes = 512;  ///< limit for one row
  static constexpr std::uint64_t few_lines = 4;          ///< copied even if the row is nearly empty

  template <class Word, unsigned V>
  struct row_copy {
    using raw = typename value_raw<V>::type;
    static constexpr std::size_t places = most_copied_bytes / sizeof(Word);
    Word keys[places];
    raw values[V == 0 ? 1 : most_copied_bytes / sizeof(raw)];
    bool is_here;    ///< if false, the other members are undefined
    unsigned slot;   ///< slot of the first element
    unsigned count;  ///< elements in the range; elements after them may be written as well
  };
  template <class Word, unsigned V>
  [[nodiscard]] static ESPALIER_INLINE bool takes_whole_lines(const range_head_job<Word, V>& job) {
    const auto& t = job.tree;
    return (t.key == scalar_kind::u32 || t.key == scalar_kind::u64) && (V == 0 || t.value_bytes == V) &&
           job.limit != 0 && job.limit < most_copied_bytes &&
           lines_wanted(job) * tree_shape<Word, V>::line_bytes <= most_copied_bytes;
  }
  /// Lines found by another processor (rows_from) may be too far to the left, nearly always by one. Corrects the lines
  /// of the rows from j on and prefetches the lines that are then missing.
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
  /// Writes the rows of b from j on, and prefetches lines of the same rows of the next batch.
  template <class Word, unsigned V>
  static ESPALIER_PER_BATCH void write_rows(Team team, const range_head_job<Word, V>& job, const row_batch<Word>& b,
                                            const row_batch<Word>& next, unsigned j, std::size_t i) {
    row_copy<Word, V> copies[together];
    const unsigned n = b.n - j < together ? b.n - j : together;
    for (unsigned k = 0; k < n; ++k) {
      prefetch_row(team, job, next, j + k);
      copy_lines(team, job, b, j + k, copies[k]);
    }
    // Neighbouring rows share lines of the output. Lines that are written without interruption are combined into one
    // memory transaction.
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
    if (to.slot == search::slots) return;  // the separators were undecided
    const Word most = static_cast<Word>(b.hi[j] - (below ? 1 : 0));
    const std::uint64_t end = to.slot + job.limit - 1;
    to.count = static_cast<unsigned>(job.limit);
    if (most < t.line_keys(line + end / search::slots)[end % search::slots]) {
      unsigned up_to = 0;
      for (std::uint64_t l = 0; l < lines; ++l)
        up_to += team.count(search::keys(team, t, line + l), at_most<Word>{most});
      to.count = up_to < to.slot ? 0 : up_to - to.slot;
      if (lines > few_lines && to.count < job.limit / 2) return;  // most of the row would be copied for nothing
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
      memcpy(to, row, bytes);  // bytes after the last element are unspecified
    }
  }
  /// Copies a row to positions from `at` on and returns the number of its elements.
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
