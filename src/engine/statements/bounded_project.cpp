#include "engine/statements/bounded_project.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/type.h>

#include <algorithm>

#include "engine/exec/executor.hpp"
#include "engine/table/text_limit.hpp"

namespace espalier::engine {
namespace {

// The longest text of a number, a date or a boolean.
constexpr double longest_other_text = 350;
// Letters in another case have at most three times the bytes.
constexpr double most_growth_of_case = 3;

// Bytes of a text column in some rows.
double text_bytes(const relation& rows, column_id id, std::int64_t begin, std::int64_t count) {
  double bytes = 0;
  const auto part = rows.column(id)->Slice(begin, count);
  for (const auto& chunk : part->chunks()) {
    if (chunk->type_id() != arrow::Type::STRING) return longest_other_text * static_cast<double>(count);
    bytes += static_cast<double>(static_cast<const arrow::StringArray&>(*chunk).total_values_length());
  }
  return bytes;
}

double literal_bytes(const bound& literal) {
  if (literal.kind != op::literal || !literal.value || !literal.value->is_valid) return 0;
  if (literal.type.id != type_id::varchar) return longest_other_text;
  return static_cast<double>(static_cast<const arrow::StringScalar&>(*literal.value).value->size());
}

// The largest text, in bytes, that the expression or any part of it can become for these rows.
struct text_bound {
  const relation& rows;
  std::int64_t begin;
  std::int64_t count;
  double largest = 0;

  double of(const bound_ptr& e) {
    const double bytes = e->type.id == type_id::varchar ? text_of(*e) : 0;
    if (e->type.id != type_id::varchar) {
      for (const auto& arg : e->args) (void)of(arg);
    }
    largest = std::max(largest, bytes);
    return bytes;
  }

 private:
  double text_of(const bound& e) {
    const auto n = static_cast<double>(count);
    if (e.kind == op::column) return text_bytes(rows, e.column, begin, count);
    if (e.kind == op::literal) return n * literal_bytes(e);
    double sum = 0;
    for (const auto& arg : e.args) sum += of(arg);
    if (e.kind == op::cast) return std::max(sum, n * longest_other_text);
    if (e.kind != op::function) return sum;  // CASE, COALESCE and others choose among their arguments
    if (e.name == "lower" || e.name == "upper") return sum * most_growth_of_case;
    if (e.name == "replace" && e.args.size() == 3) {
      const double found = std::max(1.0, literal_bytes(*e.args[1]));
      const double growth = std::max(1.0, literal_bytes(*e.args[2]) / found);
      return of(e.args[0]) * growth;
    }
    return sum;
  }
};

bool asks_a_subquery(const project_node& plan) {
  return std::ranges::any_of(plan.expressions, [](const bound_ptr& whole) {
    return any_node(whole, [](const bound& e) { return e.query != nullptr || e.kind == op::parameter; });
  });
}

class bounded_evaluation {
 public:
  bounded_evaluation(const relation& rows, const bound_ptr& e) : rows_(rows), e_(e) { collect_columns(e, wanted_); }

  std::shared_ptr<arrow::ChunkedArray> column() {
    if (e_->kind == op::column || fits(0, rows_.rows) || batches_fit()) return values_.column(e_, rows_);
    for (std::int64_t begin = 0; begin < rows_.rows; begin += batch_rows) {
      add(begin, std::min(batch_rows, rows_.rows - begin));
    }
    return std::make_shared<arrow::ChunkedArray>(std::move(pieces_), arrow_type(e_->type));
  }

 private:
  bool fits(std::int64_t begin, std::int64_t count) const {
    text_bound bound{rows_, begin, count};
    (void)bound.of(e_);
    return bound.largest <= static_cast<double>(most_text_bytes());
  }

  bool batches_fit() const {
    for (std::int64_t begin = 0; begin < rows_.rows; begin += batch_rows) {
      if (!fits(begin, std::min(batch_rows, rows_.rows - begin))) return false;
    }
    return true;
  }

  void add(std::int64_t begin, std::int64_t count) {
    // What one row can become at worst it need not: a text that is too long is refused where it is made.
    if (count == 1 || fits(begin, count)) {
      pieces_.push_back(values_.array(e_, slice(rows_, begin, count, wanted_)));
      return;
    }
    add(begin, count / 2);
    add(begin + count / 2, count - count / 2);
  }

  const relation& rows_;
  const bound_ptr& e_;
  std::set<column_id> wanted_;
  evaluation values_;
  arrow::ArrayVector pieces_;
};

}  // namespace

std::shared_ptr<arrow::Table> bounded_rows(plan_node& plan) {
  if (plan.kind != node_kind::project) return executor().table(plan);
  const auto& project = static_cast<const project_node&>(plan);
  if (asks_a_subquery(project)) return executor().table(plan);
  const auto input = executor().run(*plan.inputs[0]);
  arrow::FieldVector fields;
  arrow::ChunkedArrayVector columns;
  for (std::size_t i = 0; i < project.expressions.size(); ++i) {
    fields.push_back(arrow::field(plan.outputs[i].name, arrow_type(plan.outputs[i].type)));
    columns.push_back(bounded_evaluation(input, project.expressions[i]).column());
  }
  return arrow::Table::Make(arrow::schema(std::move(fields)), std::move(columns), input.rows);
}

}  // namespace espalier::engine
