#include "engine/sql/window_join_rule.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

namespace espalier::engine {
namespace {

bool has_window_form(const aggregate_call& call, const std::set<column_id>& inner) {
  constexpr std::array<std::string_view, 5> functions{"count", "sum", "avg", "min", "max"};
  if (std::ranges::find(functions, call.function) == functions.end() || !call.more.empty()) return false;
  if (call.distinct && call.function != "min" && call.function != "max") return false;
  return !call.argument || (contains_all(inner, call.argument) && !has_correlated_query(call.argument));
}

bool widens(const column_type& from, const column_type& to) {
  if (is_integer(from.id) && is_integer(to.id)) return from.id <= to.id;
  if (from.id != type_id::decimal || to.id != type_id::decimal) return false;
  return to.scale >= from.scale && to.precision - to.scale >= from.precision - from.scale;
}

// The value is evaluated for rows that no condition may reach, so it must not be able to fail.
bool is_plain_value(const expr_ptr& e) {
  if (e->type.id == type_id::varchar) return false;  // keys of texts differ between columns
  return e->kind == op::column ||
         (e->kind == op::cast && widens(e->args[0]->type, e->type) && is_plain_value(e->args[0]));
}

// A condition `value op outer`, where the value is of the subquery.
struct correlated_comparison {
  expr_ptr value, outer;
  op kind;

