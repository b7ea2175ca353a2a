#include "engine/sql/group.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "engine/error.hpp"

namespace espalier::engine {
namespace {

using ast::expression_kind;

expr_ptr group_expression(binder& binds, const ast::expression& e, const scope& names,
                          const std::vector<expr_ptr>& outputs, const std::vector<std::string>& output_names) {
  if (e.kind == expression_kind::integer) {
    const auto place = std::stoll(e.text);
    if (place < 1 || place > static_cast<long long>(outputs.size())) {
      throw_sql_error(codes::invalid_column_reference, e.position,
                      fmt::format("GROUP BY {} names no column of the answer.", e.text));
    }
    return outputs[static_cast<std::size_t>(place) - 1];
  }
  if (e.kind == expression_kind::column && e.names.size() == 1) {
    // As in PostgreSQL, a column of FROM takes precedence over an output name.
    for (const auto& column : names.columns) {
      if (column.name == e.names[0]) return binds.expression(e, names);
    }
    for (std::size_t i = 0; i < output_names.size(); ++i) {
      if (output_names[i] == e.names[0]) return outputs[i];
    }
  }
  return binds.expression(e, names);
}

}  // namespace

grouping::grouping(binder& binds, const ast::select& select, const scope& names, const std::vector<expr_ptr>& outputs,
                   const std::vector<std::string>& output_names)
    : binds_(binds) {
  for (const auto& column : names.columns) own_columns_.insert(column.id);
  const window_permission none(binds, nullptr, "GROUP BY");
  for (const auto& e : select.group_by) {
    auto key = group_expression(binds, *e, names, outputs, output_names);
    if (any_node(key, [](const expr& node) { return node.kind == op::aggregate; })) {
      throw_sql_error(codes::grouping_error, e->position, "An aggregate cannot stand in GROUP BY.");
    }
    if (has_window(key)) {
      throw_sql_error(codes::windowing_error, e->position,
                      "A window function cannot stand in GROUP BY; compute it in a subquery in FROM.");
    }
    if (has_correlated_query(key)) throw_sql_error(e->position, "A correlated subquery cannot stand in GROUP BY.");
    if (key->open) throw_sql_error(e->position, "GROUP BY a constant has no meaning.");
    bool known = false;
    for (const auto& other : keys_) known |= same(*other, *key);
    if (known) continue;
    // A plain column keeps its id, so that conditions on it can be pushed below the aggregation.
    key_ids_.push_back(key->kind == op::column ? key->column : binds.new_column());
    keys_.push_back(std::move(key));
  }
}

expr_ptr grouping::aggregate_column(const expr_ptr& e) {
  const expr_ptr argument = e->args.empty() ? nullptr : e->args[0];
  for (const auto& call : calls_) {
    const bool same_argument = call.argument && argument ? same(*call.argument, *argument) : call.argument == argument;
    const auto& more = call.more;
    const bool same_others = call.directions == e->directions &&
                             more.size() + 1 == std::max<std::size_t>(e->args.size(), 1) &&
                             std::equal(more.begin(), more.end(), e->args.begin() + (more.empty() ? 0 : 1),
                                        [](const expr_ptr& a, const expr_ptr& b) { return same(*a, *b); });
    if (call.function == e->name && call.distinct == (e->number == 1) && same_argument && same_others) {
      return make_column(call.output, call.type, e->position);
    }
  }
  calls_.push_back({e->name, argument, e->number == 1, binds_.new_column(), e->type, e->position, {}, e->directions});
  if (e->args.size() > 1) calls_.back().more.assign(e->args.begin() + 1, e->args.end());
  return make_column(calls_.back().output, e->type, e->position);
}

expr_ptr grouping::above(const expr_ptr& e) {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (same(*keys_[i], *e)) return make_column(key_ids_[i], e->type, e->position);
  }
  if (e->kind == op::aggregate) return aggregate_column(e);
  if (e->kind == op::column && own_columns_.contains(e->column)) {
    throw_sql_error(codes::grouping_error, e->position, "This column has to stand in GROUP BY or inside an aggregate.");
  }
  if (e->args.empty()) return e;
  auto copy = std::make_shared<expr>(*e);
  for (auto& arg : copy->args) arg = above(arg);
  return copy;
}

plan_ptr grouping::plan(plan_ptr input) const {
  auto out = std::make_shared<aggregate_node>();
  out->keys = keys_;
  out->calls = calls_;
  for (std::size_t i = 0; i < keys_.size(); ++i) out->outputs.push_back({key_ids_[i], "", keys_[i]->type});
  for (const auto& call : calls_) out->outputs.push_back({call.output, call.function, call.type});
  out->inputs = {std::move(input)};
  return out;
}

}  // namespace espalier::engine
