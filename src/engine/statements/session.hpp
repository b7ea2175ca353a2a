// session.hpp - an open database: its tables, where they are kept, and one function for each kind of statement.
//
// A statement that changes something makes all that is new beside what is there, writes it to the folder, and puts it
// in place last; what throws before leaves no trace. Between BEGIN and COMMIT nothing is written: COMMIT writes the
// tables as they are then, in one commit of the store, and ROLLBACK puts the catalog of BEGIN back and undoes the
// changes of indexes, which are the only objects that a statement changes in place.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/catalog.hpp"
#include "engine/plan/node.hpp"
#include "engine/plan/planner.hpp"
#include "engine/sql/ast.hpp"
#include "engine/statements/kept_index.hpp"
#include "engine/store/store.hpp"
#include "espalier/engine/database.hpp"

namespace espalier::engine {

class file_layer;
class store;
struct open_transaction;
struct loaded_index;
struct loaded_table;

class session {
 public:
  explicit session(database_options options);
  /// Through `files` everything is written; tests have one that fails.
  session(database_options options, file_layer& files);
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session();

  /// Throws where the folder and what is in memory may differ, after a write that failed half-way, and in a transaction
  /// that has failed.
  void require_usable() const;
  /// Throws `located_error`, or `error`.
  query_result run(const ast::statement& statement, const progress& tell, const cancellation_token& stop);
  /// Writes indexes that changes have left behind in the folder. Tables are always up to date there. Not inside a
  /// transaction, whose changes are not to be seen in the folder.
  void save_indexes();

  // transaction.cpp
  [[nodiscard]] transaction_status transaction() const noexcept;
  /// Of the open transaction; another one for each, 0 for none.
  [[nodiscard]] std::uint64_t transaction_number() const noexcept;
  /// What now() means in a statement that begins at this moment: the start of its transaction, in microseconds since
  /// 1970, UTC.
  [[nodiscard]] std::int64_t now() const;
  /// After an error of a statement: the transaction, where one is open, can only be rolled back from now on.
  void fail_transaction() noexcept;
  /// The database is as it was at BEGIN. Nothing where no transaction is open.
  void roll_back() noexcept;

  [[nodiscard]] const catalog& tables() const { return tables_; }
  [[nodiscard]] const device& get_device() const { return device_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  [[nodiscard]] planner_options planning() const;
  [[nodiscard]] std::optional<std::int64_t> memory_limit() const { return options_.memory_limit; }

 private:
  // answer.cpp
  query_result run_select(const ast::select& select, const progress& tell);
  query_result run_explain(const ast::explain& explain, const progress& tell);
  plan_ptr plan_of(const ast::statement& statement, const progress& tell);
  std::shared_ptr<arrow::Table> rows_of(const ast::select& select, const progress& tell, query_timings& timings);

  // define.cpp
  query_result run_create_table(const ast::create_table& create);
  query_result run_create_table_as(const ast::create_table_as& create, const progress& tell);
  query_result run_create_index(const ast::create_index& create, const progress& tell);
  query_result run_drop(const ast::drop& drop);
  query_result run_analyze(const ast::analyze& analyze);
  query_result run_set(const ast::set_option& set);

  // change.cpp
  query_result run_insert(const ast::insert& insert, const progress& tell);
  query_result run_update(const ast::update& update, const progress& tell);
  query_result run_erase(const ast::erase& erase, const progress& tell);
  query_result run_copy(const ast::copy& copy, const progress& tell);
  /// The table with these rows at its end.
  void append(const table_entry& entry, const std::shared_ptr<arrow::Table>& rows, query_timings& timings);
  /// The table with another version in which `erased` rows are deleted and `inserted` ones are new.
  void change(const table_entry& entry, std::shared_ptr<const table_version> version,
              std::span<const std::uint64_t> erased, std::span<const std::uint64_t> inserted, query_timings& timings);

  // transaction.cpp
  query_result run_transaction(const ast::transaction& statement);
  void begin(bool read_only);
  void build_broken_indexes() noexcept;

  // keep.cpp
  void load(file_layer& files);
  /// Called by the catalog when a statement first names a table.
  std::shared_ptr<const table_entry> read_table(const std::string& name);
  /// An index whose file is as it should be is added to `kept`, and what is wrong with another to `problems`.
  std::shared_ptr<table_index> loaded_or_built(const loaded_table& table, const loaded_index& index, kept_indexes& kept,
                                               std::vector<std::string>& problems) const;
  void warn_of_damage(const std::string& problem);
  /// Writes the tables as they will be once `changed` is in place (null: none) and `removed` are gone; in a transaction
  /// COMMIT does it.
  void keep(const table_entry* changed, const std::vector<std::string>& removed, index_files files,
            query_timings& timings);
  void write(const table_entry* changed, const std::vector<std::string>& removed, index_files files,
             query_timings& timings);

  void require_changes_allowed() const;
  [[nodiscard]] std::shared_ptr<const table_entry> entry_of(const ast::table_name& name) const;

  database_options options_;
  device device_;
  catalog tables_;
  std::unique_ptr<store> store_;
  /// Indexes that have a file in the folder. Others are built from the rows when the folder is opened.
  kept_indexes index_file_versions_;
  /// Tables that a statement had begun to read when it was stopped: their files may have lost their names since.
  std::map<std::string, loaded_table> half_read_;
  std::vector<std::string> warnings_;
  std::unique_ptr<open_transaction> transaction_;
  std::uint64_t transactions_ = 0;  ///< that were begun
};

/// How long something took, added to a time in milliseconds.
class stopwatch {
 public:
  explicit stopwatch(double& total);
  ~stopwatch();
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;

 private:
  double& total_;
  double start_;
};

}  // namespace espalier::engine
