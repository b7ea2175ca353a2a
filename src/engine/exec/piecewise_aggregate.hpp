// piecewise_aggregate.hpp - aggregates over rows that are produced in pieces: each piece is aggregated on its own, and
// the partial results are combined.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/expr/relation.hpp"
#include "engine/plan/node.hpp"

namespace espalier::engine {

struct row_volume {
  std::int64_t rows = 0;
  std::uint64_t bytes = 0;

  [[nodiscard]] bool exceeds(const row_volume& most) const { return rows > most.rows || bytes > most.bytes; }
};

/// Returns how many rows are kept before they are aggregated, and how many partial results before they are combined. It
/// is less if the statement has little memory.
[[nodiscard]] row_volume folded_at_once();

/// Partial results of pieces. They are combined from time to time, so that memory is proportional to groups, not to
/// pieces.
class answer_list {
 public:
  /// `node` aggregates partial results.
  explicit answer_list(const aggregate_node& node) : node_(&node), most_(folded_at_once()) {}

  /// Returns whether the partial results should be combined now.
  [[nodiscard]] bool add(relation answer);
  /// Replaces all partial results by the combined one. The next combination is due when the volume has doubled.
  void replace(relation combined);
  void clear();
  [[nodiscard]] bool empty() const { return parts_.empty(); }
  [[nodiscard]] const std::vector<relation>& parts() const { return parts_; }
  [[nodiscard]] const aggregate_node& node() const { return *node_; }

 private:
  const aggregate_node* node_;
  std::vector<relation> parts_;
  row_volume held_, most_;
};

/// The result of one block of a pipeline.
struct block_rows {
  explicit block_rows(const aggregate_node& answer_node) : answers(answer_node) {}

  answer_list answers;
  std::vector<relation> pieces;  ///< not aggregated yet
  row_volume kept;               ///< volume of `pieces`
  std::int64_t passed = 0;       ///< rows of the block, aggregated or not
};

/// Returns whether the input is produced in pieces and partial results can be combined. Sums of floats cannot: they are
/// exact and rounded once.
[[nodiscard]] bool combines_pieces(const aggregate_node& n);
/// Returns whether partial results can be combined, whatever produces the pieces.
[[nodiscard]] bool combines_answers(const aggregate_node& n);

}  // namespace espalier::engine
