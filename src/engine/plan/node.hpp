// node.hpp - the logical plan of a query, a tree of operators, to which the planner adds access paths and methods.
//
// Operators reference columns by id; `outputs` lists the columns that a node passes to its parent.
#pragma once

#include <arrow/type_fwd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/expr/expr.hpp"
#include "engine/index/table_index.hpp"
#include "engine/types.hpp"

namespace espalier::engine {

struct table_entry;

struct output_column {
  column_id id = 0;
  std::string name;
  column_type type;
  bool for_conditions = false;  ///< for a scan: read by its own conditions only, not by its parent
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
  window,
  window_join,
  key_filter,
  shared
};

/// The statistics of a node in EXPLAIN ANALYZE. Times include the nodes below it.
struct node_statistics {
  bool ran = false;
  std::uint64_t rows = 0;
  std::uint64_t bytes = 0;  ///< columns and row ids that the node wrote or read from its index
  double milliseconds = 0;
};

struct inner_joins;

struct plan_node {
  explicit plan_node(node_kind k) : kind(k) {}
  virtual ~plan_node() = default;
  node_kind kind;
  std::vector<std::shared_ptr<plan_node>> inputs;
  std::vector<output_column> outputs;
  double estimate = 0;  ///< estimated number of rows
  double cost = 0;      ///< including the nodes below it, in nanoseconds of the cost model
  node_statistics statistics;
  /// For the top of three or more inner joins with a condition that may fail: what they were planned from.
  std::shared_ptr<inner_joins> joins;
};
using plan_ptr = std::shared_ptr<plan_node>;

/// A condition that an index answers: values for its first columns and optionally a range of the next one. The
/// expressions are constants or, in joins, columns of the other side.
struct index_range {
  std::shared_ptr<const table_index> index;
  std::vector<expr_ptr> equal;
  key_condition condition = key_condition::anything;
  expr_ptr lo, hi;
  bool lo_inclusive = true;
  bool hi_inclusive = true;
  std::vector<expr_ptr> answers;  ///< conjuncts that need not be checked again
  std::uint64_t rows = 0;         ///< counted by the index during planning
};

/// An index that could have been used for a scan, at a higher cost.
struct rejected_index {
  std::string name;
  std::uint64_t rows = 0;  ///< rows in its range
  double cost = 0;
};

struct scan_node : plan_node {
  scan_node() : plan_node(node_kind::scan) {}
  std::shared_ptr<const table_entry> table;
  std::string alias;
  std::vector<std::size_t> columns;  ///< table column of each output
  std::vector<expr_ptr> conditions;  ///< conjunction
  // The access path: an empty list means a full scan, and several ranges are intersected.
  std::vector<index_range> ranges;
  std::vector<expr_ptr> residual;                ///< conditions that the ranges do not answer
  std::vector<rejected_index> rejected_indexes;  ///< filled for a full scan, for EXPLAIN
  bool ordered = false;                          ///< rows are in the order of ranges[0].index
  bool index_only = false;                       ///< ranges[0].index covers the scan, so the rows are not read
  key_order order = key_order::ascending;
  std::uint64_t limit = no_limit;  ///< maximum number of rows, used with `ordered`
  bool with_row_ids = false;       ///< the last output is the row id (UPDATE, DELETE)
};

/// Rows in memory, read from a file in FROM.
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
  std::vector<expr_ptr> expressions;  ///< one per output
};

struct aggregate_node : plan_node {
  aggregate_node() : plan_node(node_kind::aggregate) {}
  std::vector<expr_ptr> keys;  ///< the first outputs
  std::vector<aggregate_call> calls;
  bool in_order = false;  ///< the input is grouped already, by an index
};

/// Aggregates without GROUP BY that an index answers without reading rows.
struct index_aggregate_node : plan_node {
  index_aggregate_node() : plan_node(node_kind::index_aggregate) {}
  std::shared_ptr<const table_entry> table;
  std::string alias;
  index_range range;
  std::vector<aggregate_call> calls;
  std::vector<std::size_t> columns;  ///< table column of each call; unused for COUNT(*)
};

