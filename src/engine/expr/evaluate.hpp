// evaluate.hpp - evaluates expressions over batches.
#pragma once

#include <arrow/type_fwd.h>

#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/expr/expr.hpp"
#include "engine/expr/relation.hpp"

namespace arrow {
struct Datum;
}

namespace espalier::engine {

/// The context of an evaluation: parameters, and results of uncorrelated subqueries.
struct evaluation {
  std::vector<std::shared_ptr<arrow::Scalar>> parameters;                       ///< $1 is the first
  std::map<const plan_node*, std::shared_ptr<arrow::ChunkedArray>> subqueries;  ///< first column of each result
  std::map<const plan_node*, std::exception_ptr> failed_subqueries;  ///< errors, thrown for a row that reaches them

  /// Returns a value for each row of the batch. Errors point to the expression. Throws `text_overflow`
  /// (text_pieces.hpp) if the text does not fit one array. The functions on relations below split batches and throw it
  /// only if the text of a single row does not fit.
  [[nodiscard]] std::shared_ptr<arrow::Array> array(const expr_ptr& e, const batch& rows) const;
  /// Returns the value of an expression without columns.
  [[nodiscard]] std::shared_ptr<arrow::Scalar> constant(const expr_ptr& e) const;
  /// Returns a value for each row of a relation, computed batch by batch on several threads.
  [[nodiscard]] std::shared_ptr<arrow::ChunkedArray> column(const expr_ptr& e, const relation& rows) const;
  /// Returns the rows for which all conditions are true. Conditions are checked in order, and a later one sees only the
  /// rows that passed. Columns in `dropped` are read by the conditions and are not part of the result. With `numbers` a
  /// column with the row numbers in `rows` is added.
  [[nodiscard]] relation filter(const std::vector<expr_ptr>& conditions, const relation& rows,
                                const std::set<column_id>& dropped = {},
                                std::optional<column_id> numbers = std::nullopt) const;

 private:
  /// Returns an array or a scalar whose type, length and text size have been checked.
  [[nodiscard]] arrow::Datum datum(const expr_ptr& e, const batch& rows) const;
  [[nodiscard]] arrow::Datum computed(const expr_ptr& e, const batch& rows) const;
  [[nodiscard]] arrow::Datum lazily(const expr_ptr& e, const batch& rows) const;
  [[nodiscard]] arrow::Datum logic_in_order(const expr_ptr& e, const batch& rows) const;
  [[nodiscard]] arrow::Datum membership(const expr_ptr& e, const batch& rows) const;
  [[nodiscard]] arrow::Datum scalar_of(const expr_ptr& e) const;
  [[nodiscard]] arrow::Datum true_where_it_fails(const expr_ptr& condition, const batch& rows) const;
  /// Returns the first column of the subquery's result, or throws the error that it ended with.
  [[nodiscard]] const std::shared_ptr<arrow::ChunkedArray>& rows_of_subquery(const expr& e) const;
};

}  // namespace espalier::engine
