#include <arrow/scalar.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include "engine/error.hpp"
#include "engine/expr/coerce.hpp"
#include "engine/plan/shared_plans.hpp"
#include "engine/sql/binder.hpp"
#include "engine/sql/file_options.hpp"
#include "engine/sql/hints.hpp"
#include "engine/table/read.hpp"

namespace espalier::engine {
namespace {

void add_names(const plan_node& plan, const std::string& table, const std::vector<std::string>& column_aliases,
               int position, scope& names) {
  if (column_aliases.size() > plan.outputs.size()) {
    throw_sql_error(codes::invalid_column_reference, position,
                    fmt::format("'{}' has {} columns, fewer than the names given.", table, plan.outputs.size()));
  }
  for (const auto& column : names.columns) {
    if (column.table == table && !table.empty()) {
      throw_sql_error(codes::duplicate_alias, position,
                      fmt::format("Table name '{}' is specified more than once; add an alias.", table));
    }
  }
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    const auto& output = plan.outputs[i];
    const std::string name = i < column_aliases.size() ? column_aliases[i] : output.name;
    names.columns.push_back({table, name, output.id, output.type});
  }
}

bool is_true_literal(const ast::expression* e) { return !e || (e->kind == ast::expression_kind::boolean && e->flag); }

}  // namespace

const ast::common_table* binder::find_common_table(const std::string& name) const {
  for (auto it = common_tables_.rbegin(); it != common_tables_.rend(); ++it) {
    if ((*it)->name == name) return *it;
  }
  return nullptr;
}

std::shared_ptr<scan_node> binder::scan(const ast::table_name& table, const std::string& alias, bool with_row_ids,
                                        scope& names) {
  auto out = std::make_shared<scan_node>();
  out->table = tables_.find(table.name);
  if (!out->table) throw_sql_error(codes::undefined_table, table.position, no_such_table(table.name, tables_));
  out->alias = alias.empty() ? table.name : alias;
  const auto& columns = out->table->version->columns();
  for (std::size_t i = 0; i < columns.size(); ++i) {
    out->columns.push_back(i);
    out->outputs.push_back({new_column(), columns[i].name, columns[i].type});
  }
  add_names(*out, out->alias, {}, table.position, names);
  out->with_row_ids = with_row_ids;
  if (with_row_ids) out->outputs.push_back({new_column(), "row id", {type_id::int64}});
  return out;
}

plan_ptr binder::from_query(const ast::select& select, const ast::from_item& item, const scope* outer, scope& names) {
  auto plan = query(select, outer);
  const std::string name = item.alias.empty() ? item.table.name : item.alias;
  // A column that is selected twice would be one id with two names, so the second gets a new id. An outer column that
  // LATERAL passes through gets a new id, too.
  std::set<column_id> seen;
  for (const scope* level = outer; level; level = level->outer) {
    for (const auto& column : level->columns) seen.insert(column.id);
  }
  bool twice = false;
  for (const auto& output : plan->outputs) twice |= !seen.insert(output.id).second;
  if (twice) {
    auto project = std::make_shared<project_node>();
    for (const auto& output : plan->outputs) {
      project->expressions.push_back(make_column(output.id, output.type));
      project->outputs.push_back({new_column(), output.name, output.type});
    }
    project->inputs = {plan};
    plan = project;
  }
  add_names(*plan, name, item.column_aliases, item.position, names);
  return plan;
}

plan_ptr binder::from_file(const ast::from_item& item, scope& names) {
  if (item.function == "generate_series") {
    auto series = from_series(item);
    add_names(*series, series->outputs[0].name, item.column_aliases, item.position, names);
    return series;
  }
  const auto format = format_of_function(item.function);
  if (!format) {
    throw_sql_error(
        codes::undefined_function, item.position,
        fmt::format("'{}' cannot stand in FROM; generate_series, read_csv, read_parquet and read_arrow can.",
                    item.function));
  }
  if (!context_.allow_file_access) refuse_file_access(item.position, item.function);
  const auto argument = [&](const ast::expression& e) {
    const auto value = folded(expression(e, scope{}));
    if (!is_literal(value) || !value->value->is_valid)
      throw_sql_error(e.position, "Arguments of this function have to be constants.");
    return coerced(value, {type_id::varchar})->value->ToString();
  };
  if (item.args.size() != 1) throw_sql_error(item.position, fmt::format("{} takes the name of a file.", item.function));
  std::vector<std::pair<std::string, std::string>> options;
  for (const auto& [name, value] : item.named_args) options.emplace_back(name, argument(*value));
  auto out = std::make_shared<file_scan_node>();
  const std::string path = argument(*item.args[0]);
  try {
    out->rows =
        read_table(path, *format, read_file_options(options, *format, item.position), tell_, unsupported_columns::kept);
  } catch (const located_error&) {
    throw;
  } catch (const engine_error& problem) {
    throw_sql_error(problem.code(), item.args[0]->position, problem.what());
  } catch (const error& problem) {
    throw_sql_error(item.args[0]->position, problem.what());
  }
  out->what = fmt::format("{}('{}')", item.function, path);
  for (int i = 0; i < out->rows->num_columns(); ++i) {
    const auto& field = *out->rows->schema()->field(i);
    // A column of an unsupported type is refused when it is read, so that queries which do not use it still work.
    const auto type = stored_type(*field.type()).value_or(column_type{type_id::varchar});
    out->columns.push_back(i);
    out->outputs.push_back({new_column(), field.name(), type});
  }
  add_names(*out, item.alias.empty() ? item.function : item.alias, item.column_aliases, item.position, names);
  return out;
}