struct distinct_node : plan_node {
  distinct_node() : plan_node(node_kind::distinct) {}
  bool in_order = false;  ///< equal rows are adjacent already, by an index
};

struct sort_key {
  expr_ptr value;
  bool descending = false;
  bool nulls_first = false;
};

/// A window function. Its PARTITION BY and ORDER BY expressions are the first keys of the node.
struct window_call {
  std::string function;
  std::vector<expr_ptr> arguments;
  std::size_t partition_keys = 0;
  std::size_t order_keys = 0;
  window_frame frame;
  expr_ptr range_key;  ///< RANGE with an offset: the ORDER BY value in the type in which bounds are compared
  expr_ptr range_start, range_end;  ///< RANGE over timestamps: bounds of the frame; null where they have no offset
  column_id output = 0;
  column_type type;
  int position = -1;
};

/// Adds the results of window functions to the rows of its input, which keep their order. The rows are sorted once by
/// `keys`, of which every call uses a prefix.
struct window_node : plan_node {
  window_node() : plan_node(node_kind::window) {}
  std::vector<sort_key> keys;
  std::vector<window_call> calls;
};

struct sort_node : plan_node {
  sort_node() : plan_node(node_kind::sort) {}
  std::vector<sort_key> keys;
  std::uint64_t limit = no_limit;  ///< maximum number of rows
};

struct limit_node : plan_node {
  limit_node() : plan_node(node_kind::limit) {}
  expr_ptr limit, offset;  ///< null if absent
};

enum class join_type : std::uint8_t { inner, left, full, semi, anti };
enum class join_method : std::uint8_t { hash, index_lookup, index_merge, band_index, band_sort, overlap, loop };

/// right_start < left_finish AND left_start < right_finish, or with <=: spans that overlap, or the left one within the
/// right one, if the ends of a side are swapped.
struct overlap_condition {
  enum role : std::uint8_t { left_start, left_finish, right_start, right_finish };
  std::array<expr_ptr, 4> ends;   ///< by role
  std::array<role, 4> order{};    ///< in which the statement has them
  bool start_inclusive = false;   ///< right_start <= left_finish
  bool finish_inclusive = false;  ///< left_start <= right_finish
};

/// The keys of the left rows of a join, by which a key_filter_node below its right side selects rows.
struct key_filter_link {
  column_id filter = 0;
  std::vector<expr_ptr> keys;
};

struct join_node : plan_node {
  join_node() : plan_node(node_kind::join) {}
  join_type type = join_type::inner;
  std::vector<expr_ptr> conditions;                  ///< all conjuncts of ON
  std::vector<std::pair<expr_ptr, expr_ptr>> equal;  ///< left = right
  std::vector<expr_ptr> residual;                    ///< conditions that `equal` and the band do not cover
  join_method method = join_method::hash;
  bool build_left = false;            ///< for a hash join: build on the left side
  std::optional<index_range> lookup;  ///< index_lookup and band_index: range of the right side, a plain scan
  // The band: right.value is between two expressions of the left side, or the mirror image.
  expr_ptr band_value, band_lo, band_hi;
  bool band_lo_inclusive = true, band_hi_inclusive = true;
  bool band_value_is_right = true;
  std::optional<overlap_condition> overlap;
  std::shared_ptr<const table_index> left_index, right_index;  ///< index_merge
  std::vector<key_filter_link> filters;  ///< if not empty, the left side is executed first, whatever the method
};

