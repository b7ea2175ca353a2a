// fallible_column.hpp - join keys that fail for rows which the join does not need.
//
// A join evaluates its keys for all rows of a side. A join by pairs evaluates a condition only for the pairs that the
// earlier conditions let through. So where the evaluation of all rows fails, only the rows of such pairs are evaluated.
// The other rows are in no result, whatever their keys are.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "engine/expr/evaluate.hpp"

namespace espalier::engine {

/// Returns those of the given rows for which a join by pairs would evaluate the expression, ascending.
using reaching_rows = std::function<std::vector<std::int64_t>(std::span<const std::int64_t> rows)>;

/// Returns the values of `e` for all rows, or, if that fails (SQLSTATE 22xxx), for those that reach it; others are
/// NULL then.
[[nodiscard]] std::shared_ptr<arrow::ChunkedArray> column_of_reaching(const expr_ptr& e, const relation& rows,
                                                                      const evaluation& values,
                                                                      const reaching_rows& reaching);

/// The same for a join of `side` with `other` on these conditions, in the order of `harmless_first`. One of them has
/// the expression.
[[nodiscard]] std::shared_ptr<arrow::ChunkedArray> column_of_side(const expr_ptr& e,
                                                                  const std::vector<expr_ptr>& conditions,
                                                                  const relation& side, const relation& other,
                                                                  const evaluation& values);

/// The same in one array, for a join that asks an index of the other side. Its rows, which `all_of_other` returns, are
/// read only if the expression fails.
[[nodiscard]] std::shared_ptr<arrow::Array> column_for_lookup(const expr_ptr& e,
                                                              const std::vector<expr_ptr>& conditions,
                                                              const relation& side,
                                                              const std::function<relation()>& all_of_other,
                                                              const evaluation& values);

/// Returns the values of `e`, NULL where it fails. For filters by key, which only leave out rows without a match.
[[nodiscard]] std::shared_ptr<arrow::ChunkedArray> column_or_null(const expr_ptr& e, const relation& rows,
                                                                  const evaluation& values);

/// Those of the given rows of `side` that are in a pair with a row of `other` which passes the conditions before the
/// first one that has the expression.
[[nodiscard]] std::vector<std::int64_t> rows_reaching(const expr_ptr& e, const std::vector<expr_ptr>& conditions,
                                                      const relation& side, std::span<const std::int64_t> rows,
                                                      const relation& other, const evaluation& values);

}  // namespace espalier::engine
