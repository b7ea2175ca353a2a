#include "engine/catalog.hpp"

#include <algorithm>

#include "engine/store/table_files.hpp"
#include "espalier/engine/engine_error.hpp"

namespace espalier::engine {

declared_type declared_type_of(const table_entry& table, std::size_t column) {
  const bool known = column < table.declarations.size();
  return {table.version->columns()[column].type, known ? table.declarations[column] : column_declaration{}};
}

std::string sql_name(const declared_type& type) {
  const auto [rule, length] = type.declaration;
  if (rule == column_rule::numeric) return "numeric";
  if (rule == column_rule::none) return sql_name(type.type);
  return (rule == column_rule::fixed ? "char(" : "varchar(") + std::to_string(length) + ")";
}

bool catalog::slot::has_index(std::string_view name) const {
  if (!entry) return std::ranges::find(indexes, name) != indexes.end();
  return std::ranges::any_of(entry->indexes, [&](const auto& index) { return index->spec().name == name; });
}

catalog::entry_ptr catalog::slot::read_entry() {
  if (!problem.empty()) throw engine_error(problem, codes::data_corrupted);
  try {
    if (!entry) entry = read();
    if (entry->files) entry->files->require_whole();
  } catch (const engine_error& e) {
    if (e.kind() == error_kind::damaged) problem = e.what();  // other failures may be temporary
    throw;
  }
  file_use_scope::add(entry->files);
  return entry;
}

catalog::entry_ptr catalog::find(std::string_view name) const {
  const auto found = tables_.find(name);
  return found == tables_.end() ? nullptr : found->second->read_entry();
}

catalog::entry_ptr catalog::table_of_index(std::string_view index) const {
  for (const auto& [name, table] : tables_) {
    if (table->has_index(index)) return table->read_entry();
  }
  return nullptr;
}

std::vector<catalog::entry_ptr> catalog::all() const {
  std::vector<entry_ptr> out;
  for (const auto& [name, table] : tables_) {
    try {
      out.push_back(table->read_entry());
    } catch (const engine_error& e) {
      if (e.kind() != error_kind::damaged) throw;
    }
  }
  return out;
}

void catalog::put(entry_ptr entry) {
  auto next = std::make_shared<slot>();
  next->entry = std::move(entry);
  const std::string& name = next->entry->name;
  tables_.insert_or_assign(name, next);
}

catalog::addition catalog::prepared(entry_ptr entry) {
  catalog one;
  one.put(std::move(entry));
  addition out;
  out.one = std::move(one.tables_);
  return out;
}

void catalog::put(addition ready) noexcept {
  auto node = ready.one.extract(ready.one.begin());
  const auto found = tables_.find(node.key());
  if (found == tables_.end()) {
    tables_.insert(std::move(node));
  } else {
    found->second = std::move(node.mapped());
  }
}

void catalog::remove(std::string_view name) {
  if (const auto found = tables_.find(name); found != tables_.end()) tables_.erase(found);
}

void catalog::put_unread(const std::string& name, std::vector<std::string> indexes, table_reader read) {
  tables_.insert_or_assign(name, std::make_shared<slot>(slot{nullptr, std::move(indexes), std::move(read), ""}));
}

void catalog::put_damaged(const std::string& name, std::vector<std::string> indexes, const std::string& problem) {
  tables_.insert_or_assign(name, std::make_shared<slot>(slot{nullptr, std::move(indexes), {}, problem}));
}

bool catalog::has_index(std::string_view index) const {
  return std::ranges::any_of(tables_, [&](const auto& table) { return table.second->has_index(index); });
}

std::vector<std::string> catalog::names() const {
  std::vector<std::string> out;
  for (const auto& [name, table] : tables_) out.push_back(name);
  return out;
}

std::vector<std::string> catalog::indexes_of(std::string_view table) const {
  const auto found = tables_.find(table);
  if (found == tables_.end()) return {};
  if (!found->second->entry) return found->second->indexes;
  std::vector<std::string> out;
  for (const auto& index : found->second->entry->indexes) out.push_back(index->spec().name);
  return out;
}

catalog::entry_ptr catalog::find_in_memory(std::string_view name) const {
  const auto found = tables_.find(name);
  return found == tables_.end() || !found->second->problem.empty() ? nullptr : found->second->entry;
}

std::vector<catalog::entry_ptr> catalog::all_in_memory() const {
  std::vector<entry_ptr> out;
  for (const auto& [name, table] : tables_) {
    if (table->entry && table->problem.empty()) out.push_back(table->entry);
  }
  return out;
}

}  // namespace espalier::engine