/// Joins each row of the left side with the nearest row of the right side: LEFT JOIN LATERAL (... ORDER BY ts DESC
/// LIMIT 1).
struct as_of_node : plan_node {
  as_of_node() : plan_node(node_kind::as_of_join) {}
  bool keep_unmatched = true;                        ///< LEFT JOIN if true, otherwise CROSS or inner
  std::vector<std::pair<expr_ptr, expr_ptr>> equal;  ///< left = right
  expr_ptr left_at, right_at;
  bool strict = false;
  bool earlier = true;
  /// The nearest row on either side, and of two at the same distance the earlier one: what the statement orders by, of
  /// both sides. `earlier` and `strict` are unused then. Null: the nearest row on one side.
  expr_ptr distance;
  std::vector<sort_key> ties;                ///< which of several nearest rows: the first one in this order
  std::vector<expr_ptr> tolerance;           ///< maximum distance of the nearest row; a more distant row is not joined
  std::vector<expr_ptr> conditions;          ///< all of the above as written: they say which expressions may fail
  std::optional<column_id> mark;             ///< a smallint output that is NULL only where no row was found
  std::shared_ptr<const table_index> index;  ///< index of the right side, a plain scan; null: sort at execution
};

/// Adds aggregates over the right rows in a window of each left row, one row per left row: LEFT JOIN LATERAL (SELECT
/// count(*), sum(x) FROM b WHERE b.k = a.k AND b.ts BETWEEN a.ts - interval '1 second' AND a.ts). No pairs are made.
struct window_join_node : plan_node {
  window_join_node() : plan_node(node_kind::window_join) {}
  std::vector<std::pair<expr_ptr, expr_ptr>> equal;  ///< left = right
  expr_ptr at;                                       ///< of the right side; not varchar
  /// Not null: the right rows are spans that start at `at`, and a window has those that overlap it: they start at or
  /// before `hi`, and finish at or behind `lo`.
  expr_ptr finish;
  expr_ptr lo, hi;  ///< of the left side; null: no such bound
  bool lo_inclusive = true, hi_inclusive = true;
  std::vector<aggregate_call> calls;         ///< over the right side: count, sum, avg, min and max
  std::vector<expr_ptr> conditions;          ///< equalities and bounds as written: they say which expressions may fail
  std::shared_ptr<const table_index> index;  ///< index of the right side, a plain scan; null: sort at execution
};

struct append_node : plan_node {
  append_node() : plan_node(node_kind::union_all) {}
};

/// EXCEPT and INTERSECT of two inputs with the same column types. NULLs compare as equal.
struct set_operation_node : plan_node {
  set_operation_node() : plan_node(node_kind::set_operation) {}
  bool intersect = false;  ///< INTERSECT if true, otherwise EXCEPT
  bool all = false;        ///< keep duplicates (ALL)
};

/// Adds a row number as the last output. It is unique and has no other meaning.
struct numbered_node : plan_node {
  numbered_node() : plan_node(node_kind::numbered) {}
};

/// Keeps the rows whose keys are those of a left row of the join that has a link to this filter. It stands in
/// subqueries that are computed per key for all outer rows, below expressions that may fail: they are evaluated for
/// rows that an outer row meets.
struct key_filter_node : plan_node {
  key_filter_node() : plan_node(node_kind::key_filter) {}
  column_id number = 0;  ///< unique in the statement
  std::vector<expr_ptr> keys;
};

/// LIMIT and OFFSET per group of rows with equal keys, in the order of the input. NULL keys compare as equal.
struct group_limit_node : plan_node {
  group_limit_node() : plan_node(node_kind::group_limit) {}
  std::vector<expr_ptr> keys;
  expr_ptr limit, offset;  ///< null if absent
  /// A boolean column of the input. A group none of whose rows is within LIMIT and OFFSET keeps its first row, with
  /// NULL there: the groups are rows of the left side of an outer join, which has to return them.
  std::optional<column_id> mark;
};

/// A query that several places of a statement reference; it is planned once and executed once.
struct shared_plan {
  std::string name;
  plan_ptr body;
  bool planned = false;
};

/// References a shared plan, with its own column ids: outputs[i] is the body's column columns[i]. The body is not an
/// input, since a traversal would then visit it once per reference, and nested shared plans exponentially often.
struct shared_node : plan_node {
  shared_node() : plan_node(node_kind::shared) {}
  std::shared_ptr<shared_plan> source;
  std::vector<column_id> columns;
};

}  // namespace espalier::engine
