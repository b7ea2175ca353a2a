// node.hpp - the plan of a query: a tree of operators, first as the statement says it, then with access paths chosen.
//
// Operators name columns by id; `outputs` says which ones a node hands to the one above it.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/index/table_index.hpp"
#include "engine/sql/expr.hpp"
#include "engine/types.hpp"

namespace espalier::engine {

struct table_entry;

struct output_column {
  column_id id = 0;
  std::string name;
  column_type type;
  bool for_conditions = false;  ///< of a scan: its own conditions read the column, nobody above it does
};

enum class node_kind : std::uint8_t {
  scan,
  loaded,
  values,
  filter,
  project,
  aggregate,
  index_aggregate,
  distinct,
  sort,
  limit,
  join,
  as_of_join,
  union_all,
  numbered,
  group_limit,
  set_operation,
  shared
};

/// What EXPLAIN ANALYZE tells of a node. Times are of the node with all below it.
struct node_statistics {
  bool ran = false;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  ///< of columns and row ids that the node wrote or asked its index for
  double milliseconds = 0;
};

struct plan_node {
  explicit plan_node(node_kind k) : kind(k) {}
  virtual ~plan_node() = default;
  node_kind kind;
  std::vector<std::shared_ptr<plan_node>> inputs;
  std::vector<output_column> outputs;
  double estimate = 0;  ///< rows
  double cost = 0;      ///< of this node with all below it, in nanoseconds as the model has them
  node_statistics statistics;
};
using plan_ptr = std::shared_ptr<plan_node>;

/// A condition that one index answers: values for its first columns, then maybe a range of the next one. Expressions
/// are constants, or, in joins, columns of the other side.
struct index_range {
  std::shared_ptr<const table_index> index;
  std::vector<expr_ptr> equal;
  key_condition condition = key_condition::anything;
  expr_ptr lo, hi;
  bool lo_inclusive = true;
  bool hi_inclusive = true;
  std::vector<expr_ptr> answers;  ///< the conjuncts that need not be checked again
  std::uint64_t rows = 0;         ///< counted when the plan was made
};

/// An index that would have answered conditions of a scan at a higher cost.
struct rejected_index {
  std::string name;
  std::uint64_t rows = 0;  ///< in its range
  double cost = 0;
};

struct scan_node : plan_node {
  scan_node() : plan_node(node_kind::scan) {}
  std::shared_ptr<const table_entry> table;
  std::string alias;
  std::vector<std::size_t> columns;  ///< of the table, for each output
  std::vector<expr_ptr> conditions;  ///< all of them hold
  // How: no range is a full scan, several are intersected.
  std::vector<index_range> ranges;
  std::vector<expr_ptr> residual;                ///< the conditions that the ranges do not answer
  std::vector<rejected_index> rejected_indexes;  ///< of a full scan: for EXPLAIN
  bool ordered = false;                          ///< rows come in the order of ranges[0].index
  bool index_only = false;  ///< ranges[0].index has every column that is wanted: rows are not looked at
  key_order order = key_order::ascending;
  std::uint64_t limit = no_limit;  ///< with `ordered`: no more rows are needed
  bool with_row_ids = false;       ///< the last output is the row id (UPDATE, DELETE)
};

/// Rows that are already in memory: a file that FROM names.
struct file_scan_node : plan_node {
  file_scan_node() : plan_node(node_kind::loaded) {}
  std::shared_ptr<arrow::Table> rows;
  std::vector<int> columns;
  std::string what;
};

struct values_node : plan_node {
  values_node() : plan_node(node_kind::values) {}
  std::vector<std::vector<expr_ptr>> rows;
};

struct filter_node : plan_node {
  filter_node() : plan_node(node_kind::filter) {}
  std::vector<expr_ptr> conditions;
};

struct project_node : plan_node {
  project_node() : plan_node(node_kind::project) {}
  std::vector<expr_ptr> expressions;  ///< one for each output
};

struct aggregate_node : plan_node {
  aggregate_node() : plan_node(node_kind::aggregate) {}
  std::vector<expr_ptr> keys;  ///< the first outputs
  std::vector<aggregate_call> calls;
  bool in_order = false;  ///< rows of a group come together, out of an index
};

/// Aggregates without groups that an index answers without looking at rows.
struct index_aggregate_node : plan_node {
  index_aggregate_node() : plan_node(node_kind::index_aggregate) {}
  std::shared_ptr<const table_entry> table;
  std::string alias;
  index_range range;
  std::vector<aggregate_call> calls;
  std::vector<std::size_t> columns;  ///< of the table, for each call; of COUNT(*) not used
};

struct distinct_node : plan_node {
  distinct_node() : plan_node(node_kind::distinct) {}
  bool in_order = false;  ///< equal rows come together, out of an index
};

struct sort_key {
  expr_ptr value;
  bool descending = false;
  bool nulls_first = false;
};

struct sort_node : plan_node {
  sort_node() : plan_node(node_kind::sort) {}
  std::vector<sort_key> keys;
  std::uint64_t limit = no_limit;  ///< only the first rows are needed
};

struct limit_node : plan_node {
  limit_node() : plan_node(node_kind::limit) {}
  expr_ptr limit, offset;  ///< null: none
};

enum class join_type : std::uint8_t { inner, left, full, semi, anti };
enum class join_method : std::uint8_t { hash, index_lookup, index_merge, band_index, band_sort, loop };

struct join_node : plan_node {
  join_node() : plan_node(node_kind::join) {}
  join_type type = join_type::inner;
  std::vector<expr_ptr> conditions;                  ///< all of ON
  std::vector<std::pair<expr_ptr, expr_ptr>> equal;  ///< left = right
  std::vector<expr_ptr> residual;                    ///< what `equal` and the band do not say
  join_method method = join_method::hash;
  bool build_left = false;            ///< hash: the table is made of the left side
  std::optional<index_range> lookup;  ///< index_lookup and band_index: of the right side, which is a plain scan
  // A band: right.value between two expressions of the left side, or the mirror image.
  expr_ptr band_value, band_lo, band_hi;
  bool band_lo_inclusive = true, band_hi_inclusive = true;
  bool band_value_is_right = true;
  std::shared_ptr<const table_index> left_index, right_index;  ///< index_merge
};

/// For each row of the left side the nearest row of the right one: LEFT JOIN LATERAL (... ORDER BY ts DESC LIMIT 1).
struct as_of_node : plan_node {
  as_of_node() : plan_node(node_kind::as_of_join) {}
  bool keep_unmatched = true;                        ///< LEFT, else CROSS or inner
  std::vector<std::pair<expr_ptr, expr_ptr>> equal;  ///< left = right
  expr_ptr left_at, right_at;
  bool strict = false;
  bool earlier = true;
  std::vector<expr_ptr> tolerance;           ///< how far away the nearest row may be; if it is farther, there is none
  std::shared_ptr<const table_index> index;  ///< of the right side, a plain scan; null: sorted when run
};

struct append_node : plan_node {
  append_node() : plan_node(node_kind::union_all) {}
};

/// EXCEPT and INTERSECT of two inputs with the same types, column by column. NULLs are equal.
struct set_operation_node : plan_node {
  set_operation_node() : plan_node(node_kind::set_operation) {}
  bool intersect = false;  ///< else EXCEPT
  bool all = false;        ///< rows count as often as they are there
};

/// The input with a number for each row as the last output: different for each, without any other meaning.
struct numbered_node : plan_node {
  numbered_node() : plan_node(node_kind::numbered) {}
};

/// LIMIT and OFFSET within each group of rows with equal keys, in the order of the input. NULL keys are equal.
struct group_limit_node : plan_node {
  group_limit_node() : plan_node(node_kind::group_limit) {}
  std::vector<expr_ptr> keys;
  expr_ptr limit, offset;  ///< null: none
};

/// A query whose rows several places of a statement read: it is planned once and run once.
struct shared_plan {
  std::string name;
  plan_ptr body;
  bool planned = false;
};

/// The rows of a shared plan, under ids of its own: outputs[i] is the body's column columns[i]. The body is not an
/// input: what walks a plan would come to it once for each place, and to those below it more often with each step.
struct shared_node : plan_node {
  shared_node() : plan_node(node_kind::shared) {}
  std::shared_ptr<shared_plan> source;
  std::vector<column_id> columns;
};

}  // namespace espalier::engine
