// same_rows.cpp - see same_rows.hpp.
#include "bench/query/same_rows.hpp"

#include <arrow/array.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/util.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/api.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "bench/harness/options.hpp"
#include "engine/table/arrow_status.hpp"

namespace espalier::bench {
namespace {

constexpr const char* cannot_compare = "Answers cannot be compared";

/// Converts to the given types and names columns by position, since names do not matter.
std::shared_ptr<arrow::Table> with_types(const arrow::Table& rows, const arrow::Schema& types) {
  arrow::FieldVector fields;
  arrow::ChunkedArrayVector columns;
  for (int i = 0; i < rows.num_columns(); ++i) {
    const auto& type = types.field(i)->type();
    fields.push_back(arrow::field(std::to_string(i), type));
    columns.push_back(engine::value_of(arrow::compute::Cast(rows.column(i), type), cannot_compare).chunked_array());
  }
  return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(columns), rows.num_rows());
}

/// Sorts by all columns.
std::shared_ptr<arrow::Table> in_order(const std::shared_ptr<arrow::Table>& rows) {
  std::vector<arrow::compute::SortKey> keys;
  for (const auto& name : rows->ColumnNames()) keys.emplace_back(name);
  const auto order = engine::value_of(
      arrow::compute::SortIndices(arrow::Datum(rows), arrow::compute::SortOptions(keys)), cannot_compare);
  return engine::value_of(arrow::compute::Take(rows, order), cannot_compare).table();
}

struct alike {
  std::shared_ptr<arrow::Table> ours, theirs;
};

alike made_alike(const arrow::Table& ours, const arrow::Table& theirs, const std::string& what) {
  if (ours.num_rows() != theirs.num_rows() || ours.num_columns() != theirs.num_columns()) {
    throw cli::wrong_answer(fmt::format("{}: {} rows of {} columns here, {} rows of {} columns there.", what,
                                        ours.num_rows(), ours.num_columns(), theirs.num_rows(), theirs.num_columns()));
  }
  engine::require_ok(arrow::compute::Initialize(), cannot_compare);
  return {with_types(ours, *ours.schema()), with_types(theirs, *ours.schema())};
}

void require_equal(const arrow::Table& ours, const arrow::Table& theirs, const std::string& what) {
  if (!ours.Equals(theirs)) {
    throw cli::wrong_answer(fmt::format("{}: {} rows in both, but not the same ones.", what, ours.num_rows()));
  }
}

std::shared_ptr<arrow::DoubleArray> one_array(const arrow::ChunkedArray& column) {
  auto joined = column.num_chunks() == 0 ? engine::value_of(arrow::MakeArrayOfNull(column.type(), 0), cannot_compare)
                                         : engine::value_of(arrow::Concatenate(column.chunks()), cannot_compare);
  return std::static_pointer_cast<arrow::DoubleArray>(std::move(joined));
}

void require_close(const std::shared_ptr<arrow::DoubleArray>& ours, const std::shared_ptr<arrow::DoubleArray>& theirs,
                   double relative, const std::string& what) {
  for (std::int64_t row = 0; row < ours->length(); ++row) {
    if (ours->IsNull(row) && theirs->IsNull(row)) continue;
    const double a = ours->Value(row), b = theirs->Value(row);
    // The comparison is false for NaN, which no measured statement returns.
    if (ours->IsNull(row) != theirs->IsNull(row) ||
        !(std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b)))) {
      throw cli::wrong_answer(fmt::format("{}: {} here, {} there.", what, a, b));
    }
  }
}

}  // namespace

void require_same_rows(const arrow::Table& ours, const arrow::Table& theirs, const std::string& what) {
  const auto both = made_alike(ours, theirs, what);
  require_equal(*in_order(both.ours), *in_order(both.theirs), what);
}

void require_close_rows(const arrow::Table& ours, const arrow::Table& theirs, double relative,
                        const std::string& what) {
  const auto both = made_alike(ours, theirs, what);
  const auto left = in_order(both.ours), right = in_order(both.theirs);
  for (int i = 0; i < left->num_columns(); ++i) {
    if (left->column(i)->type()->id() != arrow::Type::DOUBLE) {
      require_equal(*left->SelectColumns({i}).ValueOrDie(), *right->SelectColumns({i}).ValueOrDie(), what);
      continue;
    }
    require_close(one_array(*left->column(i)), one_array(*right->column(i)), relative, what);
  }
}

void require_equal_rows(const arrow::Table& ours, const arrow::Table& theirs, const std::string& what) {
  const auto both = made_alike(ours, theirs, what);
  require_equal(*both.ours, *both.theirs, what);
}

}  // namespace espalier::bench
