// search.hpp - search from a key to its slot, one implementation for every team.
//
// A descent has four stages: cell, group, line, slot. Each stage ends with the next address and does not access it, so
// that a team with Team::batch > 1 runs each stage for all queries of its batch before the next stage, and their memory
// accesses overlap. On a GPU the batch is 1 and the hardware's threads overlap the accesses.
//
// Functions in this file take `x`, a query already clamped to [first, last] of a tree that is not empty. Its lower
// bound then always exists, and no stage needs a bounds check.
#if defined(ESPALIER_STATIC_TREE_SEARCH_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ESPALIER_STATIC_TREE_SEARCH_HPP
#undef ESPALIER_STATIC_TREE_SEARCH_HPP
#else
#define ESPALIER_STATIC_TREE_SEARCH_HPP
#endif

#include "espalier/static_tree/layout.hpp"
#include "espalier/team/multi_target.hpp"
#include "espalier/team/team.hpp"

ESPALIER_BEGIN_TARGET_NAMESPACE

template <class Team, class Word, unsigned ValueBytes>
struct searcher {
  using view = tree_view<Word, ValueBytes>;
  using shape = tree_shape<Word, ValueBytes>;
  static constexpr unsigned lines = shape::lines_per_group;
  static constexpr unsigned slots = shape::keys_per_line;
  static constexpr bool has_lines = ValueBytes != external_keys;

  static ESPALIER_INLINE Word clamp(const view& t, Word key) {
    const Word raised = key < t.first ? t.first : key;
    return raised > t.last ? t.last : raised;
  }

  // ---- stage 1: cell ------------------------------------------------------------------------------------
  static ESPALIER_INLINE const std::uint32_t* cell_of(const view& t, Word x) {
    return t.cells + static_cast<std::size_t>(static_cast<Word>(x - t.root.base) >> t.root.shift);
  }