plan_ptr binder::from_common_table(const ast::common_table& common, const ast::from_item& item, scope& names) {
  const auto known = shared_plans_.find(&common);
  if (known != shared_plans_.end() && !is_trivial(*known->second->body)) {
    std::vector<column_id> ids;
    for (std::size_t i = 0; i < known->second->body->outputs.size(); ++i) ids.push_back(new_column());
    auto out = reference_to(known->second, ids);
    auto aliases = item.column_aliases;
    for (auto i = aliases.size(); i < common.column_aliases.size(); ++i) aliases.push_back(common.column_aliases[i]);
    add_names(*out, item.alias.empty() ? item.table.name : item.alias, aliases, item.position, names);
    return out;
  }
  // The query of a WITH table sees only the tables that were visible at its definition.
  const auto visible = common_tables_;
  while (!common_tables_.empty() && common_tables_.back() != &common) common_tables_.pop_back();
  common_tables_.pop_back();
  ast::from_item renamed;
  renamed.position = item.position;
  renamed.table = item.table;
  renamed.alias = item.alias;
  // FROM t AS x(a): the column names of WITH t(...) remain for the columns that x does not rename.
  renamed.column_aliases = item.column_aliases;
  for (auto i = renamed.column_aliases.size(); i < common.column_aliases.size(); ++i) {
    renamed.column_aliases.push_back(common.column_aliases[i]);
  }
  auto plan = from_query(*common.query, renamed, nullptr, names);
  common_tables_ = visible;
  if (known != shared_plans_.end()) return plan;
  const auto shared = std::make_shared<shared_plan>(shared_plan{common.name, std::move(plan)});
  shared_plans_.emplace(&common, shared);
  return reference_to(shared, {});
}

void binder::check_common_tables(const ast::select& select) const {
  std::set<std::string_view> names;
  for (const auto& common : select.with) {
    if (names.insert(common.name).second) continue;
    throw_sql_error(codes::duplicate_alias, select.position,
                    fmt::format("WITH query name '{}' is specified more than once.", common.name));
  }
}

// Unused WITH queries are bound so that their errors are reported. The last one is bound first, since a WITH query may
// use the ones before it.
void binder::bind_unused_common_tables(const ast::select& select) {
  for (auto common = select.with.rbegin(); common != select.with.rend(); ++common) {
    if (shared_plans_.contains(&*common)) continue;
    ast::from_item item;
    item.position = select.position;
    item.table.name = common->name;
    scope names;
    static_cast<void>(from_common_table(*common, item, names));
  }
}

plan_ptr binder::from_item(const ast::from_item& item, scope& names) {
  switch (item.kind) {
    case ast::from_item::what::table: {
      if (const auto* common = find_common_table(item.table.name)) return from_common_table(*common, item, names);
      scope own;
      auto out = scan(item.table, item.alias, false, own);
      add_names(*out, out->alias, item.column_aliases, item.position, names);
      return out;
    }
    case ast::from_item::what::function:
      return from_file(item, names);
    case ast::from_item::what::query:
      return from_query(*item.query, item, nullptr, names);
    case ast::from_item::what::join:
      return join(item, names);
  }
  throw_sql_error(item.position, "This item of FROM is not supported.");
}

plan_ptr binder::joined(plan_ptr left, plan_ptr right, join_type type, std::vector<expr_ptr> conditions,
                        std::vector<key_filter_link> filters) {
  auto out = std::make_shared<join_node>();
  out->type = type;
  out->conditions = std::move(conditions);
  out->filters = std::move(filters);
  out->outputs = left->outputs;
  if (type != join_type::semi && type != join_type::anti) {
    out->outputs.insert(out->outputs.end(), right->outputs.begin(), right->outputs.end());
  }
  out->inputs = {std::move(left), std::move(right)};
  return out;
}

