// ordered_queries.hpp - queries that every untyped ordered index supports: neighbours, counts, sums.
#pragma once

#include <cstdint>

#include "bench/harness/cli_names.hpp"
#include "bench/index/request.hpp"
#include "espalier/blink_tree/index.hpp"

namespace espalier::bench {

/// Runs lower-bound, successor or predecessor; `how` are further arguments of the index.
template <class Index, class... How>
void ask_neighbours(const Index& tree, operation op, const request& r, const How&... how) {
  using espalier::detail::seek_kind;
  const seek_kind kind = op == operation::lower_bound ? seek_kind::lower_bound
                         : op == operation::successor ? seek_kind::successor
                                                      : seek_kind::predecessor;
  tree.seek(kind, r.keys, r.queries, r.out[0], r.out[1], static_cast<std::uint8_t*>(r.out[2]), how...);
}

/// Runs these and count, sum, min, max or avg.
template <class Index, class... How>
void ask_in_order(const Index& tree, operation op, const request& r, const How&... how) {
  using espalier::detail::aggregate_op;
  const auto mask = [&](std::size_t i) { return static_cast<std::uint8_t*>(r.out[i]); };
  if (asks_neighbours(op)) {
    ask_neighbours(tree, op, r, query_options{}, how...);
  } else if (op == operation::min || op == operation::max) {
    tree.aggregate(op == operation::min ? aggregate_op::min : aggregate_op::max, r.keys, r.hi, r.queries,
                   interval::closed, r.out[0], mask(1), how...);
  } else if (op == operation::count) {
    tree.count(r.keys, r.hi, r.queries, {}, static_cast<std::uint64_t*>(r.out[0]), how...);
  } else {
    tree.aggregate(op == operation::avg ? aggregate_op::avg : aggregate_op::sum, r.keys, r.hi, r.queries,
                   interval::closed, r.out[0], nullptr, how...);
  }
}

}  // namespace espalier::bench
