// join_output.hpp - what a join makes of pairs that come in blocks.
#pragma once

#include <functional>
#include <set>

#include "engine/exec/join_pairs.hpp"

namespace espalier::engine {

/// Checks the residual conditions of each block and hands on the rows of its pairs; rows without a match come last, or
/// alone, as the type of the join says. At least one piece is handed on.
class join_output {
 public:
  /// `take` answers false where it wants no more.
  join_output(const join_node& n, const relation& left, const evaluation& values,
              const std::function<bool(relation)>& take);

  /// Whoever wants neither columns nor conditions needs no pairs, only their number.
  [[nodiscard]] bool can_count() const;
  void count(std::size_t pairs) { counted_ += pairs; }

  [[nodiscard]] bool wants_more() const { return wants_more_; }
  /// `right`: the rows that `block.right` numbers.
  void add(join_pairs block, const relation& right);
  /// `right`: all rows of that side in a full join, else any with its columns.
  void finish(const relation& right);

 private:
  [[nodiscard]] bool answers_left_rows() const;
  [[nodiscard]] std::size_t pairs_of_some_text(const relation& right) const;
  void add_part(join_pairs block, const relation& right);
  void hand_on(const join_pairs& pairs, const relation& right, bool with_nulls);

  const join_node& n_;
  const relation& left_;
  const evaluation& values_;
  const std::function<bool(relation)>& take_;
  std::set<column_id> wanted_;
  std::vector<std::uint8_t> left_met_, right_met_;
  std::size_t counted_ = 0;
  bool handed_on_ = false;
  bool wants_more_ = true;
};

}  // namespace espalier::engine
