#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "engine/error.hpp"
#include "engine/exec/executor.hpp"
#include "engine/expr/coerce.hpp"
#include "engine/sql/binder.hpp"
#include "engine/sql/declared_type.hpp"
#include "engine/sql/hints.hpp"
#include "engine/statements/coded_refusal.hpp"
#include "engine/statements/open_transaction.hpp"
#include "engine/statements/session.hpp"
#include "engine/stop.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {
namespace {

// A table with more deleted rows than live ones, and more than this, is compacted.
constexpr std::uint64_t deleted_rows_kept = 1 << 16;

std::vector<std::size_t> target_columns(const table_version& table, const std::vector<std::string>& names,
                                        int position) {
  std::vector<std::size_t> out;
  for (const auto& name : names) {
    const auto place = table.column_index(name);
    if (place == table.columns().size())
      throw_sql_error(codes::undefined_column, position, no_such_column(name, table));
    if (std::find(out.begin(), out.end(), place) != out.end()) {
      throw_sql_error(codes::duplicate_column, position, fmt::format("The column '{}' is named twice.", name));
    }
    out.push_back(place);
  }
  if (names.empty()) {
    out.resize(table.columns().size());
    std::iota(out.begin(), out.end(), 0);
  }
  return out;
}

// Returns the query with its columns cast to the table's types, and NULL for columns that are not given.
plan_ptr fitted(binder& binds, plan_ptr query, const table_entry& entry, const std::vector<std::size_t>& targets,
                std::size_t given, int position) {
  if (given > targets.size()) throw_sql_error(codes::syntax_error, position, "INSERT has more values than columns.");
  const auto& table = *entry.version;
  auto out = std::make_shared<project_node>();
  for (std::size_t i = 0; i < table.columns().size(); ++i) {
    const auto& column = table.columns()[i];
    const auto found = std::find(targets.begin(), targets.end(), i);
    const auto at = static_cast<std::size_t>(found - targets.begin());
    if (found == targets.end() || at >= given) {
      out->expressions.push_back(make_null(column.type));
    } else {
      const auto& source = query->outputs[at];
      out->expressions.push_back(stored(make_column(source.id, source.type, position), declared_type_of(entry, i)));
    }
    out->outputs.push_back({binds.new_column(), column.name, column.type});
  }
  out->inputs = {std::move(query)};
  return out;
}

std::vector<std::uint64_t> row_ids_of(const arrow::ChunkedArray& column) {
  std::vector<std::uint64_t> out;
  out.reserve(static_cast<std::size_t>(column.length()));
  for (const auto& chunk : column.chunks()) {
    const auto* values = static_cast<const arrow::Int64Array&>(*chunk).raw_values();
    for (std::int64_t i = 0; i < chunk->length(); ++i) out.push_back(static_cast<std::uint64_t>(values[i]));
  }
  return out;
}

// DEFAULT is NULL, since columns cannot have other defaults.
void replace_defaults(ast::select& select) {
  for (auto& row : select.values) {
    for (auto& value : row) {
      if (value->kind == ast::expression_kind::use_default) value->kind = ast::expression_kind::null_literal;
    }
  }
}

std::vector<std::uint64_t> ids_from(std::uint64_t first, std::uint64_t end) {
  std::vector<std::uint64_t> out(end - first);
  std::iota(out.begin(), out.end(), first);
  return out;
}

}  // namespace

void session::change(const table_entry& entry, std::shared_ptr<const table_version> version,
                     std::span<const std::uint64_t> erased, std::span<const std::uint64_t> inserted,
                     query_timings& timings) {
  auto changed = std::make_shared<table_entry>(entry);
  changed->version = std::move(version);
  const auto deleted = changed->version->rows() - changed->version->live_rows();
  if (deleted > deleted_rows_kept && deleted > changed->version->live_rows()) {
    changed->version = changed->version->compacted();
    for (auto& index : changed->indexes) index = table_index::build(changed->version, index->spec(), device_);
    auto ready = catalog::prepared(changed);
    keep(changed.get(), {}, index_files::gone, timings);
    tables_.put(std::move(ready));
    return;
  }
  std::vector<index_change> prepared;
  prepared.reserve(entry.indexes.size());
  std::vector<index_undo*> undo;
  for (const auto& index : entry.indexes) {
    prepared.push_back(index->prepare(changed->version, erased, inserted));
    if (transaction_) undo.push_back(&transaction_->undo_of(index));
  }
  auto ready = catalog::prepared(changed);
  keep(changed.get(), {}, index_files::behind, timings);
  const cancellation_scope to_the_end(nullptr);  // nothing can fail from here on
  for (std::size_t i = 0; i < prepared.size(); ++i) {
    if (undo.empty()) {
      entry.indexes[i]->commit(std::move(prepared[i]));
    } else {
      entry.indexes[i]->commit(std::move(prepared[i]), *undo[i]);
    }
  }
  tables_.put(std::move(ready));
}

