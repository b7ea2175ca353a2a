// session.hpp - an open database: its tables, its store, and one function per kind of statement.
//
// A statement that changes data builds the new state next to the existing one, writes it to the folder and replaces the
// existing state last; an error before that has no effect. Between BEGIN and COMMIT nothing is written: COMMIT writes
// the tables in one commit of the store, and ROLLBACK restores the catalog of BEGIN and undoes the changes of indexes,
// which are the only objects that a statement changes in place. The statements of a commit group are a transaction in
// this respect, which is written at its end, but not for the user.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/catalog.hpp"
#include "engine/plan/node.hpp"
#include "engine/plan/planner.hpp"
#include "engine/sql/ast.hpp"
#include "engine/sql/statement_context.hpp"
#include "engine/statements/kept_index.hpp"
#include "engine/store/store.hpp"
#include "espalier/engine/database.hpp"

namespace espalier::engine {

class file_layer;
class store;
struct open_transaction;
struct loaded_index;
struct loaded_table;

/// When a group is written at the latest: acknowledgements of its statements wait for that.
struct group_limits {
  std::size_t statements = 1000;
  std::chrono::milliseconds time{100};  ///< since the start of its first statement, seen at the end of a statement
};

class session {
 public:
  explicit session(database_options options);
  /// All writes use `files`; tests pass one that fails.
  session(database_options options, file_layer& files);
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session();

  /// Throws if the folder and the state in memory may differ after a failed write, and in a failed transaction.
  void require_usable() const;
  /// Throws `located_error` or `error`.
  query_result run(const ast::statement& statement, const progress& tell, const cancellation_token& stop);
  /// Writes indexes whose files in the folder are out of date; tables are always up to date there. Must not be called
  /// in a transaction, whose changes must not be visible in the folder.
  void save_indexes();

  // transaction.cpp
  [[nodiscard]] transaction_status transaction() const noexcept;
  /// Returns the unique number of the open transaction, or 0 if there is none.
  [[nodiscard]] std::uint64_t transaction_number() const noexcept;
  /// Returns the value of now() for a statement that starts at this moment: the start of its transaction, in
  /// microseconds since 1970, UTC.
  [[nodiscard]] std::int64_t now() const;
  /// Returns what a statement that starts at this moment is bound for.
  [[nodiscard]] statement_context context() const { return {now(), options_.allow_file_access}; }
  /// Called after an error of a statement: an open transaction can only be rolled back from now on.
  void fail_transaction() noexcept;
  /// Restores the database to its state at BEGIN. Does nothing if no transaction is open.
  void roll_back() noexcept;

  /// Between the calls, statements that change data outside of a transaction are written in groups, with one commit per
  /// group. Calls can be nested. A group ends before a statement that it does not take, at its limits, and at
  /// write_group(), which has to be called before end_grouping().
  void start_grouping() noexcept { ++grouping_; }
  void end_grouping() noexcept { --grouping_; }
  void set_group_limits(const group_limits& limits) noexcept { group_limits_ = limits; }
  /// Returns the number of statements whose changes are not written yet.
  [[nodiscard]] std::size_t unwritten_statements() const noexcept;
  /// Returns the number of statements that were undone because their group could not be written.
  [[nodiscard]] std::uint64_t undone_statements() const noexcept { return undone_statements_; }
  /// Writes the group and returns the time in milliseconds. If it throws, the statements of the group are undone.
  double write_group();

  [[nodiscard]] const catalog& tables() const { return tables_; }
  [[nodiscard]] const device& get_device() const { return device_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }
  [[nodiscard]] planner_options planning() const;
  [[nodiscard]] std::optional<std::int64_t> memory_limit() const { return options_.memory_limit; }

 private:
  // select.cpp
  query_result run_select(const ast::select& select, const progress& tell);
  query_result run_explain(const ast::explain& explain, const progress& tell);
  plan_ptr plan_of(const ast::statement& statement, const progress& tell);
  std::shared_ptr<arrow::Table> rows_of(const ast::select& select, const progress& tell, query_timings& timings);

