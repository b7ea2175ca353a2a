// piecewise_aggregate.hpp - aggregates over rows that come in pieces: each piece is aggregated by itself, and what
// comes of the pieces once more.
#pragma once

#include "engine/plan/node.hpp"

namespace espalier::engine {

/// Does the input come in pieces, and can answers of pieces be combined? Sums of floats cannot: they are exact and
/// rounded once.
[[nodiscard]] bool combines_pieces(const aggregate_node& n);
/// Can answers of pieces be combined, wherever the pieces come from?
[[nodiscard]] bool combines_answers(const aggregate_node& n);

}  // namespace espalier::engine
