// binder.hpp - translates syntax trees into plans: it resolves names, derives types and turns subqueries into joins.
//
// bind_expression.cpp binds expressions, bind_window.cpp window functions, bind_from.cpp the FROM clause and
// bind_select.cpp the rest of a query. correlate.cpp pulls correlated conditions out of subqueries; decorrelate.cpp
// turns correlated subqueries into joins.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/catalog.hpp"
#include "engine/plan/node.hpp"
#include "engine/plan/visit.hpp"
#include "engine/sql/ast.hpp"
#include "engine/sql/reached.hpp"
#include "engine/sql/statement_context.hpp"
#include "espalier/engine/progress.hpp"

namespace espalier::engine {

/// A column that expressions can reference.
struct scope_column {
  std::string table;
  std::string name;
  column_id id = 0;
  column_type type;
  bool merged = false;  ///< right column of USING, reachable by a qualified name only
};

struct scope {
  std::vector<scope_column> columns;
  const scope* outer = nullptr;  ///< scope of the enclosing query
};

class binder {
 public:
  binder(const catalog& tables, progress tell, const statement_context& context);

  /// Binds a query. The outputs of the plan are the columns of the result, in order.
  [[nodiscard]] plan_ptr query(const ast::select& select, const scope* outer = nullptr);
  /// Binds the query of an INSERT. Each value of its VALUES is converted to the type of its target column,
  /// independently of the other rows.
  [[nodiscard]] plan_ptr rows_for(const ast::select& select, std::span<const declared_type> wanted);
  [[nodiscard]] expr_ptr expression(const ast::expression& e, const scope& names);
  /// Binds a condition of WHERE or ON, which has to be boolean and must not contain aggregates.
  [[nodiscard]] expr_ptr condition(const ast::expression& e, const scope& names, const char* clause);
  /// Returns a scan of all columns of the table. With `with_row_ids` the last output is the row id.
  [[nodiscard]] std::shared_ptr<scan_node> scan(const ast::table_name& table, const std::string& alias,
                                                bool with_row_ids, scope& names);
  /// Returns `input` filtered by `condition`. Conjuncts that are subqueries become joins below the filter.
  [[nodiscard]] plan_ptr filtered(plan_ptr input, const expr_ptr& condition);
  /// Returns `e` with each subquery that references columns of `input` replaced by a column, which a join adds to
  /// `input`. Failures of a subquery count for the rows only that reach it, where `reached` is true and `e` evaluates
  /// it.
  [[nodiscard]] expr_ptr lifted(plan_ptr& input, const expr_ptr& e, const reached_where& reached = {});

  [[nodiscard]] column_id new_column() { return next_column_++; }
  [[nodiscard]] int parameters() const { return parameters_; }

 private:
  // bind_expression.cpp
  expr_ptr expression_or_interval(const ast::expression& e, const scope& names);
  expr_ptr cast(const ast::expression& e, const scope& names);
  expr_ptr column(const ast::expression& e, const scope& names);
  expr_ptr literal(const ast::expression& e);
  expr_ptr operation(const ast::expression& e, const scope& names);
  expr_ptr comparison(op kind, expr_ptr left, expr_ptr right, int position);
  expr_ptr in_list(const ast::expression& e, const scope& names);
  expr_ptr case_when(const ast::expression& e, const scope& names);
  expr_ptr subquery(const ast::expression& e, const scope& names);
  expr_ptr call(const ast::expression& e, const scope& names);
  // bind_aggregate.cpp
  expr_ptr aggregate(const ast::expression& e, const scope& names);
  expr_ptr ordered_aggregate(const ast::expression& e, const scope& names);
  expr_ptr bool_aggregate(const ast::expression& e, const scope& names);
  // bind_window.cpp
  expr_ptr window_call(const ast::expression& e, const scope& names);
  expr_ptr bool_window(const ast::expression& e, const scope& names);
  void bind_over(const ast::expression& e, const scope& names, expr& call);
  void bind_window(const struct resolved_window& window, const scope& names, expr& call);
  void bind_frame(const ast::window& frame, const scope& names, expr& call, window_shape& shape);
  void check_windows(const ast::select& select, const scope& names);
  // bind_expression.cpp
  expr_ptr moment(const ast::expression& e, const column_type& type) const;
  expr_ptr like(const ast::expression& e, const scope& names);
  expr_ptr boolean(const ast::expression& e, const scope& names);
  std::vector<expr_ptr> arguments(const ast::expression& e, const scope& names);
  std::vector<expr_ptr> arguments_or_intervals(const ast::expression& e, const scope& names);

  // bind_from.cpp
  plan_ptr from(const std::vector<ast::from_ptr>& items, scope& names);
  plan_ptr from_item(const ast::from_item& item, scope& names);
  plan_ptr from_query(const ast::select& query, const ast::from_item& item, const scope* outer, scope& names);
  plan_ptr from_file(const ast::from_item& item, scope& names);
  plan_ptr from_series(const ast::from_item& item);  // series.cpp
  plan_ptr join(const ast::from_item& item, scope& names);
  plan_ptr lateral(plan_ptr left, const ast::from_item& item, join_type type, const ast::expression* on, scope& names);
  plan_ptr joined(plan_ptr left, plan_ptr right, join_type type, std::vector<expr_ptr> conditions,
                  std::vector<key_filter_link> filters = {});
  std::vector<expr_ptr> using_conditions(const ast::from_item& item, scope& left, scope& right);

