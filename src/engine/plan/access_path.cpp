#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/scalar.h>

#include <algorithm>

#include "engine/catalog.hpp"
#include "engine/error.hpp"
#include "engine/plan/index_shape.hpp"
#include "engine/plan/planner.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {
namespace {

// A condition `column op constant`, or its mirror image, on a column of the scan's table.
struct column_test {
  op kind;
  expr_ptr value;
};

std::optional<column_test> test_of(const scan_node& scan, std::size_t table_column, const expr_ptr& condition) {
  const auto is_column = [&](const expr_ptr& e) { return table_column_of(scan, e) == table_column; };
  if (is_comparison(condition->kind)) {
    if (is_column(condition->args[0]) && is_constant(condition->args[1])) {
      return column_test{condition->kind, condition->args[1]};
    }
    if (is_column(condition->args[1]) && is_constant(condition->args[0])) {
      return column_test{mirrored(condition->kind), condition->args[0]};
    }
    return std::nullopt;
  }
  const bool one_column = !condition->args.empty() && is_column(condition->args[0]);
  if (!one_column) return std::nullopt;
  if (condition->kind == op::in_list || condition->kind == op::is_null || condition->kind == op::is_not_null ||
      condition->kind == op::like) {
    return column_test{condition->kind, condition};
  }
  return std::nullopt;
}

// Returns the text before the first wildcard of the pattern. `exact` is set if only one % follows, so that the prefix
// is equivalent to the pattern.
std::optional<std::string> like_prefix(const expr& like, bool& exact) {
  if (like.number == 1 || !is_literal(like.args[1]) || !like.args[1]->value->is_valid) return std::nullopt;
  const auto pattern = static_cast<const arrow::StringScalar&>(*like.args[1]->value).value->ToString();
  const auto wildcard = pattern.find_first_of("%_\\");
  if (wildcard == std::string::npos || wildcard == 0 || pattern[wildcard] == '\\') return std::nullopt;
  exact = wildcard + 1 == pattern.size() && pattern[wildcard] == '%';
  return pattern.substr(0, wildcard);
}

bool add_prefix(const expr_ptr& condition, index_range& range) {
  bool exact = false;
  const auto prefix = like_prefix(*condition, exact);
  if (!prefix) return false;
  range.condition = key_condition::prefix;
  range.lo = make_literal(std::make_shared<arrow::StringScalar>(*prefix), {type_id::varchar}, condition->position);
  if (exact) range.answers.push_back(condition);
  return true;
}

void add_bound(const column_test& test, const expr_ptr& condition, index_range& range) {
  const bool lower = test.kind == op::greater || test.kind == op::greater_equal;
  auto& end = lower ? range.lo : range.hi;
  if (end) return;  // a second bound on the same side remains a filter condition
  (lower ? range.lo_inclusive : range.hi_inclusive) = test.kind == op::greater_equal || test.kind == op::less_equal;
  end = test.value;
  range.condition = key_condition::between;
  range.answers.push_back(condition);
}

// Adds the range condition on the column after those with equality conditions.
void add_range(const scan_node& scan, std::size_t column, index_range& range) {
  for (const auto& condition : scan.conditions) {
    const auto test = test_of(scan, column, condition);
    if (!test || range.condition == key_condition::prefix || range.condition == key_condition::is_null) continue;
    if (test->kind == op::is_null && range.condition == key_condition::anything) {
      range.condition = key_condition::is_null;
      range.answers.push_back(condition);
    } else if (test->kind == op::is_not_null) {
      range.condition = key_condition::between;
      range.answers.push_back(condition);
    } else if (test->kind == op::like && range.condition == key_condition::anything) {
      add_prefix(condition, range);
    } else if (is_comparison(test->kind) && test->kind != op::equal && test->kind != op::not_equal) {
      add_bound(*test, condition, range);
    }
  }
}

bool add_equal(const scan_node& scan, std::size_t column, index_range& range) {
  const bool has_in_list =
      std::any_of(range.equal.begin(), range.equal.end(), [](const expr_ptr& e) { return e->kind == op::in_list; });
  for (const auto& condition : scan.conditions) {
    const auto test = test_of(scan, column, condition);
    if (!test) continue;
    if (test->kind != op::equal && (test->kind != op::in_list || has_in_list)) continue;
    range.equal.push_back(test->value);
    range.answers.push_back(condition);
    return true;
  }
  return false;
}

double fetch_cost(const scan_node& scan, double rows) {
  double each = 0;
  for (const auto& output : scan.outputs) {
    if (output.for_conditions) continue;
    each += output.type.id == type_id::varchar ? cost::gathered_text : cost::gathered_value;
  }
  return rows * (cost::found_row + std::max(each, cost::gathered_value));
}

double estimated_rows(double rows, const std::vector<expr_ptr>& residual) {
  for (const auto& condition : residual) rows *= selectivity(condition);
  return rows;
}

void plan_full_scan(scan_node& scan) {
  const auto rows = static_cast<double>(scan.table->version->live_rows());
  scan.ranges.clear();
  scan.rejected_indexes.clear();
  scan.index_only = false;
  scan.residual = scan.conditions;
  scan.estimate = estimated_rows(rows, scan.conditions);
  scan.cost = rows * cost::scanned_value * static_cast<double>(scan.conditions.size() + 1) +
              (scan.conditions.empty() ? 0 : scan.estimate * static_cast<double>(scan.columns.size()));
}

void use_ranges(scan_node& scan, std::vector<index_range> ranges, double rows, double price) {
  scan.residual = unanswered(scan, ranges);
  scan.estimate = estimated_rows(rows, scan.residual);
  scan.cost = price;
  scan.ranges = std::move(ranges);
}

void note_rejected(scan_node& scan, const std::vector<index_range>& ranges) {
  for (const auto& range : ranges) {
    const double price = cost::question + fetch_cost(scan, static_cast<double>(range.rows));
    scan.rejected_indexes.push_back({range.index->spec().name, range.rows, price});
  }
}

// Returns the cheapest of the ranges whose index covers the scan.
std::optional<std::size_t> best_alone(const scan_node& scan, const std::vector<index_range>& ranges) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (is_covering(scan, ranges[i], {}) && (!best || ranges[i].rows < ranges[*best].rows)) best = i;
  }
  return best;
}

}  // namespace