void session::append(const table_entry& entry, const std::shared_ptr<arrow::Table>& rows, query_timings& timings) {
  if (rows->num_rows() == 0) return;
  auto version = entry.version->appended(rows);
  const auto inserted = ids_from(entry.version->rows(), version->rows());
  change(entry, std::move(version), {}, inserted, timings);
}

query_result session::run_insert(const ast::insert& insert, const progress& tell) {
  const auto entry = entry_of(insert.table);
  const auto targets = target_columns(*entry->version, insert.columns, insert.table.position);
  replace_defaults(*insert.query);
  query_result out;
  binder binds(tables_, tell, context());
  std::vector<declared_type> wanted;
  for (const auto place : targets) wanted.push_back(declared_type_of(*entry, place));
  auto query = binds.rows_for(*insert.query, wanted);
  if (binds.parameters() > 0) throw_sql_error(insert.table.position, "Only SELECT can have parameters ($1).");
  const std::size_t given = query->outputs.size();
  if (!insert.columns.empty() && given < targets.size())
    throw_sql_error(codes::syntax_error, insert.table.position, "INSERT has fewer values than columns.");
  const auto plan =
      optimized(fitted(binds, std::move(query), *entry, targets, given, insert.table.position), planning());
  std::shared_ptr<arrow::Table> rows;
  {
    const stopwatch watch(out.timings.run);
    rows = while_running([&] { return executor().table(*plan); });
  }
  out.tag = fmt::format("INSERT 0 {}", rows->num_rows());
  append(*entry, rows, out.timings);
  return out;
}

query_result session::run_update(const ast::update& update, const progress& tell) {
  const auto entry = entry_of(update.table);
  query_result out;
  binder binds(tables_, tell, context());
  scope names;
  const auto scan = binds.scan(update.table, update.alias, true, names);
  const auto row_id = scan->outputs.back();
  const auto& columns = entry->version->columns();
  auto project = std::make_shared<project_node>();
  project->expressions.push_back(make_column(row_id.id, row_id.type));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    project->expressions.push_back(make_column(scan->outputs[i].id, columns[i].type));
  }
  std::vector<std::string> assigned;
  for (const auto& target : update.assignments) {
    assigned.push_back(target.name);
    const auto place = target_columns(*entry->version, assigned, target.position).back();
    const bool is_default = target.value->kind == ast::expression_kind::use_default;
    auto value = is_default ? make_null(columns[place].type) : binds.expression(*target.value, names);
    if (any_node(value, [](const expr& e) { return e.kind == op::aggregate; })) {
      throw_sql_error(target.position, "SET does not take aggregates.");
    }
    project->expressions[place + 1] = stored(value, declared_type_of(*entry, place));
  }
  plan_ptr input = scan;
  if (update.where) input = binds.filtered(input, binds.condition(*update.where, names, "WHERE"));
  for (auto& e : project->expressions) e = binds.lifted(input, e);
  if (binds.parameters() > 0) throw_sql_error(update.table.position, "Only SELECT can have parameters ($1).");
  for (std::size_t i = 0; i < project->expressions.size(); ++i) {
    project->outputs.push_back(
        {binds.new_column(), i == 0 ? "row id" : columns[i - 1].name, project->expressions[i]->type});
  }
  project->inputs = {std::move(input)};
  const auto plan = optimized(project, planning());
  std::shared_ptr<arrow::Table> rows;
  {
    const stopwatch watch(out.timings.run);
    rows = while_running([&] { return executor().table(*plan); });
  }
  out.tag = fmt::format("UPDATE {}", rows->num_rows());
  if (rows->num_rows() == 0) return out;
  const auto erased = row_ids_of(*rows->column(0));
  const auto version = entry->version->appended(*rows->RemoveColumn(0))->erased(erased);
  const auto inserted = ids_from(entry->version->rows(), version->rows());
  change(*entry, version, erased, inserted, out.timings);
  return out;
}

query_result session::run_erase(const ast::erase& erase, const progress& tell) {
  const auto entry = entry_of(erase.table);
  query_result out;
  binder binds(tables_, tell, context());
  scope names;
  const auto scan = binds.scan(erase.table, erase.alias, true, names);
  const auto row_id = scan->outputs.back();
  plan_ptr input = scan;
  if (erase.where) input = binds.filtered(input, binds.condition(*erase.where, names, "WHERE"));
  if (binds.parameters() > 0) throw_sql_error(erase.table.position, "Only SELECT can have parameters ($1).");
  auto project = std::make_shared<project_node>();
  project->expressions = {make_column(row_id.id, row_id.type)};
  project->outputs = {row_id};
  project->inputs = {std::move(input)};
  const auto plan = optimized(project, planning());
  std::vector<std::uint64_t> erased;
  {
    const stopwatch watch(out.timings.run);
    erased = row_ids_of(*while_running([&] { return executor().table(*plan); })->column(0));
  }
  out.tag = fmt::format("DELETE {}", erased.size());
  if (!erased.empty()) change(*entry, entry->version->erased(erased), erased, {}, out.timings);
  return out;
}

}  // namespace espalier::engine