  // ddl.cpp
  query_result run_create_table(const ast::create_table& create);
  query_result run_create_table_as(const ast::create_table_as& create, const progress& tell);
  query_result run_create_index(const ast::create_index& create, const progress& tell);
  query_result run_drop(const ast::drop& drop);
  query_result run_analyze(const ast::analyze& analyze);
  query_result run_set(const ast::set_option& set);

  // dml.cpp and copy.cpp
  query_result run_insert(const ast::insert& insert, const progress& tell);
  query_result run_update(const ast::update& update, const progress& tell);
  query_result run_erase(const ast::erase& erase, const progress& tell);
  query_result run_copy(const ast::copy& copy, const progress& tell);
  /// Appends rows to the table.
  void append(const table_entry& entry, const std::shared_ptr<arrow::Table>& rows, query_timings& timings);
  /// Replaces the version of the table by one in which `erased` rows are deleted and `inserted` ones are new.
  void change(const table_entry& entry, std::shared_ptr<const table_version> version,
              std::span<const std::uint64_t> erased, std::span<const std::uint64_t> inserted, query_timings& timings);

  // transaction.cpp
  query_result run_transaction(const ast::transaction& statement);
  void begin(bool read_only);
  /// Writes the changes of the open transaction and ends it. If that fails, it is rolled back.
  void commit_transaction(query_timings& timings);
  [[nodiscard]] bool has_group() const noexcept;
  /// Called before a statement: ends the group, or starts one, as the statement requires. Returns the time that writing
  /// took, in milliseconds.
  double prepare_group_for(const ast::statement& statement);
  /// Called after a statement that succeeded; ends a group that has reached its limits. Returns the same.
  double count_in_group();
  void build_broken_indexes() noexcept;

  // persist.cpp
  void load(file_layer& files);
  /// Called by the catalog when a statement first references a table.
  std::shared_ptr<const table_entry> read_table(const std::string& name);
  struct indexed_table {
    const std::string& name;
    const table_version::pointer& rows;
    const std::shared_ptr<table_files>& files;
  };
  /// Loads an index of the folder, or builds it if it has no file or a damaged one, which is a warning. Called by the
  /// first thread that uses the index. `content` is the content number of the file.
  std::unique_ptr<table_index> loaded_or_built(const indexed_table& table, const loaded_index& index,
                                               const index_spec& spec, std::uint64_t content);
  /// Records the layout of a file that was loaded, or nothing if the file cannot be used.
  void record_layout(const std::string& index, std::uint64_t content, const std::optional<std::string>& layout);
  void warn_of_damage(const std::string& problem);
  /// Writes the tables as they will be after `changed` (null for none) is in place and `removed` are dropped. In a
  /// transaction COMMIT does it.
  void keep(const table_entry* changed, const std::vector<std::string>& removed, index_files files,
            query_timings& timings);
  /// Indexes of the tables `with_indexes` that have no file get one, too.
  void write(const table_entry* changed, const std::vector<std::string>& removed, index_files files,
             query_timings& timings, const std::set<const table_entry*>& with_indexes = {});

  void require_changes_allowed() const;
  [[nodiscard]] std::shared_ptr<const table_entry> entry_of(const ast::table_name& name) const;

  database_options options_;
  device device_;
  catalog tables_;
  std::unique_ptr<store> store_;
  /// Indexes that have a file in the folder. Other indexes are built from the rows when the folder is opened.
  kept_indexes index_file_versions_;
  /// Tables whose loading was interrupted; their files may have been unlinked since.
  std::map<std::string, loaded_table> half_read_;
  std::mutex opening_;  ///< guards `warnings_` and the records of files while threads of a statement open indexes
  std::vector<std::string> warnings_;
  std::unique_ptr<open_transaction> transaction_;
  std::uint64_t transactions_ = 0;  ///< transactions started so far
  int grouping_ = 0;                ///< calls of start_grouping() without end_grouping()
  group_limits group_limits_;
  std::uint64_t undone_statements_ = 0;
};

/// Adds the elapsed time to a value in milliseconds.
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
