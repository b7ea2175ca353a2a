// executor.hpp - executes a plan operator by operator. Each operator processes its whole input; joins produce rows in
// pieces.
//
// scan.cpp, order_by.cpp, window.cpp, join.cpp, as_of_join.cpp, stream.cpp and operators.cpp implement the operators,
// one function per kind of node.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "engine/exec/piecewise_aggregate.hpp"
#include "engine/exec/pipeline.hpp"
#include "engine/expr/evaluate.hpp"
#include "engine/expr/relation.hpp"
#include "engine/keys/groups.hpp"
#include "engine/plan/node.hpp"

namespace espalier::engine {

/// Consumes the rows of a node piece by piece. Returns false if no more rows are needed.
using row_sink = std::function<bool(relation)>;

class executor {
 public:
  explicit executor(std::vector<std::shared_ptr<arrow::Scalar>> parameters = {}) {
    values_.parameters = std::move(parameters);
  }

  /// Runs the subqueries, then the plan, and sets the statistics of all nodes. Columns are in the order of the plan's
  /// outputs. If a condition of inner joins fails, they are planned again (plan/join_order.hpp), since the failure
  /// counts only for rows that no other condition excludes.
  [[nodiscard]] relation run(plan_node& plan);
  /// Returns the result as a table with the names and types of the outputs.
  [[nodiscard]] std::shared_ptr<arrow::Table> table(plan_node& plan);

 private:
  relation run_once(plan_node& plan);
  relation node(plan_node& n);
  relation dispatch(plan_node& n);

  // stream.cpp
  // Passes the rows of a join, and of filters and projections above it, to `take` in pieces; other nodes produce one
  // piece. There is at least one piece, which may be empty.
  void stream(plan_node& n, const row_sink& take);
  relation collected(plan_node& n);

  // pipeline.cpp
  // Returns the pipeline that ends with this node, with the hash tables of its joins built, or nothing if it does not
  // start with a large full scan.
  std::optional<scan_pipeline> pipeline_of(plan_node& top);
  void run_block(const scan_pipeline& pipeline, std::size_t block, std::vector<node_statistics>& told,
                 const row_sink& take) const;
  void run_stages(const scan_pipeline& pipeline, std::size_t next, const relation& rows,
                  std::vector<node_statistics>& told, const row_sink& take) const;
  void probe(const pipeline_stage& stage, const relation& rows, const row_sink& take) const;
  relation collected_blocks(const scan_pipeline& pipeline) const;
  /// Builds the hash table of a join stage. `built` are the rows of the side that is not streamed.
  void build_table(pipeline_stage& stage, relation built) const;

  // reduced_aggregate.cpp
  // Returns the right side of the join, an aggregation, restricted to the groups that occur in the left side.
  relation reduced_aggregate(const join_node& join, const relation& asking);

  // scan.cpp
  relation scan(scan_node& n);
  static scan_source source_of(scan_node& n);
  relation full_scan(scan_node& n);
  relation index_scan(scan_node& n);
  relation ordered_scan(scan_node& n);
  relation fetched(scan_node& n, const std::vector<std::uint64_t>& rows);
  relation fetched_columns(scan_node& n, const std::vector<std::size_t>& places,
                           const std::vector<std::uint64_t>& rows);
  relation wanted_columns(scan_node& n, const std::vector<std::uint64_t>& rows);
  relation found_rows(scan_node& n, const range_batch& ranges, const row_options& options);
  relation index_aggregate(index_aggregate_node& n);

  // operators.cpp
  relation loaded(const file_scan_node& n);
  relation values(const values_node& n);
  [[nodiscard]] relation projected(const project_node& n, const relation& input) const;
  /// `reducer` is a semi join that filters the input first; it is consumed.
  relation aggregate(aggregate_node& n, pipeline_stage* reducer = nullptr);
  [[nodiscard]] relation aggregated(const aggregate_node& n, const relation& input) const;
  relation aggregated_pieces(aggregate_node& n);
  /// Adds a partial result and combines the partial results when they take too much memory.
  void add_answer(answer_list& to, relation answer) const;
  [[nodiscard]] relation combined(const answer_list& answers) const;
  void aggregate_each_block(const scan_pipeline& pipeline, std::size_t block, const aggregate_node& piece_node,
                            block_rows& out, std::vector<node_statistics>& told) const;
  void collect_block(const scan_pipeline& pipeline, std::size_t block, const aggregate_node& piece_node,
                     block_rows& out, std::vector<node_statistics>& told) const;
  /// Returns nothing if groups rarely repeat within a block and the pipeline has no join; aggregating all rows at once
  /// is cheaper then.
  std::optional<relation> aggregated_blocks(aggregate_node& n, const scan_pipeline& pipeline);
  relation distinct(distinct_node& n);
  relation limit(limit_node& n);
  relation unite(append_node& n);
  relation numbered(numbered_node& n);
  relation set_operation(set_operation_node& n);
  relation group_limit(group_limit_node& n);
  relation shared(shared_node& n);
  std::uint64_t row_count(const expr_ptr& e, const char* clause) const;

  // order_by.cpp
  relation sort(sort_node& n);
  [[nodiscard]] std::vector<std::int64_t> first_rows(const sort_node& n, const relation& keys) const;
  relation top_of_scan(sort_node& n, scan_node& scan, project_node* project);

  // window.cpp
  relation window(window_node& n);

  // join.cpp
  void join(join_node& n, const row_sink& take);
  void hash_join(join_node& n, const row_sink& take);
  [[nodiscard]] bool hash_join_rows(join_node& n, const relation& left, const relation& right, const row_sink& take);
  void loop_join(join_node& n, const row_sink& take);
  void lookup_join(join_node& n, const row_sink& take);
  void merge_join(join_node& n, const row_sink& take);
  void band_join(join_node& n, const row_sink& take);
  void overlap_join(join_node& n, const row_sink& take);
  relation as_of_join(as_of_node& n);
  /// Returns the left side, and keeps its keys for the filters below the right side.
  relation left_of(join_node& n);
  relation key_filter(key_filter_node& n);

  // window_join.cpp
  relation window_join(window_join_node& n);

  evaluation values_;
  std::map<const shared_plan*, relation> shared_;                      ///< results of those that were executed
  std::map<column_id, std::shared_ptr<const key_table>> filter_keys_;  ///< keys of the left rows, by key_filter_node
};

/// Returns whether stream() passes on the rows of this node in several pieces. Otherwise they are one piece in memory.
[[nodiscard]] bool comes_in_pieces(const plan_node& n);
/// Returns whether the right side is an aggregation over many more rows than the left side has, grouped by the join
/// keys.
[[nodiscard]] bool reduces_aggregate(const join_node& join);
/// Selects and orders columns as in `outputs`.
[[nodiscard]] relation with_outputs(relation r, const std::vector<output_column>& outputs);

}  // namespace espalier::engine
