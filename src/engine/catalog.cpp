#include "engine/catalog.hpp"

namespace espalier::engine {

std::shared_ptr<const table_entry> catalog::find(std::string_view name) const {
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
}

}  // namespace espalier::engine
