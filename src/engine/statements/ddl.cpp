#include <arrow/table.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include <algorithm>

#include "engine/error.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/sql/declared_type.hpp"
#include "engine/sql/hints.hpp"
#include "engine/statements/coded_refusal.hpp"
#include "engine/statements/session.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {
namespace {

std::size_t column_place(const table_version& table, const std::string& name, int position) {
  const auto place = table.column_index(name);
  if (place == table.columns().size()) throw_sql_error(codes::undefined_column, position, no_such_column(name, table));
  return place;
}

index_kind kind_of(const std::string& method, int position) {
  // PostgreSQL's parser sets btree if USING is omitted.
  if (method.empty() || method == "btree" || method == "auto") return index_kind::automatic;
  for (const auto kind : {index_kind::static_tree, index_kind::blink, index_kind::radix, index_kind::hybrid}) {
    if (method == to_string(kind)) return kind;
  }
  throw_sql_error(
      position,
      fmt::format("There is no index of the kind '{}'; USING takes static, blink, radix, hybrid and auto.", method));
}

column column_of(const ast::column_definition& definition) {
  return {definition.name, declared(definition.type).type, !(definition.not_null || definition.primary_key)};
}

std::string free_index_name(const catalog& tables, const std::vector<index_spec>& more, const std::string& wanted) {
  const auto taken = [&](const std::string& name) {
    return tables.has_index(name) ||
           std::any_of(more.begin(), more.end(), [&](const index_spec& spec) { return spec.name == name; });
  };
  std::string name = wanted;
  for (int i = 1; taken(name); ++i) name = wanted + std::to_string(i);
  return name;
}

// PRIMARY KEY and UNIQUE create unique indexes with PostgreSQL's names.
std::vector<index_spec> constraint_indexes(const ast::create_table& create, std::vector<column>& columns,
                                           const catalog& tables, std::vector<key_constraint>& constraints) {
  std::vector<index_spec> out;
  const auto place_of = [&](const std::string& name, int position) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].name == name) return i;
    }
    throw_sql_error(codes::undefined_column, position, fmt::format("The table has no column '{}'.", name));
  };
  const auto add = [&](const std::vector<std::string>& names, bool primary, const std::string& given, int position) {
    index_spec spec;
    std::string joined;
    for (const auto& name : names) {
      spec.columns.push_back(place_of(name, position));
      joined += "_" + name;
      if (primary) columns[spec.columns.back()].nullable = false;
    }
    spec.unique = true;
    const auto wanted = given.empty() ? create.table.name + (primary ? "_pkey" : joined + "_key") : given;
    spec.name = free_index_name(tables, out, wanted);
    if (!given.empty() && spec.name != given) {
      throw_sql_error(codes::duplicate_object, position,
                      fmt::format("The name '{}' of the constraint is that of an index already.", given));
    }
    constraints.push_back({spec.name, primary});
    out.push_back(std::move(spec));
  };
  int primaries = 0;
  for (const auto& definition : create.columns) {
    primaries += definition.primary_key ? 1 : 0;
    if (definition.primary_key || definition.unique)
      add({definition.name}, definition.primary_key, definition.key_name, definition.position);
  }
  for (const auto& key : create.keys) {
    primaries += key.primary ? 1 : 0;
    add(key.columns, key.primary, key.name, key.position);
  }
  if (primaries > 1)
    throw_sql_error(codes::invalid_table_definition, create.table.position, "A table can have one primary key only.");
  return out;
}

void refuse_key_index(const table_entry& table, const std::string& index) {
  const auto found = std::ranges::find(table.constraints, index, &key_constraint::index);
  if (found == table.constraints.end()) return;
  throw_sql_error(
      codes::dependent_objects, -1,
      fmt::format("The index '{0}' enforces the {1} constraint of the table '{2}' and cannot be dropped; for a table "
                  "without the constraint, copy the rows: CREATE TABLE ... AS SELECT * FROM {2}.",
                  index, found->primary ? "PRIMARY KEY" : "UNIQUE", table.name));
}

}  // namespace

query_result session::run_create_table(const ast::create_table& create) {
  query_result out;
  out.tag = "CREATE TABLE";
  if (tables_.find(create.table.name)) {
    if (create.if_not_exists) return out;
    throw_sql_error(codes::duplicate_table, create.table.position,
                    fmt::format("There is a table '{}' already.", create.table.name));
  }
  std::vector<column> columns;
  auto entry = std::make_shared<table_entry>();
  for (const auto& definition : create.columns) {
    columns.push_back(column_of(definition));
    entry->declarations.push_back(declared(definition.type).declaration);
  }
  if (columns.empty()) throw_sql_error(create.table.position, "A table needs at least one column.");
  entry->name = create.table.name;
  const auto specs = constraint_indexes(create, columns, tables_, entry->constraints);
  entry->version = table_version::empty(std::move(columns));
  for (const auto& spec : specs) entry->indexes.push_back(table_index::build(entry->version, spec, device_));
  auto ready = catalog::prepared(entry);
  keep(entry.get(), {}, index_files::gone, out.timings);
  tables_.put(std::move(ready));
  return out;
}

