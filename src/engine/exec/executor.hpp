// executor.hpp - runs a plan, operator by operator, each over all of its input; rows of joins come in pieces.
//
// scan.cpp, order_by.cpp, join.cpp, as_of_join.cpp, stream.cpp and operators.cpp hold the operators, one function for
// each kind of node.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "engine/exec/evaluate.hpp"
#include "engine/exec/piecewise_aggregate.hpp"
#include "engine/exec/pipeline.hpp"
#include "engine/exec/relation.hpp"
#include "engine/plan/node.hpp"

namespace espalier::engine {

/// Takes rows of a node, piece by piece; answers false where no more are wanted.
using row_sink = std::function<bool(relation)>;

class executor {
 public:
  explicit executor(std::vector<std::shared_ptr<arrow::Scalar>> parameters = {}) {
    values_.parameters = std::move(parameters);
  }

  /// Runs subqueries, then the plan; fills statistics of all nodes. Columns are in the order of the plan's outputs.
  [[nodiscard]] relation run(plan_node& plan);
  /// The same as a table with the outputs' names and types.
  [[nodiscard]] std::shared_ptr<arrow::Table> table(plan_node& plan);

 private:
  relation node(plan_node& n);
  relation dispatch(plan_node& n);

  // stream.cpp
  /// Hands the rows of a join, and of filters and projections over it, to `take` in pieces, those of other nodes as one
  /// piece; at least one piece, maybe without rows.
  void stream(plan_node& n, const row_sink& take);
  relation collected(plan_node& n);

  // pipeline.cpp
  /// The pipeline that ends with this node, with the tables of its joins made; none where it does not begin with a
  /// large full scan.
  std::optional<scan_pipeline> pipeline_of(plan_node& top);
  void run_block(const scan_pipeline& pipeline, std::size_t block, std::vector<node_statistics>& told,
                 const row_sink& take) const;
  void run_stages(const scan_pipeline& pipeline, std::size_t next, const relation& rows,
                  std::vector<node_statistics>& told, const row_sink& take) const;
  void probe(const pipeline_stage& stage, const relation& rows, const row_sink& take) const;
  relation collected_blocks(const scan_pipeline& pipeline) const;
  /// Of a stage that is a join: `built` are the rows of the side that is not streamed.
  void build_table(pipeline_stage& stage, relation built) const;

  // reduced_aggregate.cpp
  /// The join's right side, an aggregation: groups that rows of the left side ask for.
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
  /// `reducer`: a semi join of which the input has to pass first; it is used up.
  relation aggregate(aggregate_node& n, pipeline_stage* reducer = nullptr);
  [[nodiscard]] relation aggregated(const aggregate_node& n, const relation& input) const;
  relation aggregated_pieces(aggregate_node& n);
  /// Combines the answers where it is time to.
  void add_answer(answer_list& to, relation answer) const;
  [[nodiscard]] relation combined(const answer_list& answers) const;
  void aggregate_each_block(const scan_pipeline& pipeline, std::size_t block, const aggregate_node& piece_node,
                            block_rows& out, std::vector<node_statistics>& told) const;
  void collect_block(const scan_pipeline& pipeline, std::size_t block, const aggregate_node& piece_node,
                     block_rows& out, std::vector<node_statistics>& told) const;
  /// Nothing where groups hardly repeat within a block and the pipeline has no join: then all rows at once are cheaper.
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

  // join.cpp
  void join(join_node& n, const row_sink& take);
  void hash_join(join_node& n, const row_sink& take);
  [[nodiscard]] bool hash_join_rows(join_node& n, const relation& left, const relation& right, const row_sink& take);
  void loop_join(join_node& n, const row_sink& take);
  void lookup_join(join_node& n, const row_sink& take);
  void merge_join(join_node& n, const row_sink& take);
  void band_join(join_node& n, const row_sink& take);
  relation as_of_join(as_of_node& n);

  evaluation values_;
  std::map<const shared_plan*, relation> shared_;  ///< rows of those that have run
};

/// Does stream() hand on the rows of this node in several pieces? Else in one, which is in memory as a whole.
[[nodiscard]] bool comes_in_pieces(const plan_node& n);
/// Is the right side an aggregation over many more rows than the left side has, whose groups the join's keys name?
[[nodiscard]] bool reduces_aggregate(const join_node& join);
/// Narrows and orders columns as a node's outputs are.
[[nodiscard]] relation with_outputs(relation r, const std::vector<output_column>& outputs);

}  // namespace espalier::engine