std::vector<expr_ptr> unanswered(const scan_node& scan, const std::vector<index_range>& ranges) {
  std::vector<expr_ptr> out;
  for (const auto& condition : scan.conditions) {
    const bool answered = std::any_of(ranges.begin(), ranges.end(), [&](const index_range& range) {
      return std::find(range.answers.begin(), range.answers.end(), condition) != range.answers.end();
    });
    if (!answered) out.push_back(condition);
  }
  return out;
}

double key_cost(const scan_node& scan, double rows) {
  double each = 0;
  for (const auto& output : scan.outputs) {
    if (!output.for_conditions) each += output.type.id == type_id::varchar ? cost::found_text : cost::found_key;
  }
  return rows * std::max(each, cost::found_key);
}

bool is_covering(const scan_node& scan, const index_range& range, const row_options& asked) {
  if (scan.with_row_ids || !range.index->gives_keys(asked)) return false;
  // Byte keys have no greatest key, so a range without an upper bound would be read from the list of all keys.
  const bool open_end = range.equal.empty() && range.condition == key_condition::between && !range.hi;
  if (open_end && range.index->kind() == index_kind::radix) return false;
  std::set<column_id> wanted;
  for (const auto& output : scan.outputs) {
    if (!output.for_conditions) wanted.insert(output.id);
  }
  for (const auto& condition : unanswered(scan, {range})) collect_columns(condition, wanted);
  const auto& keys = range.index->spec().columns;
  for (std::size_t i = 0; i < scan.columns.size(); ++i) {
    if (!wanted.contains(scan.outputs[i].id)) continue;
    if (is_float(scan.outputs[i].type.id)) return false;
    if (std::find(keys.begin(), keys.end(), scan.columns[i]) == keys.end()) return false;
  }
  return true;
}

std::optional<column_id> output_of(const scan_node& scan, std::size_t table_column) {
  for (std::size_t i = 0; i < scan.columns.size(); ++i) {
    if (scan.columns[i] == table_column) return scan.outputs[i].id;
  }
  return std::nullopt;
}

