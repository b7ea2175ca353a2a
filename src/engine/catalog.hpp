// catalog.hpp - tables and their indexes by name.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/index/table_index.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {

/// A table as statements see it: its present version and the indexes of that version.
struct table_entry {
  std::string name;
  std::shared_ptr<const table_version> version;
  std::vector<std::shared_ptr<table_index>> indexes;
};

/// Names are unique among tables, and those of indexes among all indexes. Entries are immutable; a change puts another
/// one into their place.
class catalog {
 public:
  [[nodiscard]] std::shared_ptr<const table_entry> find(std::string_view name) const;  ///< null: none
  /// The table that has the index, or null.
  [[nodiscard]] std::shared_ptr<const table_entry> table_of_index(std::string_view index) const;
  [[nodiscard]] std::vector<std::shared_ptr<const table_entry>> all() const;  ///< by name
  void put(std::shared_ptr<const table_entry> entry);
  void remove(std::string_view name);

 private:
  std::map<std::string, std::shared_ptr<const table_entry>, std::less<>> tables_;
};

}  // namespace espalier::engine