  // ---- stage 2: group. Routing rule: layout.hpp (4) -----------------------------------------------------
  static ESPALIER_INLINE std::uint32_t group_of(const view& t, std::uint32_t cell, Word x) {
    while ((cell & subtable_flag) != 0) {
      const subtable<Word>& s = t.subtables[cell & ~subtable_flag];
      if (s.shift == subtable<Word>::search_only) return halve(t, s.group, s.group + s.last, x);
      cell = t.cells[s.cell_of(x)];
    }
    return cell;
  }
  /// Returns the first group of [low, high] whose last key, which is the base of the next group, is not below x; `high`
  /// if no other group qualifies.
  static ESPALIER_INLINE std::uint32_t halve(const view& t, std::uint32_t low, std::uint32_t high, Word x) {
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (t.headers[middle + 1].base < x) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  static ESPALIER_INLINE auto header(Team team, const view& t, std::uint32_t group) {
    return team.template view<32>(reinterpret_cast<const std::uint8_t*>(t.headers + group));
  }
  template <class Header>
  static ESPALIER_INLINE std::uint8_t truncated(Team team, const Header& h, Word x) {
    return truncate(x, team.template word<Word, 0>(h), team.template get<sizeof(Word)>(h));
  }

  // ---- stage 3: line. Routing rule: layout.hpp (3) ------------------------------------------------------
  /// Returns the first line that can hold the lower bound. The line does hold it unless separators were undecided.
  static ESPALIER_INLINE std::uint64_t line_of(Team team, const view& t, std::uint32_t group, Word x) {
    for (;;) {
      const auto h = header(team, t, group);
      const unsigned line = team.template rank<shape::first_separator>(h, truncated(team, h, x));
      if (line < lines) return std::uint64_t{group} * lines + line;
      ++group;  // the whole group is below x; at most `crowded` times
    }
  }

  /// Returns the first of lines [line, end) whose last key is not below x; max(line, end) if there is none.
  static ESPALIER_HD std::uint64_t first_not_below(const view& t, std::uint64_t line, std::uint64_t end, Word x) {
    const std::uint64_t last_line = (t.size - 1) / slots;
    if (end > last_line) end = last_line;  // x <= last, so its line is at or before the last one
    while (line < end) {
      const std::uint64_t middle = line + (end - line) / 2;
      if (t.line_keys(middle)[slots - 1] < x) {
        line = middle + 1;
      } else {
        end = middle;
      }
    }
    return line;
  }

  /// Returns the next line to search if `line` held only smaller keys. This is rare, so it reads the header again. Many
  /// undecided lines (a group whose keys cluster at one end) are searched by bisection, not walked.
  static ESPALIER_HD std::uint64_t next_line(Team team, const view& t, std::uint64_t line, Word x) {
    const auto group = static_cast<std::uint32_t>(line / lines);
    const auto h = header(team, t, group);
    const auto decided =
        team.template count_from<shape::first_separator>(h, at_most<std::uint8_t>{truncated(team, h, x)});
    const std::uint64_t start = std::uint64_t{group} * lines;
    const std::uint64_t end = start + decided;  // if decided < lines, the line at `end` is certainly not below x
    const std::uint64_t found = first_not_below(t, line + 1, end < start + lines ? end : start + lines, x);
    return found < start + lines ? found : line_of(team, t, group + 1, x);
  }

  /// Stage 3 for an index over lines that are stored elsewhere (external keys), where reading a line costs more than
  /// reading two words. Returns the line of the lower bound, the line before it, or the last line of an earlier group
  /// whose separators do not decide x. With line_of(), all searches among keys that cluster at one end of a group would
  /// start at its first line.
  static ESPALIER_INLINE std::uint64_t near_line_of(Team team, const view& t, std::uint32_t group, Word x) {
    for (;; ++group) {
      const auto h = header(team, t, group);
      const std::uint8_t digit = truncated(team, h, x);
      const unsigned line = team.template rank<shape::first_separator>(h, digit);
      if (line == lines) continue;  // the whole group is below x
      const std::uint64_t start = std::uint64_t{group} * lines;
      const unsigned decided = team.template count_from<shape::first_separator>(h, at_most<std::uint8_t>{digit});
      if (decided <= line + 1) return start + line;
      const std::uint64_t found = first_not_below(t, start + line, start + (decided < lines ? decided : lines), x);
      if (found < start + lines) return found;
    }
  }

  static ESPALIER_INLINE auto keys(Team team, const view& t, std::uint64_t line) {
    return team.template view<slots>(t.line_keys(line));
  }

  /// Prefetches what stage 4 reads of a line.
  static ESPALIER_INLINE void prefetch_line(Team team, const view& t, std::uint64_t line) {
    const std::byte* p = t.lines + line * shape::line_bytes;
    team.prefetch(p);
    // The line may straddle two cache lines.
    if constexpr (64 % shape::line_bytes != 0) team.prefetch(p + shape::line_bytes - 1);
  }

  /// All stages for one query. Returns the line of the lower bound.
  static ESPALIER_INLINE std::uint64_t descend(Team team, const view& t, Word x) {
    return line_of(team, t, group_of(t, *cell_of(t, x), x), x);
  }

  /// True if the separators of the group decide line l. Where stage 4 reads the keys of the line in any case, this is
  /// not tested; where keys are stored elsewhere (the express lane of a B-link tree), skipping them saves nine of ten
  /// memory reads.
  template <class Header>
  static ESPALIER_INLINE bool is_sure(Team team, const Header& h, unsigned l, std::uint8_t digit) {
    return has_lines ? false : team.get(h, shape::first_separator + l) != digit;
  }

  /// Stages 1 to 3 for up to Team::batch queries, as line_of(): the line of one query in 16 is undecided and too far to
  /// the left, nearly always by one. Queries whose group turns out to be below them (4 %) are collected without a
  /// branch, because a branch that is taken at random that often costs more than the store.
  static ESPALIER_INLINE void first_lines(Team team, const view& t, const Word* x, unsigned n, std::uint64_t* line) {
    if constexpr (Team::batch == 1) {
      line[0] = descend(team, t, x[0]);
    } else {
      std::uint32_t group[Team::batch];
      unsigned late[Team::batch];
      unsigned late_count = 0;
      first_groups(team, t, x, n, group);
      for (unsigned j = 0; j < n; ++j) {
        const auto h = header(team, t, group[j]);
        const unsigned l = team.template rank<shape::first_separator>(h, truncated(team, h, x[j]));
        line[j] = std::uint64_t{group[j]} * lines + l;
        late[late_count] = j;
        late_count += l == lines ? 1u : 0u;
        prefetch_line(team, t, line[j]);
      }
      for (unsigned k = 0; k < late_count; ++k) team.prefetch(t.headers + ++group[late[k]]);
      for (unsigned k = 0; k < late_count; ++k) {
        const unsigned j = late[k];
        line[j] = line_of(team, t, group[j], x[j]);
        prefetch_line(team, t, line[j]);
      }
    }
  }
  /// Stages 1 and 2, for several queries.
  static ESPALIER_INLINE void first_groups(Team team, const view& t, const Word* x, unsigned n, std::uint32_t* group) {
    for (unsigned j = 0; j < n; ++j) team.prefetch(cell_of(t, x[j]));
    for (unsigned j = 0; j < n; ++j) {
      group[j] = group_of(t, *cell_of(t, x[j]), x[j]);
      team.prefetch(t.headers + group[j]);
    }
  }

  /// Stages 1 to 3 for up to Team::batch queries of an index over lines that are stored elsewhere. Then lines that
  /// turned out to be one group or one line further are prefetched too, so that stage 4 rarely waits.
  static ESPALIER_PER_BATCH void descend(Team team, const view& t, const Word* x, unsigned n, std::uint64_t* line) {
    static_assert(!has_lines || Team::batch == 1);
    if constexpr (Team::batch == 1) {
      line[0] = descend(team, t, x[0]);
    } else {
      std::uint32_t group[Team::batch];
      unsigned late[Team::batch], open[Team::batch];
      unsigned late_count = 0, open_count = 0;
      first_groups(team, t, x, n, group);
      for (unsigned j = 0; j < n; ++j) {
        const auto h = header(team, t, group[j]);
        const std::uint8_t digit = truncated(team, h, x[j]);
        const unsigned l = team.template rank<shape::first_separator>(h, digit);
        line[j] = std::uint64_t{group[j]} * lines + l;
        if (l < lines) {
          if (is_sure(team, h, l, digit)) continue;
          prefetch_line(team, t, line[j]);
          open[open_count++] = j;
        } else {
          team.prefetch(t.headers + ++group[j]);
          late[late_count++] = j;
        }
      }
      for (unsigned k = 0; k < late_count; ++k) {
        const unsigned j = late[k];
        line[j] = line_of(team, t, group[j], x[j]);
        prefetch_line(team, t, line[j]);
        open[open_count++] = j;
      }
      for (unsigned k = 0; k < open_count; ++k) {
        const unsigned j = open[k];
        if (t.line_keys(line[j])[slots - 1] < x[j]) {
          line[j] = next_line(team, t, line[j], x[j]);
          prefetch_line(team, t, line[j]);
        }
      }
    }
  }

  // ---- stage 4: slot ------------------------------------------------------------------------------------
  /// Returns the rank of the first element not below x, given the line at which its search starts.
  static ESPALIER_INLINE std::uint64_t rank_in(Team team, const view& t, std::uint64_t line, Word x) {
    for (;;) {
      const auto k = keys(team, t, line);
      if (team.template get<slots - 1>(k) >= x) return line * slots + team.template rank<0>(k, x);
      line = next_line(team, t, line, x);
    }
  }

  /// rank_in() for up to Team::batch queries with the lines of first_lines(). Lines that are one further are prefetched
  /// together, because each of them would be a wait of its own (45 ns per query in place of 55 at 2^28 keys on a CPU).
  static ESPALIER_INLINE void ranks_in(Team team, const view& t, const std::uint64_t* line, const Word* x, unsigned n,
                                       std::uint64_t* rank) {
    if constexpr (Team::batch == 1) {
      rank[0] = rank_in(team, t, line[0], x[0]);
    } else {
      unsigned late[Team::batch];
      unsigned late_count = 0;
      for (unsigned j = 0; j < n; ++j) {
        const unsigned slot = team.template rank<0>(keys(team, t, line[j]), x[j]);
        rank[j] = line[j] * slots + slot;
        late[late_count] = j;
        late_count += slot == slots ? 1u : 0u;
      }
      for (unsigned k = 0; k < late_count; ++k) prefetch_line(team, t, line[late[k]] + 1);
      for (unsigned k = 0; k < late_count; ++k) {
        const unsigned j = late[k];
        rank[j] = rank_in(team, t, line[j] + 1, x[j]);
      }
    }
  }

  /// Ranks of the lower bounds of up to Team::batch keys, which need not be clamped; size if there is none.
  static ESPALIER_INLINE void lower_bounds(Team team, const view& t, const Word* key, unsigned n, std::uint64_t* rank) {
    Word x[Team::batch];
    for (unsigned j = 0; j < n; ++j) x[j] = clamp(t, key[j]);
    std::uint64_t line[Team::batch];
    first_lines(team, t, x, n, line);
    ranks_in(team, t, line, x, n, rank);
    for (unsigned j = 0; j < n; ++j) rank[j] = key[j] > t.last ? t.size : rank[j];
  }
};

ESPALIER_END_TARGET_NAMESPACE

#endif