std::optional<std::size_t> table_column_of(const scan_node& scan, const expr_ptr& e) {
  if (e->kind != op::column) return std::nullopt;
  for (std::size_t i = 0; i < scan.columns.size(); ++i) {
    if (scan.outputs[i].id == e->column) return scan.columns[i];
  }
  return std::nullopt;
}

std::optional<index_range> range_of(const scan_node& scan, const std::shared_ptr<const table_index>& index) {
  index_range out;
  out.index = index;
  const auto& columns = index->spec().columns;
  std::size_t at = 0;
  while (at < columns.size() && add_equal(scan, columns[at], out)) ++at;
  if (at < columns.size()) add_range(scan, columns[at], out);
  if (out.equal.empty() && out.condition == key_condition::anything) return std::nullopt;
  return out;
}

double rows_in(const index_range& range, const planner_options& options) {
  const auto total = static_cast<double>(range.index->rows_indexed());
  const auto is_known = [&](const expr_ptr& e) {
    return !e || !any_node(e, [&](const expr& node) {
      return node.kind == op::parameter && static_cast<std::size_t>(node.number) > options.parameters.size();
    });
  };
  bool known = is_known(range.lo) && is_known(range.hi);
  for (const auto& e : range.equal) known &= is_known(e);
  if (!known) return range.equal.empty() ? total / 10 : total / 1000;
  evaluation values;
  values.parameters = options.parameters;
  try {
    const auto ranges = range.index->ranges(shape_of(range, values));
    double rows = 0;
    for (const auto count : range.index->estimates(ranges)) rows += static_cast<double>(count);
    return rows;
  } catch (const located_error&) {
    return total;  // the expression fails; the error is reported at execution
  }
}

void choose_access_path(scan_node& scan, const planner_options& options) {
  plan_full_scan(scan);
  if (!options.use_indexes || scan.conditions.empty()) return;
  const auto total = std::max(1.0, static_cast<double>(scan.table->version->live_rows()));
  std::vector<index_range> ranges;
  for (const auto& index : scan.table->indexes) {
    if (auto range = range_of(scan, index)) {
      range->rows = static_cast<std::uint64_t>(rows_in(*range, options));
      ranges.push_back(std::move(*range));
    }
  }
  std::sort(ranges.begin(), ranges.end(), [](const index_range& a, const index_range& b) { return a.rows < b.rows; });
  if (ranges.empty()) return;
  if (const auto alone = best_alone(scan, ranges)) {
    const auto rows = static_cast<double>(ranges[*alone].rows);
    const double price = cost::question + key_cost(scan, rows);
    const double fetching = cost::question + fetch_cost(scan, static_cast<double>(ranges[0].rows));
    if (options.prefer_indexes || price < std::min(fetching, scan.cost)) {
      use_ranges(scan, {ranges[*alone]}, rows, price);
      scan.index_only = true;
      return;
    }
  }
  // Starts with the best range and intersects it with further ones as long as fetching fewer rows outweighs reading
  // more row ids.
  double best = cost::question + fetch_cost(scan, static_cast<double>(ranges[0].rows));
  std::size_t used = 1;
  double rows = static_cast<double>(ranges[0].rows);
  double listed = rows;
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    const bool says_more = std::any_of(ranges[i].answers.begin(), ranges[i].answers.end(), [&](const expr_ptr& e) {
      for (std::size_t k = 0; k < used; ++k) {
        if (std::find(ranges[k].answers.begin(), ranges[k].answers.end(), e) != ranges[k].answers.end()) return false;
      }
      return true;
    });
    if (!says_more) continue;
    const double next = static_cast<double>(ranges[i].rows);
    const double both = rows * next / total;
    const double price = cost::question * static_cast<double>(used + 1) + (listed + next) * (cost::found_row + 8) +
                         fetch_cost(scan, both);
    if (price >= best && !options.prefer_indexes) break;
    std::swap(ranges[used], ranges[i]);
    best = price;
    rows = both;
    listed += next;
    ++used;
  }
  if (best >= scan.cost && !options.prefer_indexes) {
    note_rejected(scan, ranges);
    return;
  }
  ranges.resize(used);
  use_ranges(scan, std::move(ranges), rows, best);
}

}  // namespace espalier::engine
