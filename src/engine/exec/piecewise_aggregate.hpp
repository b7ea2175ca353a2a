// piecewise_aggregate.hpp - aggregates over rows that come in pieces: each piece is aggregated by itself, and what
// comes of the pieces once more.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/exec/relation.hpp"
#include "engine/plan/node.hpp"

namespace espalier::engine {

struct row_volume {
  std::int64_t rows = 0;
  std::uint64_t bytes = 0;

  [[nodiscard]] bool exceeds(const row_volume& most) const { return rows > most.rows || bytes > most.bytes; }
};

/// How many rows are kept before they are aggregated, and answers before they are combined: less where the statement
/// has little memory.
[[nodiscard]] row_volume folded_at_once();

/// Answers of pieces. They are combined now and then, so that they take memory by groups, not by pieces.
class answer_list {
 public:
  /// `node` aggregates rows that are answers of pieces.
  explicit answer_list(const aggregate_node& node) : node_(&node), most_(folded_at_once()) {}

  /// True where it is time to combine the answers.
  [[nodiscard]] bool add(relation answer);
  /// The answer of all parts in their place; the next time comes when there is as much again.
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

/// What comes of one block of a pipeline.
struct block_rows {
  explicit block_rows(const aggregate_node& answer_node) : answers(answer_node) {}

  answer_list answers;
  std::vector<relation> pieces;  ///< not aggregated yet
  row_volume kept;               ///< of `pieces`
  std::int64_t passed = 0;       ///< rows, aggregated or not
};

/// Does the input come in pieces, and can answers of pieces be combined? Sums of floats cannot: they are exact and
/// rounded once.
[[nodiscard]] bool combines_pieces(const aggregate_node& n);
/// Can answers of pieces be combined, wherever the pieces come from?
[[nodiscard]] bool combines_answers(const aggregate_node& n);

}  // namespace espalier::engine