std::vector<expr_ptr> binder::using_conditions(const ast::from_item& item, scope& left, scope& right) {
  std::vector<expr_ptr> out;
  for (const auto& name : item.using_columns) {
    ast::expression e;
    e.kind = ast::expression_kind::column;
    e.names = {name};
    e.position = item.position;
    const auto a = column(e, left);
    const auto b = column(e, right);
    out.push_back(comparison(op::equal, a, b, item.position));
    // The merged column of an outer join takes its value from the preserved side.
    auto& hidden = item.join == ast::join_kind::right ? left : right;
    for (auto& candidate : hidden.columns) candidate.merged |= candidate.name == name;
  }
  return out;
}

plan_ptr binder::lateral(plan_ptr left, const ast::from_item& item, join_type type, const ast::expression* on,
                         scope& names) {
  scope right_names;
  auto right = from_query(*item.query, item, &names, right_names);
  const auto outer = output_ids(*left);
  const auto free = free_columns(*right);
  for (const auto id : free) {
    if (!outer.contains(id))
      throw_sql_error(codes::feature_not_supported, item.position,
                      "A LATERAL subquery can name columns of the items left of it only.");
  }
  names.columns.insert(names.columns.end(), right_names.columns.begin(), right_names.columns.end());
  std::vector<expr_ptr> conditions;
  if (!free.empty()) {
    if (is_true_literal(on)) {
      if (auto as_of = recognise_as_of(*this, left, right, type == join_type::left)) return as_of;
    }
    if (!is_true_literal(on)) split_conjunction(condition(*on, names, "ON"), conditions);
    return lateral_join(std::move(left), std::move(right), type, std::move(conditions), item.position);
  }
  if (!is_true_literal(on)) split_conjunction(condition(*on, names, "ON"), conditions);
  return joined(std::move(left), std::move(right), type, std::move(conditions));
}

plan_ptr binder::join(const ast::from_item& item, scope& names) {
  scope left_names;
  left_names.outer = names.outer;
  auto left = from_item(*item.left, left_names);
  const auto finish = [&](const scope& both) {
    names.columns.insert(names.columns.end(), both.columns.begin(), both.columns.end());
  };
  const bool is_left = item.join == ast::join_kind::left;
  if (item.right->lateral) {
    if (!is_left && item.join != ast::join_kind::inner && item.join != ast::join_kind::cross) {
      throw_sql_error(codes::feature_not_supported, item.position,
                      "LATERAL can be joined by LEFT JOIN, JOIN or CROSS JOIN only.");
    }
    if (!item.using_columns.empty())
      throw_sql_error(codes::feature_not_supported, item.position, "LATERAL with USING is not supported; use ON.");
    auto out = lateral(std::move(left), *item.right, is_left ? join_type::left : join_type::inner, item.condition.get(),
                       left_names);
    finish(left_names);
    return out;
  }
  scope right_names;
  right_names.outer = names.outer;
  auto right = from_item(*item.right, right_names);
  auto conditions = using_conditions(item, left_names, right_names);
  if (item.join == ast::join_kind::full && !item.using_columns.empty()) {
    throw_sql_error(codes::feature_not_supported, item.position, "FULL JOIN with USING is not supported; use ON.");
  }
  for (const auto& column : right_names.columns) {
    for (const auto& other : left_names.columns) {
      if (other.table == column.table && !column.table.empty()) {
        throw_sql_error(codes::duplicate_alias, item.position,
                        fmt::format("Table name '{}' is specified more than once; add an alias.", column.table));
      }
    }
  }
  scope both = left_names;
  both.columns.insert(both.columns.end(), right_names.columns.begin(), right_names.columns.end());
  if (item.condition) {
    const auto on = condition(*item.condition, both, "ON");
    if (any_node(on, [](const expr& node) { return node.query != nullptr; })) {
      throw_sql_error(codes::feature_not_supported, item.condition->position,
                      "A subquery cannot stand in ON; put it into WHERE.");
    }
    split_conjunction(on, conditions);
  }
  finish(both);
  if (item.join == ast::join_kind::right) {
    return joined(std::move(right), std::move(left), join_type::left, std::move(conditions));
  }
  const auto type = is_left ? join_type::left : item.join == ast::join_kind::full ? join_type::full : join_type::inner;
  return joined(std::move(left), std::move(right), type, std::move(conditions));
}

plan_ptr binder::from(const std::vector<ast::from_ptr>& items, scope& names) {
  plan_ptr out;
  for (const auto& item : items) {
    if (item->lateral && out) {
      out = lateral(std::move(out), *item, join_type::inner, nullptr, names);
      continue;
    }
    auto next = from_item(*item, names);
    out = out ? joined(std::move(out), std::move(next), join_type::inner, {}) : std::move(next);
  }
  if (!out) {
    auto one_row = std::make_shared<values_node>();
    one_row->rows.emplace_back();
    out = one_row;
  }
  return out;
}

}  // namespace espalier::engine
