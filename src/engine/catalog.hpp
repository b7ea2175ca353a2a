// catalog.hpp - tables and their indexes by name.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/index/table_index.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {

/// A constraint of CREATE TABLE, which a unique index enforces.
struct key_constraint {
  std::string index;
  bool primary = false;  ///< else UNIQUE
};

/// What a column was declared as, beyond the type of its values; checked where values are stored.
enum class column_rule : std::uint8_t {
  none,
  varchar,  ///< varchar(length)
  fixed,    ///< char(length): kept without trailing spaces
  numeric   ///< numeric without digits: values that its scale would round are refused
};

struct column_declaration {
  column_rule rule = column_rule::none;
  int length = 0;  ///< in characters
};

/// A column of a table that is about to be made, or the target of a cast.
struct declared_type {
  column_type type;
  column_declaration declaration;
};

/// A table as statements see it: its present version and the indexes of that version.
struct table_entry {
  std::string name;
  std::shared_ptr<const table_version> version;
  std::vector<std::shared_ptr<table_index>> indexes;
  std::vector<key_constraint> constraints;
  std::vector<column_declaration> declarations;  ///< one for each column, or none at all
};

/// Of a column of the table.
[[nodiscard]] declared_type declared_type_of(const table_entry& table, std::size_t column);
/// As CREATE TABLE has it: "varchar(10)", "numeric".
[[nodiscard]] std::string sql_name(const declared_type& type);

/// Names are unique among tables, and those of indexes among all indexes. Entries are immutable; a change puts another
/// one into their place.
class catalog {
 public:
  /// Null where there is none. Throws for a damaged table.
  [[nodiscard]] std::shared_ptr<const table_entry> find(std::string_view name) const;
  /// The table that has the index, or null.
  [[nodiscard]] std::shared_ptr<const table_entry> table_of_index(std::string_view index) const;
  [[nodiscard]] std::vector<std::shared_ptr<const table_entry>> all() const;  ///< by name
  void put(std::shared_ptr<const table_entry> entry);
  void remove(std::string_view name);

  /// A table whose rows cannot be read: `problem` is a sentence that names the file.
  void put_damaged(const std::string& name, const std::string& problem);
  [[nodiscard]] bool is_damaged(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> damaged() const;  ///< names

 private:
  std::map<std::string, std::string, std::less<>> problems_;
  std::map<std::string, std::shared_ptr<const table_entry>, std::less<>> tables_;
};

}  // namespace espalier::engine
