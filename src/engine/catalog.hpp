// catalog.hpp - tables and their indexes by name.
//
// A table of a folder is read when a statement first references it (or all tables); until then only its name and those
// of its indexes are known. Copies of a catalog share the tables that were read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/index/table_index.hpp"
#include "engine/table/table_version.hpp"

namespace espalier::engine {

class table_files;

/// A constraint of CREATE TABLE, which a unique index enforces.
struct key_constraint {
  std::string index;
  bool primary = false;  ///< PRIMARY KEY if true, otherwise UNIQUE
};

/// A declared constraint beyond the type of the values; checked when values are stored.
enum class column_rule : std::uint8_t {
  none,
  varchar,  ///< varchar(length)
  fixed,    ///< char(length), stored without trailing spaces
  numeric   ///< numeric without a precision; values that its scale would round are refused
};

struct column_declaration {
  column_rule rule = column_rule::none;
  int length = 0;  ///< in characters
};

/// The type of a column of CREATE TABLE, or the target of a cast.
struct declared_type {
  column_type type;
  column_declaration declaration;
};

/// A table as statements see it: its current version and the indexes of that version.
struct table_entry {
  std::string name;
  std::shared_ptr<const table_version> version;
  std::vector<std::shared_ptr<table_index>> indexes;
  std::vector<key_constraint> constraints;
  std::vector<column_declaration> declarations;  ///< one per column, or empty
  std::shared_ptr<const table_files> files;      ///< null for a table that was not read from a folder
};

/// Returns the declared type of a column of the table.
[[nodiscard]] declared_type declared_type_of(const table_entry& table, std::size_t column);
/// Returns the type as CREATE TABLE writes it: "varchar(10)", "numeric".
[[nodiscard]] std::string sql_name(const declared_type& type);

/// Table names are unique, and so are the names of all indexes. Entries are immutable; a change replaces them.
class catalog {
 public:
  using entry_ptr = std::shared_ptr<const table_entry>;
  /// Reads a table. Throws an `engine_error` of kind `damaged` if its rows cannot be read.
  using table_reader = std::function<entry_ptr()>;

  /// Returns null if there is none. Throws for a damaged table, and for one of which a file was truncated since it was
  /// read; the table is damaged from then on.
  [[nodiscard]] entry_ptr find(std::string_view name) const;
  /// Returns the table that has the index, or null. Throws if that table is damaged.
  [[nodiscard]] entry_ptr table_of_index(std::string_view index) const;
  [[nodiscard]] std::vector<entry_ptr> all() const;  ///< by name, without damaged ones; reads those not read yet
  void put(entry_ptr entry);
  /// An entry that put() adds without allocating, for changes that are durable already.
  class addition;
  [[nodiscard]] static addition prepared(entry_ptr entry);
  void put(addition ready) noexcept;
  void remove(std::string_view name);

  // ---- functions that do not read a table

  void put_unread(const std::string& name, std::vector<std::string> indexes, table_reader read);
  /// Adds a table whose rows cannot be read. `problem` is a sentence that includes the file.
  void put_damaged(const std::string& name, std::vector<std::string> indexes, const std::string& problem);
  [[nodiscard]] bool contains(std::string_view name) const { return tables_.contains(name); }
  [[nodiscard]] bool has_index(std::string_view index) const;
  [[nodiscard]] std::vector<std::string> names() const;                             ///< including damaged tables
  [[nodiscard]] std::vector<std::string> indexes_of(std::string_view table) const;  ///< empty if not found
  [[nodiscard]] entry_ptr find_in_memory(std::string_view name) const;  ///< null if it is not read yet or damaged
  [[nodiscard]] std::vector<entry_ptr> all_in_memory() const;           ///< by name

 private:
  struct slot {
    entry_ptr entry;
    std::vector<std::string> indexes;  // used while there is no entry
    table_reader read;
    std::string problem;

    [[nodiscard]] bool has_index(std::string_view name) const;
    [[nodiscard]] entry_ptr read_entry();
  };

  using slots = std::map<std::string, std::shared_ptr<slot>, std::less<>>;
  slots tables_;

 public:
  class addition {
    friend class catalog;
    slots one;
  };
};

}  // namespace espalier::engine