query_result session::run_create_table_as(const ast::create_table_as& create, const progress& tell) {
  query_result out;
  if (tables_.find(create.table.name)) {
    out.tag = "CREATE TABLE AS";
    if (create.if_not_exists) return out;
    throw_sql_error(codes::duplicate_table, create.table.position,
                    fmt::format("There is a table '{}' already.", create.table.name));
  }
  auto rows = rows_of(*create.query, tell, out.timings);
  if (!create.columns.empty()) {
    auto names = rows->ColumnNames();
    if (create.columns.size() > names.size())
      throw_sql_error(create.table.position, "More names than columns are given.");
    std::copy(create.columns.begin(), create.columns.end(), names.begin());
    rows = value_of(rows->RenameColumns(names));
  }
  auto entry = std::make_shared<table_entry>();
  entry->name = create.table.name;
  try {
    entry->version = table_version::from(rows);
  } catch (const located_error&) {
    throw;
  } catch (const engine_error&) {
    throw;
  } catch (const error& problem) {
    throw_sql_error(create.table.position, problem.what());
  }
  auto ready = catalog::prepared(entry);
  out.tag = fmt::format("SELECT {}", rows->num_rows());
  keep(entry.get(), {}, index_files::gone, out.timings);
  tables_.put(std::move(ready));
  return out;
}

query_result session::run_create_index(const ast::create_index& create, const progress& tell) {
  query_result out;
  out.tag = "CREATE INDEX";
  const auto entry = entry_of(create.table);
  index_spec spec;
  spec.name = create.name;
  if (spec.name.empty()) {
    std::string wanted = create.table.name;
    for (const auto& name : create.columns) wanted += "_" + name;
    spec.name = free_index_name(tables_, {}, wanted + "_idx");
  }
  if (tables_.has_index(spec.name)) {
    if (create.if_not_exists) return out;
    throw_sql_error(codes::duplicate_object, create.table.position,
                    fmt::format("There is an index '{}' already.", spec.name));
  }
  for (const auto& name : create.columns)
    spec.columns.push_back(column_place(*entry->version, name, create.table.position));
  for (const auto& name : create.included)
    spec.included.push_back(column_place(*entry->version, name, create.table.position));
  spec.unique = create.unique;
  spec.kind = kind_of(create.method, create.table.position);
  auto changed = std::make_shared<table_entry>(*entry);
  {
    const stopwatch watch(out.timings.run);
    const auto told = [&](double done) {
      if (tell) tell("building the index " + spec.name, static_cast<std::uint64_t>(done * 1000), 1000);
    };
    changed->indexes.push_back(table_index::build(entry->version, spec, device_, told));
  }
  auto ready = catalog::prepared(changed);
  keep(changed.get(), {}, index_files::current, out.timings);
  tables_.put(std::move(ready));
  return out;
}

query_result session::run_drop(const ast::drop& drop) {
  query_result out;
  out.tag = drop.index ? "DROP INDEX" : "DROP TABLE";
  std::vector<std::string> names;
  for (const auto& name : drop.names) {
    const bool found = drop.index ? tables_.has_index(name) : tables_.contains(name);
    if (found) names.push_back(name);
    if (found || drop.if_exists) continue;
    if (drop.index) throw_sql_error(codes::undefined_object, -1, no_such_index(name, tables_));
    throw_sql_error(codes::undefined_table, -1, no_such_table(name, tables_));
  }
  if (!drop.index) {
    keep(nullptr, names, index_files::current, out.timings);
    for (const auto& name : names) tables_.remove(name);
    return out;
  }
  if (names.empty()) return out;
  auto changed = std::make_shared<table_entry>(*tables_.table_of_index(names[0]));
  for (const auto& name : names) {
    if (tables_.table_of_index(name)->name != changed->name) {
      throw_sql_error(-1, "DROP INDEX takes indexes of one table at a time.");
    }
    refuse_key_index(*changed, name);
    std::erase_if(changed->indexes, [&](const auto& index) { return index->spec().name == name; });
  }
  auto ready = catalog::prepared(changed);
  keep(changed.get(), {}, index_files::current, out.timings);
  for (const auto& name : names) index_file_versions_.erase(name);
  tables_.put(std::move(ready));
  return out;
}

// The planner uses indexes and samples instead of stored statistics, so ANALYZE only checks that the table exists.
query_result session::run_analyze(const ast::analyze& analyze) {
  for (const auto& table : analyze.tables) (void)entry_of(table);
  query_result out;
  out.tag = "ANALYZE";
  return out;
}

}  // namespace espalier::engine
