#include "engine/catalog.hpp"

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

std::shared_ptr<const table_entry> catalog::find(std::string_view name) const {
  if (const auto problem = problems_.find(name); problem != problems_.end()) {
    throw engine_error(problem->second, codes::data_corrupted);
  }
  const auto found = tables_.find(name);
  return found == tables_.end() ? nullptr : found->second;
}

std::shared_ptr<const table_entry> catalog::table_of_index(std::string_view index) const {
  for (const auto& [name, entry] : tables_) {
    for (const auto& candidate : entry->indexes) {
      if (candidate->spec().name == index) return entry;
    }
  }
  return nullptr;
}

std::vector<std::shared_ptr<const table_entry>> catalog::all() const {
  std::vector<std::shared_ptr<const table_entry>> out;
  for (const auto& [name, entry] : tables_) out.push_back(entry);
  return out;
}

void catalog::put(std::shared_ptr<const table_entry> entry) {
  const std::string name = entry->name;
  tables_.insert_or_assign(name, std::move(entry));
}

void catalog::remove(std::string_view name) {
  const auto found = tables_.find(name);
  if (found != tables_.end()) tables_.erase(found);
  if (const auto problem = problems_.find(name); problem != problems_.end()) problems_.erase(problem);
}

void catalog::put_damaged(const std::string& name, const std::string& problem) {
  problems_.insert_or_assign(name, problem);
}

bool catalog::is_damaged(std::string_view name) const { return problems_.contains(name); }

std::vector<std::string> catalog::damaged() const {
  std::vector<std::string> names;
  for (const auto& [name, problem] : problems_) names.push_back(name);
  return names;
}

}  // namespace espalier::engine
