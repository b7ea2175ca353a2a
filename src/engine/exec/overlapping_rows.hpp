// overlapping_rows.hpp - pairs of rows whose spans overlap: right.start < left.finish AND left.start < right.finish.
//
// The right rows are sorted by group and start, so those that start early enough are the first ones of the group. Of
// these, rows that finish too early are skipped in blocks, by the greatest finish of each 16, 256, ... positions:
// O(log) for each left row, and at most O(log) for each pair.
//
// SQL has no rule start <= finish. The two comparisons are independent of each other, and both are decided by words of
// the values, so reversed spans need no rule of their own, NaN is the greatest value, and "left within right", which is
// the same condition with the ends of the left side swapped, costs the same. The library's overlap join
// (espalier/join/interval_join.hpp) omits reversed spans and returns all pairs at once; here they come in blocks.
#pragma once

#include <arrow/type_fwd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/exec/join_pairs.hpp"
#include "engine/keys/ordered_groups.hpp"

namespace espalier::engine {

/// The equality columns and the ends of the spans of one side.
struct span_columns {
  std::vector<std::shared_ptr<arrow::ChunkedArray>> equal;
  std::shared_ptr<arrow::ChunkedArray> start, finish;
};

struct span_comparison {
  bool start_inclusive = false;   ///< right.start <= left.finish; otherwise <
  bool finish_inclusive = false;  ///< left.start <= right.finish; otherwise <
};

enum class overlap_use : std::uint8_t {
  pairs,
  first_pairs,  ///< one pair for each left row that has any
  aggregates    ///< pairs as well; counts and sums
};

class overlapping_rows {
 public:
  /// Rows with a NULL match nothing.
  overlapping_rows(const span_columns& left, const span_columns& right, span_comparison compares, overlap_use use);

  /// Returns the number of pairs, of all left rows and of each. O(log) for each left row, unless it or some right row is
  /// reversed, or the ends have several types: then each pair takes a step.
  [[nodiscard]] std::size_t count() {
    count_up_to(starts_.words.size());
    return total_;
  }
  [[nodiscard]] std::span<const std::size_t> counts() {
    (void)count();
    return counts_;
  }
  /// Returns the sum of the values of the right rows of each left row, which fits the type, as the sum of all values
  /// does. O(log) for each left row, unless it or some right row is reversed. Needs overlap_use::aggregates.
  template <class Sum>
  [[nodiscard]] std::vector<Sum> sums(std::span<const Sum> values);
  /// Produces the pairs of the next left rows, about `pairs_at_once`; those of a left row are in the order of the right
  /// starts. Returns false if there are no more.
  [[nodiscard]] bool next(join_pairs& block);
  /// Returns how many right rows and blocks of right rows have been compared with a left row. For tests.
  [[nodiscard]] std::size_t compared() const { return compared_; }

 private:
  struct span_end {
    std::uint64_t finish, reach;  ///< reach: the greatest finish of the group up to this position
  };

  void make_ends(const sort_key_column& finishes);
  void prepare_differences(const span_columns& left, const span_columns& right, const sort_key_column& starts,
                           const sort_key_column& finishes);
  /// Counts the pairs of the left rows before `end`, from counted_ on.
  void count_up_to(std::size_t end);
  [[nodiscard]] bool is_before(std::uint64_t finish, std::uint64_t start) const {
    return compares_.finish_inclusive ? finish < start : finish <= start;
  }
  template <class Take>
  void walk(std::size_t row, std::size_t& compared, const Take& take) const;

  span_comparison compares_;
  std::optional<ordered_groups> ordered_;           ///< the right rows by start
  std::vector<span_end> ends_;                      ///< by position
  std::vector<std::vector<std::uint64_t>> levels_;  ///< the greatest finish of each 16, 256, ... positions
  // Of the left rows.
  sort_key_column starts_, finishes_;
  std::vector<std::uint32_t> groups_;  ///< no_group: matches nothing
  std::vector<std::size_t> last_;      ///< the position behind the right rows that start early enough
  std::vector<std::size_t> counts_;    ///< pairs, of the first counted_ rows
  overlap_use use_;
  bool points_differ_ = false;  ///< two equal points do not overlap
  // If no right row is reversed: the right rows by finish, the groups of the left rows in that order, and for sums the
  // positions of those that finish too early, or no_place.
  std::optional<ordered_groups> by_finish_;
  std::vector<std::uint32_t> groups_by_finish_;
  struct finish_range {
    std::size_t begin, end;
  };
  std::vector<finish_range> too_early_;
  std::size_t counted_ = 0, total_ = 0;
  std::size_t next_ = 0;
  std::atomic<std::size_t> compared_{0};
};

}  // namespace espalier::engine
