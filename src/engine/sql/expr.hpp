// expr.hpp - expressions whose names are resolved and whose types are known: what planner and executor work on.
//
// Columns are numbered across the whole statement (`column_id`), so an expression means the same wherever a rewrite
// moves it. Expressions are immutable and shared; a rewrite makes new ones.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

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
  like,      // value, pattern (a literal); number 1: ignoring case
  in_list,   // value, then literals
  in_query,  // value IN (query), three-valued
  scalar_query,
  exists_query,  // without outer columns; those with them became joins
  case_when,     // condition, result, ..., result
  coalesce,
  nullif,
  greatest,
  least,
  function,  // name
  aggregate  // name, number 1: DISTINCT; only while a SELECT is bound
};

struct expr;
using expr_ptr = std::shared_ptr<const expr>;

struct expr {
  op kind = op::literal;
  column_type type;
  int position = -1;
  std::vector<expr_ptr> args;
  column_id column = 0;
  std::shared_ptr<arrow::Scalar> value;  ///< of a literal, of the Arrow type of `type`
  int number = 0;
  std::string name;
  std::shared_ptr<plan_node> query;
  bool is_interval = false;  ///< microseconds that are a length of time (interval.hpp)
  /// Of an aggregate: bits for each of its last arguments, by which it is ordered. 1: descending, 2: NULLs first.
  std::vector<std::uint8_t> directions;
  bool open = false;  ///< a string constant, NULL or parameter whose type its neighbour decides
};

/// What an aggregate computes. `argument` is null for COUNT(*).
struct aggregate_call {
  std::string function;  ///< of SQL, or "first": the value of the first row, which subqueries become
  expr_ptr argument;
  bool distinct = false;
  column_id output = 0;
  column_type type;
  int position = -1;
  std::vector<expr_ptr> more;            ///< further arguments; the last ones are what the values are ordered by
  std::vector<std::uint8_t> directions;  ///< of those, as in `bound`
};

[[nodiscard]] expr_ptr make_column(column_id column, const column_type& type, int position = -1);
[[nodiscard]] expr_ptr make_literal(std::shared_ptr<arrow::Scalar> value, const column_type& type, int position = -1);
[[nodiscard]] expr_ptr make_null(const column_type& type, int position = -1);
[[nodiscard]] expr_ptr make_boolean(bool value);
[[nodiscard]] expr_ptr make_call(op kind, const column_type& type, std::vector<expr_ptr> args, int position = -1);
/// A AND B AND ...; true if there are none.
[[nodiscard]] expr_ptr conjunction(const std::vector<expr_ptr>& parts);
/// The parts of nested ANDs.
void split_conjunction(const expr_ptr& condition, std::vector<expr_ptr>& parts);

/// How many nodes a walk over the expression meets: parts that several places share count for each of them.
[[nodiscard]] double tree_size(const expr_ptr& e);

[[nodiscard]] bool same(const expr& a, const expr& b);
[[nodiscard]] bool is_literal(const expr_ptr& e);
[[nodiscard]] bool is_null_literal(const expr_ptr& e);
[[nodiscard]] bool is_comparison(op kind);
/// a < b as b > a.
[[nodiscard]] op mirrored(op comparison);
void collect_columns(const expr_ptr& e, std::set<column_id>& into);
/// No columns, aggregates or subqueries: literals, parameters and what is made of them.
[[nodiscard]] bool is_constant(const expr_ptr& e);
[[nodiscard]] bool has_aggregate(const expr_ptr& e);
[[nodiscard]] bool any_node(const expr_ptr& e, const std::function<bool(const expr&)>& test);
/// Every node from the leaves up through `change`, which returns null to keep it.
[[nodiscard]] expr_ptr rewrite(const expr_ptr& e, const std::function<expr_ptr(const expr_ptr&)>& change);
/// As a person would write it, for EXPLAIN.
[[nodiscard]] std::string to_text(const expr_ptr& e, const std::function<std::string(column_id)>& name_of);

}  // namespace espalier::engine
