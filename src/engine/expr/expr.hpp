// expr.hpp - bound expressions: names are resolved and types are known. Planner and executor work on them.
//
// A `column_id` is unique within the statement, so an expression keeps its meaning wherever a rewrite moves it.
// Expressions are immutable and shared; a rewrite creates new ones.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/expr/frame.hpp"
#include "engine/types.hpp"

namespace espalier::engine {

struct plan_node;

using column_id = std::uint32_t;

enum class op : std::uint8_t {
  column,
  literal,
  parameter,  // number
  cast,
  add,
  subtract,
  multiply,
  divide,
  modulo,
  negate,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  is_distinct,
  is_not_distinct,
  logical_and,
  logical_or,
  logical_not,
  is_null,
  is_not_null,
  is_true,
  is_not_true,
  is_false,
  is_not_false,
  like,      // value, pattern (a literal); number 1: ignore case
  in_list,   // value, then literals
  in_query,  // value IN (query), three-valued
  scalar_query,
  exists_query,  // without outer columns; correlated ones became joins
  case_when,     // condition, result, ..., result
  coalesce,
  nullif,
  greatest,
  least,
  function,   // name
  aggregate,  // name; number 1: DISTINCT; exists only while a SELECT is bound
  window      // name, window; exists only while a SELECT is bound
};

struct expr;
using expr_ptr = std::shared_ptr<const expr>;

/// The rows around the current row that a window function reads.
struct window_frame {
  frame_unit unit = frame_unit::range;
  frame_bound start = frame_bound::unbounded_preceding;
  frame_bound end = frame_bound::current_row;
  /// Constants, for `preceding` and `following`; null otherwise. They are bigint for ROWS and GROUPS and have the type
  /// of the range key for RANGE over numbers. RANGE over timestamps has none: its bounds are arguments.
  expr_ptr start_offset, end_offset;
};
[[nodiscard]] bool same(const window_frame& a, const window_frame& b);

/// The parts of a window call. Its `args` are the arguments, the PARTITION BY expressions, the ORDER BY expressions,
/// whose directions are in `directions`, and for RANGE with an offset further ones: the ORDER BY value in the type in
/// which bounds are compared, and over timestamps the start and the end of the frame, if they have an offset.
struct window_shape {
  std::size_t arguments = 0;
  std::size_t partition_keys = 0;
  std::size_t order_keys = 0;
  window_frame frame;
};

struct expr {
  op kind = op::literal;
  column_type type;
  int position = -1;
  std::vector<expr_ptr> args;
  column_id column = 0;
  std::shared_ptr<arrow::Scalar> value;  ///< value of a literal, with the Arrow type of `type`
  int number = 0;
  std::string name;
  std::shared_ptr<plan_node> query;
  bool is_interval = false;  ///< a number of microseconds that is an interval (interval.hpp)
  /// For an aggregate, the direction of each of its last arguments, which it is ordered by; for a window function those
  /// of ORDER BY. Bit 1 means descending, bit 2 NULLs first.
  std::vector<std::uint8_t> directions;
  std::shared_ptr<const window_shape> window;
  bool open = false;  ///< a string constant, NULL or parameter whose type is derived from its context
};

/// A call of an aggregate. `argument` is null for COUNT(*).
struct aggregate_call {
  std::string function;  ///< SQL name, or "first": value of the first row, used for subqueries
  expr_ptr argument;
  bool distinct = false;
  column_id output = 0;
  column_type type;
  int position = -1;
  std::vector<expr_ptr> more;            ///< further arguments; the last ones are the ORDER BY expressions
  std::vector<std::uint8_t> directions;  ///< one per ORDER BY expression, as in `expr`
};

[[nodiscard]] expr_ptr make_column(column_id column, const column_type& type, int position = -1);
[[nodiscard]] expr_ptr make_literal(std::shared_ptr<arrow::Scalar> value, const column_type& type, int position = -1);
[[nodiscard]] expr_ptr make_null(const column_type& type, int position = -1);
[[nodiscard]] expr_ptr make_boolean(bool value);
[[nodiscard]] expr_ptr make_call(op kind, const column_type& type, std::vector<expr_ptr> args, int position = -1);
/// Returns A AND B AND ..., or true if `parts` is empty.
[[nodiscard]] expr_ptr conjunction(const std::vector<expr_ptr>& parts);
/// Appends the conjuncts of nested ANDs to `parts`.
void split_conjunction(const expr_ptr& condition, std::vector<expr_ptr>& parts);

/// Returns the number of nodes that a traversal visits. A shared subexpression counts once per reference.
[[nodiscard]] double tree_size(const expr_ptr& e);

[[nodiscard]] bool same(const expr& a, const expr& b);
[[nodiscard]] bool is_literal(const expr_ptr& e);
[[nodiscard]] bool is_null_literal(const expr_ptr& e);
[[nodiscard]] bool is_comparison(op kind);
/// Returns the operator with its sides swapped: a < b becomes b > a.
[[nodiscard]] op mirrored(op comparison);
void collect_columns(const expr_ptr& e, std::set<column_id>& into);
/// Returns whether the expression has no columns, aggregates or subqueries, only literals, parameters and operations on
/// them.
[[nodiscard]] bool is_constant(const expr_ptr& e);
[[nodiscard]] bool has_aggregate(const expr_ptr& e);
[[nodiscard]] bool has_window(const expr_ptr& e);
[[nodiscard]] bool any_node(const expr_ptr& e, const std::function<bool(const expr&)>& test);
/// Calls `change` for every node from the leaves up; it returns the replacement, or null to keep the node.
[[nodiscard]] expr_ptr rewrite(const expr_ptr& e, const std::function<expr_ptr(const expr_ptr&)>& change);
/// Returns the expression as SQL text, for EXPLAIN.
[[nodiscard]] std::string to_text(const expr_ptr& e, const std::function<std::string(column_id)>& name_of);

}  // namespace espalier::engine
