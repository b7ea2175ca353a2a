// join_output.hpp - computes the output of a join from blocks of pairs.
#pragma once

#include <functional>
#include <set>

#include "engine/exec/join_pairs.hpp"

namespace espalier::engine {

/// Checks the residual conditions of each block and outputs the rows of its pairs. Unmatched rows are output last, or
/// exclusively, depending on the join type. There is at least one output piece.
class join_output {
 public:
  /// `take` returns false if it needs no more rows.
  join_output(const join_node& n, const relation& left, const evaluation& values,
              const std::function<bool(relation)>& take);

  /// Returns whether only the number of pairs is needed: the join has neither output columns nor residual conditions.
  [[nodiscard]] bool can_count() const;
  void count(std::size_t pairs) { counted_ += pairs; }

  [[nodiscard]] bool wants_more() const { return wants_more_; }
  /// `right` are the rows that `block.right` refers to.
  void add(join_pairs block, const relation& right);
  /// `right` are all rows of that side for a full join, otherwise any rows with its columns.
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
