// evaluate.hpp - expressions over batches.
#pragma once

#include <arrow/type_fwd.h>

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/exec/relation.hpp"
#include "engine/sql/expr.hpp"

namespace arrow {
struct Datum;
}

namespace espalier::engine {

/// What expressions need beside their row: parameters, and answers of subqueries without outer columns.
struct evaluation {
  std::vector<std::shared_ptr<arrow::Scalar>> parameters;                       ///< $1 first
  std::map<const plan_node*, std::shared_ptr<arrow::ChunkedArray>> subqueries;  ///< their first columns

  /// A value for each row of the batch. Errors point to the expression. Throws `text_overflow` (text_pieces.hpp) where
  /// there is too much text for one array; of columns of a relation, below, only where it is of one row.
  [[nodiscard]] std::shared_ptr<arrow::Array> array(const expr_ptr& e, const batch& rows) const;
  /// The value of an expression without columns.
  [[nodiscard]] std::shared_ptr<arrow::Scalar> constant(const expr_ptr& e) const;
  /// A column for each row of a relation, batch by batch on several threads.
  [[nodiscard]] std::shared_ptr<arrow::ChunkedArray> column(const expr_ptr& e, const relation& rows) const;
  /// The rows for which all conditions are true, checked one after the other: a later one sees only rows that passed.
  /// Columns of `dropped` are read by the conditions and not handed on. `numbers`: a column with the rows' numbers in
  /// `rows` is added.
  [[nodiscard]] relation filter(const std::vector<expr_ptr>& conditions, const relation& rows,
                                const std::set<column_id>& dropped = {},
                                std::optional<column_id> numbers = std::nullopt) const;

 private:
  /// An array or a scalar, checked: its type, its length, and that its text fits.
  [[nodiscard]] arrow::Datum datum(const expr_ptr& e, const batch& rows) const;
  [[nodiscard]] arrow::Datum computed(const expr_ptr& e, const batch& rows) const;
  [[nodiscard]] arrow::Datum lazily(const expr_ptr& e, const batch& rows) const;
  [[nodiscard]] arrow::Datum logic_in_order(const expr_ptr& e, const batch& rows) const;
  [[nodiscard]] arrow::Datum membership(const expr_ptr& e, const batch& rows) const;
  [[nodiscard]] arrow::Datum scalar_of(const expr_ptr& e) const;
};

}  // namespace espalier::engine