  // bind_select.cpp
  plan_ptr core(const ast::select& select, const scope* outer);
  plan_ptr values(const ast::select& select, std::span<const declared_type> wanted = {});
  plan_ptr set_union(const ast::select& select, const scope* outer);
  plan_ptr query_inside(const ast::select& select, const scope* outer);
  plan_ptr ordered(plan_ptr input, const ast::select& select, std::vector<expr_ptr> keys);
  plan_ptr limited(plan_ptr input, const ast::select& select);
  expr_ptr row_count(const ast::expression* e, const char* clause);
  std::vector<expr_ptr> targets(const ast::select& select, const scope& names, std::vector<std::string>& output_names);
  expr_ptr output_or_expression(const ast::expression& e, const scope& names, const std::vector<expr_ptr>& outputs,
                                const std::vector<std::string>& output_names, const char* clause);
  std::vector<expr_ptr> distinct_keys(const ast::select& select, const scope& names,
                                      const std::vector<expr_ptr>& outputs,
                                      const std::vector<std::string>& output_names);
  std::vector<expr_ptr> sort_expressions(const ast::select& select, const scope& names,
                                         const std::vector<expr_ptr>& outputs,
                                         const std::vector<std::string>& output_names);

  // correlate.cpp
  plan_ptr exists_join(plan_ptr input, const expr_ptr& e, bool negated);
  plan_ptr in_join(plan_ptr input, const expr_ptr& e);

  // decorrelate.cpp
  expr_ptr lifted_query(plan_ptr& input, const expr_ptr& e, const reached_where& reached);
  /// Adds a column that is true for the rows that reach an expression. Returns null if all rows are known to.
  expr_ptr reached_column(plan_ptr& input, const reached_where& reached);
  plan_ptr joined_groups(plan_ptr input, struct correlated_rows rows, std::vector<aggregate_call> calls, int position);
  plan_ptr lateral_join(plan_ptr left, plan_ptr right, join_type type, std::vector<expr_ptr> on, int position);

  const ast::common_table* find_common_table(const std::string& name) const;
  plan_ptr from_common_table(const ast::common_table& common, const ast::from_item& item, scope& names);
  void check_common_tables(const ast::select& select) const;
  void bind_unused_common_tables(const ast::select& select);

  const catalog& tables_;
  progress tell_;  ///< a copy, since a prepared statement is bound after the call that supplied it
  column_id next_column_ = 1;
  int parameters_ = 0;
  statement_context context_;
  std::vector<const ast::common_table*> common_tables_;  ///< visible WITH queries, innermost last
  std::set<const ast::common_table*> used_common_tables_;
  /// The columns that subqueries were replaced by. Expressions may share a subquery, such as both parts of BETWEEN, and
  /// its plan can be taken apart only once.
  std::map<plan_ptr, expr_ptr> lifted_;
  std::map<const ast::common_table*, std::shared_ptr<shared_plan>> shared_plans_;  ///< referenced ones
  int query_depth_ = 0;
  /// The query whose select list or ORDER BY is being bound; null in clauses without window functions, which
  /// `clause_` names.
  const ast::select* windows_of_ = nullptr;
  const char* clause_ = nullptr;
  friend class window_permission;
};

/// Allows window functions during its lifetime, those of the select list and ORDER BY of `select`; null forbids them.
class window_permission {
 public:
  window_permission(binder& binds, const ast::select* select, const char* clause = nullptr);
  window_permission(const window_permission&) = delete;
  window_permission& operator=(const window_permission&) = delete;
  ~window_permission();

 private:
  binder& binds_;
  const ast::select* before_;
  const char* clause_before_;
};

[[noreturn]] void refuse_two_levels_up(int position);
/// Removes the conditions with outer columns from a plan and returns them, so that a join can evaluate them. Outputs
/// that the conditions need are added to the plan. GROUP BY, DISTINCT and LIMIT above correlated equalities are
/// computed per value of the equalities' inner sides. Throws an error at `position` if another operator is in the way.
/// If expressions of the plan, or with `may_fail` those above it, may fail, its rows are filtered by the keys of the
/// outer rows, and the join that evaluates the conditions gets the links in `filters`.
[[nodiscard]] std::vector<expr_ptr> pull_up_correlated_predicates(binder& binds, plan_ptr& plan, int position,
                                                                  bool may_fail, std::vector<key_filter_link>& filters);
/// Returns whether the condition equates an expression over the subquery's own columns with one over outer columns, or
/// has outer columns only. The inner sides of such equalities are keys by which a subquery can be computed once for all
/// outer rows.
[[nodiscard]] bool is_correlated_equality(const expr_ptr& condition, const std::set<column_id>& outer);
/// Adds the inner sides of the equalities among `conditions` to `rows` as columns and returns these. Every condition
/// has to be a correlated equality or have outer columns only.
[[nodiscard]] std::vector<expr_ptr> correlation_keys(binder& binds, plan_ptr& rows, const std::set<column_id>& outer,
                                                     std::vector<expr_ptr>& conditions);
[[nodiscard]] bool uses_any(const expr_ptr& e, const std::set<column_id>& columns);
[[nodiscard]] plan_ptr with_filter(plan_ptr input, std::vector<expr_ptr> conditions);
[[nodiscard]] bool has_correlated_query(const expr_ptr& e);
/// Returns whether an expression of the plan has a correlated subquery. After binding, this is a condition with columns
/// of a query further out.
[[nodiscard]] bool has_correlated_query(const plan_node& plan);
/// Returns the as-of join that is equivalent to LEFT JOIN LATERAL (SELECT ... ORDER BY ts DESC LIMIT 1), below a
/// projection if anything but columns is selected, or null if the plan has another shape. If `reached` is not null, it
/// is a condition on left columns, and other rows find none.
[[nodiscard]] plan_ptr recognise_as_of(binder& binds, const plan_ptr& left, const plan_ptr& right, bool keep_unmatched,
                                       const expr_ptr& reached = nullptr);

}  // namespace espalier::engine