  [[nodiscard]] bool is_lower() const { return kind == op::greater || kind == op::greater_equal; }
  [[nodiscard]] bool is_inclusive() const { return kind == op::greater_equal || kind == op::less_equal; }
};

// Returns nothing for other conditions, and for bounds of values that may fail.
std::optional<correlated_comparison> comparison_of(const expr_ptr& condition, const std::set<column_id>& outer,
                                                   const std::set<column_id>& inner) {
  if (!is_comparison(condition->kind) || condition->kind == op::not_equal || has_correlated_query(condition)) {
    return std::nullopt;
  }
  const bool outer_first = uses_any(condition->args[0], outer);
  const auto& theirs = condition->args[outer_first ? 0 : 1];
  const auto& mine = condition->args[outer_first ? 1 : 0];
  std::set<column_id> used;
  collect_columns(mine, used);
  if (used.empty() || !contains_all(inner, mine) || !contains_all(outer, theirs)) return std::nullopt;
  const op kind = outer_first ? mirrored(condition->kind) : condition->kind;
  if (kind != op::equal && (!is_plain_value(mine) || mine->type != theirs->type)) return std::nullopt;
  return correlated_comparison{mine, theirs, kind};
}

// Adds a condition to the join. Returns false if it is a second bound of this kind, or the bound of another value.
bool add_condition(window_join_node& join, const correlated_comparison& condition) {
  if (condition.kind == op::equal) {
    join.equal.emplace_back(condition.outer, condition.value);
    return true;
  }
  if (join.at && !same(*join.at, *condition.value)) return false;
  join.at = condition.value;
  auto& bound = condition.is_lower() ? join.lo : join.hi;
  if (bound) return false;
  bound = condition.outer;
  (condition.is_lower() ? join.lo_inclusive : join.hi_inclusive) = condition.is_inclusive();
  return true;
}

void set_outputs(window_join_node& join) {
  join.outputs = join.inputs[0]->outputs;
  for (const auto& call : join.calls) join.outputs.push_back({call.output, call.function, call.type});
}

// The conditions of a subquery on spans around a point, or overlapping a span.
struct span_conditions {
  std::vector<correlated_comparison> equal;
  std::optional<correlated_comparison> start, finish;  ///< start <= point, finish >= point; of a span the other end
  std::vector<expr_ptr> written;
};

std::optional<span_conditions> span_conditions_of(const std::vector<expr_ptr>& conditions,
                                                  const std::set<column_id>& outer, const std::set<column_id>& inner) {
  span_conditions out;
  out.written = conditions;
  for (const auto& condition : conditions) {
    const auto part = comparison_of(condition, outer, inner);
    if (!part) return std::nullopt;
    if (part->kind == op::equal) {
      out.equal.push_back(*part);
      continue;
    }
    auto& end = part->is_lower() ? out.finish : out.start;
    if (end) return std::nullopt;
    end = part;
  }
  if (!out.start || !out.finish) return std::nullopt;
  return out;
}

// Counts, for each row of `left`, the spans whose end is at or before the point. `spans` has new column ids.
plan_ptr counted_before(binder& binds, plan_ptr left, const std::shared_ptr<shared_plan>& spans,
                        const span_conditions& conditions, const correlated_comparison& end, bool inclusive,
                        std::vector<aggregate_call> calls) {
  auto reader = std::make_shared<shared_node>();
  reader->source = spans;
  std::map<column_id, expr_ptr> ids;
  for (const auto& column : spans->body->outputs) {
    reader->columns.push_back(column.id);
    reader->outputs.push_back({binds.new_column(), column.name, column.type});
    ids[column.id] = make_column(reader->outputs.back().id, column.type);
  }
  const auto renamed = [&](const expr_ptr& e) {
    return rewrite(e, [&](const expr_ptr& node) -> expr_ptr {
      const auto found = node->kind == op::column ? ids.find(node->column) : ids.end();
      return found == ids.end() ? nullptr : found->second;
    });
  };
  auto out = std::make_shared<window_join_node>();
  for (const auto& part : conditions.equal) out->equal.emplace_back(part.outer, renamed(part.value));
  out->at = renamed(end.value);
  out->hi = end.outer;
  out->hi_inclusive = inclusive;
  for (const auto& condition : conditions.written) out->conditions.push_back(renamed(condition));
  for (auto& call : calls) {
    if (call.argument) call.argument = renamed(call.argument);
  }
  out->calls = std::move(calls);
  out->inputs = {std::move(left), reader};
  set_outputs(*out);
  return out;
}

}  // namespace

std::shared_ptr<window_join_node> recognise_window_join(const plan_ptr& left, const plan_ptr& right,
                                                        const std::vector<expr_ptr>& conditions,
                                                        const std::vector<aggregate_call>& calls) {
  const auto outer = output_ids(*left), inner = output_ids(*right);
  const auto fits = [&](const aggregate_call& call) { return has_window_form(call, inner); };
  if (!std::ranges::all_of(calls, fits)) return nullptr;
  auto out = std::make_shared<window_join_node>();
  for (const auto& condition : conditions) {
    const auto part = comparison_of(condition, outer, inner);
    if (!part || !add_condition(*out, *part)) return nullptr;
  }
  if (!out->at) return nullptr;
  out->calls = calls;
  out->conditions = conditions;
  out->inputs = {left, right};
  set_outputs(*out);
  return out;
}

plan_ptr recognise_span_counts(binder& binds, const plan_ptr& left, const plan_ptr& right,
                               const std::vector<expr_ptr>& conditions, const std::vector<aggregate_call>& calls) {
  const auto outer = output_ids(*left), inner = output_ids(*right);
  const auto is_count = [&](const aggregate_call& call) {
    // An argument is evaluated for rows of no span.
    return call.function == "count" && has_window_form(call, inner) &&
           (!call.argument || call.argument->kind == op::column);
  };
  const auto parts = span_conditions_of(conditions, outer, inner);
  if (!parts || calls.empty() || !std::ranges::all_of(calls, is_count)) return nullptr;
  const bool around_a_point = same(*parts->start->outer, *parts->finish->outer);
  if (!around_a_point || parts->start->value->type != parts->finish->value->type) return nullptr;
  // A span that finishes before it starts has no point, and without these, all that finish before a point start before
  // it. If both ends are open, nor has one that finishes where it starts.
  const bool both_open = !parts->start->is_inclusive() && !parts->finish->is_inclusive();
  const auto spans = std::make_shared<shared_plan>();
  spans->name = "spans";
  spans->body = with_filter(right, {make_call(both_open ? op::less : op::less_equal, {type_id::boolean},
                                              {parts->start->value, parts->finish->value})});
  auto started = calls, finished = calls;
  for (auto& call : started) call.output = binds.new_column();
  for (auto& call : finished) call.output = binds.new_column();
  auto joined = counted_before(binds, left, spans, *parts, *parts->start, parts->start->is_inclusive(), started);
  joined =
      counted_before(binds, std::move(joined), spans, *parts, *parts->finish, !parts->finish->is_inclusive(), finished);
  auto out = std::make_shared<project_node>();
  for (const auto& column : left->outputs) {
    out->expressions.push_back(make_column(column.id, column.type));
    out->outputs.push_back(column);
  }
  for (std::size_t i = 0; i < calls.size(); ++i) {
    out->expressions.push_back(
        make_call(op::subtract, calls[i].type,
                  {make_column(started[i].output, calls[i].type), make_column(finished[i].output, calls[i].type)},
                  calls[i].position));
    out->outputs.push_back({calls[i].output, calls[i].function, calls[i].type});
  }
  out->inputs = {std::move(joined)};
  return out;
}

std::shared_ptr<window_join_node> recognise_span_aggregates(const plan_ptr& left, const plan_ptr& right,
                                                            const std::vector<expr_ptr>& conditions,
                                                            const std::vector<aggregate_call>& calls) {
  const auto outer = output_ids(*left), inner = output_ids(*right);
  constexpr int digits_of_a_row_number = 10;
  const auto is_exact = [&](const aggregate_call& call) {
    // An argument is evaluated for rows of no span.
    if (!has_window_form(call, inner) || (call.argument && call.argument->kind != op::column)) return false;
    if (call.function == "count") return true;
    if (call.function != "sum" && call.function != "avg") return false;
    const auto& type = call.argument->type;
    return is_integer(type.id) ||
           (type.id == type_id::decimal && type.precision <= max_decimal_precision - digits_of_a_row_number);
  };
  const auto parts = span_conditions_of(conditions, outer, inner);
  if (!parts || calls.empty() || !std::ranges::all_of(calls, is_exact)) return nullptr;
  auto out = std::make_shared<window_join_node>();
  for (const auto& part : parts->equal) out->equal.emplace_back(part.outer, part.value);
  out->at = parts->start->value;
  out->hi = parts->start->outer;
  out->hi_inclusive = parts->start->is_inclusive();
  out->finish = parts->finish->value;
  out->lo = parts->finish->outer;
  out->lo_inclusive = parts->finish->is_inclusive();
  out->calls = calls;
  out->conditions = conditions;
  out->inputs = {left, right};
  set_outputs(*out);
  return out;
}

}  // namespace espalier::engine
