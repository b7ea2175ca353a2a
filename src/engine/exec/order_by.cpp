#include <arrow/array.h>
#include <arrow/chunked_array.h>

#include <algorithm>
#include <limits>
#include <set>

#include "engine/catalog.hpp"
#include "engine/exec/executor.hpp"
#include "engine/keys/sort.hpp"
#include "engine/keys/text_order.hpp"
#include "engine/keys/top_k.hpp"
#include "engine/memory_budget.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {
namespace {

constexpr std::uint64_t worth_choosing = 1 << 12;  // below this, a full sort is faster than a selection
constexpr std::uint64_t most_of_a_batch = batch_rows / 8;
constexpr column_id row_id_output = std::numeric_limits<column_id>::max();

std::vector<std::int64_t> sorted_by(const sort_node& n, const relation& keys) {
  const auto& first = *keys.columns[0];
  if (n.keys.size() == 1 && first.type()->id() == arrow::Type::STRING && !has_few_texts(first)) {
    auto order = rows_in_text_order(first, {n.keys[0].descending, n.keys[0].nulls_first});
    order.resize(static_cast<std::size_t>(std::min<std::uint64_t>(n.limit, order.size())));
    return order;
  }
  std::vector<sort_column> columns;
  for (std::size_t i = 0; i < n.keys.size(); ++i) {
    columns.push_back({ordered_codes(*keys.columns[i]), n.keys[i].descending, n.keys[i].nulls_first});
  }
  return sorted_rows(columns, static_cast<std::size_t>(keys.rows), n.limit);
}

// Returns the scan that a top-k sort reads, if it has conditions. A plain scan would copy columns of rows that are not
// in the result.
scan_node* filtered_scan(const sort_node& n, plan_node& below) {
  if (below.kind != node_kind::scan || n.limit == 0 || n.limit >= most_of_a_batch) return nullptr;
  auto& scan = static_cast<scan_node&>(below);
  const bool plain = scan.ranges.empty() && !scan.ordered && !scan.with_row_ids && !scan.conditions.empty();
  return plain && scan.table->version->rows() >= worth_choosing ? &scan : nullptr;
}

// Rewrites an expression over a projection to the columns that the projection reads.
expr_ptr beneath(const expr_ptr& e, const project_node* project) {
  if (project == nullptr) return e;
  return rewrite(e, [&](const expr_ptr& part) -> expr_ptr {
    if (part->kind != op::column) return nullptr;
    for (std::size_t i = 0; i < project->outputs.size(); ++i) {
      if (project->outputs[i].id == part->column) return project->expressions[i];
    }
    return nullptr;
  });
}

// Returns the scan with row ids, and with only the columns of `wanted` and those that its conditions read.
scan_node narrowed(const scan_node& scan, const std::set<column_id>& wanted) {
  std::set<column_id> read;
  for (const auto& condition : scan.conditions) collect_columns(condition, read);
  scan_node out = scan;
  out.outputs.clear();
  out.columns.clear();
  for (std::size_t i = 0; i < scan.columns.size(); ++i) {
    auto output = scan.outputs[i];
    output.for_conditions = !wanted.contains(output.id);
    if (output.for_conditions && !read.contains(output.id)) continue;
    out.outputs.push_back(std::move(output));
    out.columns.push_back(scan.columns[i]);
  }
  out.outputs.push_back({row_id_output, "row", {type_id::int64}});
  out.with_row_ids = true;
  return out;
}

std::vector<std::uint64_t> ids_at(const relation& rows, const std::vector<std::int64_t>& places) {
  relation ids;
  ids.rows = rows.rows;
  ids.add(row_id_output, rows.column(row_id_output));
  const auto taken = flat(take_rows(ids, places).columns[0]);
  const auto* values = static_cast<const arrow::Int64Array&>(*taken).raw_values();
  return {values, values + taken->length()};
}

}  // namespace

// Returns the positions of the rows in order, all of them or as many as the limit requires.
std::vector<std::int64_t> executor::first_rows(const sort_node& n, const relation& keys) const {
  const auto rows = static_cast<std::uint64_t>(keys.rows);
  const bool chosen = n.limit > 0 && n.limit < std::min(rows / 64, most_of_a_batch) && rows >= worth_choosing;
  if (!chosen) return sorted_by(n, keys);
  const auto& first = n.keys[0];
  const auto candidates =
      top_row_candidates(*keys.columns[0], {first.descending, first.nulls_first, n.keys.size() == 1, n.limit});
  auto best = sorted_by(n, take_rows(keys, candidates));
  for (auto& row : best) row = candidates[static_cast<std::size_t>(row)];
  return best;
}

relation executor::sort(sort_node& n) {
  plan_node* below = n.inputs[0].get();
  auto* project = below->kind == node_kind::project ? static_cast<project_node*>(below) : nullptr;
  if (project != nullptr) below = project->inputs[0].get();
  if (auto* scan = filtered_scan(n, *below)) return top_of_scan(n, *scan, project);
  const auto input = node(*n.inputs[0]);
  const memory_claim claim(static_cast<std::size_t>(input.rows) * 16 * (n.keys.size() + 1));  // keys and order
  relation keys;
  keys.rows = input.rows;
  for (std::size_t i = 0; i < n.keys.size(); ++i) {
    keys.add(static_cast<column_id>(i), values_.column(n.keys[i].value, input));
  }
  return take_rows(input, first_rows(n, keys));
}

// Reads the columns of conditions and keys first; other columns and the projection are computed for the remaining rows
// only.
relation executor::top_of_scan(sort_node& n, scan_node& scan, project_node* project) {
  std::vector<expr_ptr> values;
  std::set<column_id> wanted;
  for (const auto& key : n.keys) {
    values.push_back(beneath(key.value, project));
    collect_columns(values.back(), wanted);
  }
  auto narrow = narrowed(scan, wanted);
  const auto passing = node(narrow);
  scan.statistics = narrow.statistics;
  relation keys;
  keys.rows = passing.rows;
  for (std::size_t i = 0; i < values.size(); ++i) {
    keys.add(static_cast<column_id>(i), values_.column(values[i], passing));
  }
  const auto best = first_rows(n, keys);
  auto out = fetched(scan, ids_at(passing, best));
  if (project == nullptr) return out;
  project->statistics.ran = true;
  project->statistics.rows += static_cast<std::uint64_t>(out.rows);
  return projected(*project, out);
}

}  // namespace espalier::engine
