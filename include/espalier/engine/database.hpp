// database.hpp - the public interface of the SQL engine: tables and indexes by name, and SQL over them.
//
//   database db({.path = "shop"});                       // or database db; for one that lives in memory
//   db.execute("CREATE TABLE orders AS SELECT * FROM read_parquet('orders.parquet')");
//   db.execute("CREATE INDEX by_day ON orders (day)");
//   query_result r = db.execute("SELECT count(*), sum(price) FROM orders WHERE day BETWEEN '2024-01-01' AND
//   '2024-01-31'");
//
// A statement is atomic: if it throws, tables, indexes and files are unchanged. BEGIN and COMMIT combine several
// statements into one change, which becomes durable as a whole at COMMIT or not at all; after an error in between,
// statements are rejected (SQLSTATE 25P02) until ROLLBACK. run_script() and `commit_group` combine only the disk syncs
// of several statements.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/device/device.hpp"
#include "espalier/engine/progress.hpp"
#include "espalier/engine/sql_error.hpp"
#include "espalier/engine/stop.hpp"

namespace espalier::engine {

class catalog;

struct database_options {
  std::filesystem::path path;              ///< folder of tables and indexes; empty: in memory only
  std::optional<espalier::device> device;  ///< device of the indexes; none: the first GPU, or the CPU
  bool use_indexes = true;                 ///< false: every query is answered by scans (for comparison)
  bool prefer_indexes = false;             ///< true: use an index wherever possible, whatever it costs (for tests)
  bool rebuild_damaged_indexes = true;     ///< false: reject a database with a damaged index file (for verification)
  /// Changes, creates and locks nothing in `path`, and rejects statements that change data. Any number of processes may
  /// read while one writes; each sees the state at the time when it opened the database.
  bool read_only = false;
  /// Installs a process-wide handler for SIGBUS when `path` is opened, so that a statement fails with XX001 if another
  /// program truncates a file of the database while it is read. Other faults go to the handler that was installed
  /// before. false: such a statement ends the process; truncations between statements are detected in any case.
  bool handle_sigbus = true;
  /// false: COPY, read_csv(), read_parquet() and read_arrow() are rejected (42501), for programs that execute statements
  /// of others. Files of `path` are read and written in any case.
  bool allow_file_access = true;
  /// Bytes that a statement may allocate; a statement that needs more fails with 53200 and changes nothing. None: 80 %
  /// of the memory of the machine or its cgroup. SET memory_limit changes it.
  std::optional<std::int64_t> memory_limit = std::nullopt;
};

/// Times of the phases of a statement, in milliseconds.
struct query_timings {
  double parse = 0;
  double plan = 0;
  double run = 0;
  double save = 0;  ///< writing to `path`
  [[nodiscard]] double total() const { return parse + plan + run + save; }
};

/// Result of a statement. Lifetime: the Arrow table is immutable and independent of the database.
struct query_result {
  std::shared_ptr<arrow::Table> rows;  ///< null for statements without a result
  std::string tag;                     ///< PostgreSQL's command tag: "SELECT 3", "INSERT 0 3", "CREATE TABLE"
  std::string plan;                    ///< the text of EXPLAIN, empty for other statements; its lines are also `rows`
  query_timings timings;
  std::vector<std::string> notices{};  ///< warnings: COMMIT without BEGIN, a transaction that was rolled back
};

enum class transaction_status : std::uint8_t {
  none,    ///< autocommit: each statement is a transaction
  active,  ///< between BEGIN and COMMIT or ROLLBACK
  failed,  ///< active, after an error: only ROLLBACK and COMMIT are accepted, and both roll back
};

namespace detail {
class database_state;
class prepared_state;
}  // namespace detail

/// A SELECT with parameters $1, $2, ... that is executed many times. It is planned again when tables change. Move-only.
/// Lifetime: valid while its database lives. Thread safety: one thread at a time may use a database and its prepared
/// statements.
class prepared {
 public:
  explicit prepared(std::unique_ptr<detail::prepared_state> state);
  prepared(prepared&&) noexcept;
  prepared& operator=(prepared&&) noexcept;
  ~prepared();

  [[nodiscard]] std::size_t parameters() const;  ///< number of parameters

  /// Executes the statement once per row of `parameters` (column i is $i+1), with as few index calls as possible. The
  /// result has the column `statement` (bigint, the row of `parameters`, from 0), then the columns of the SELECT. Rows
  /// of one execution are contiguous, in the order of `parameters`. Throws as database::execute().
  [[nodiscard]] query_result execute(const arrow::Table& parameters, const cancellation_token& stop = {});

 private:
  std::unique_ptr<detail::prepared_state> state_;
};

/// A database in memory or in a folder. Move-only. Thread safety: one thread at a time may use a database and its
/// prepared statements; statements use all cores internally.
class database {
 public:
  /// Opens or creates the database. Throws `engine_error`. Reads the catalog and maps the files; tables are read at
  /// first use.
  explicit database(database_options options = {});
  database(database&&) noexcept;
  database& operator=(database&&) noexcept;
  /// Rolls back an open transaction and saves indexes; errors are lost, see save_indexes().
  ~database();

  /// Executes one statement (a trailing semicolon is allowed). Throws `sql_error` with kind and SQLSTATE,
  /// `query_cancelled` soon after `stop` returned true, or an exception of `tell`. A statement that throws has
  /// changed nothing.
  query_result execute(std::string_view sql, const progress& tell = {}, const cancellation_token& stop = {});

  /// Executes the statements of a script in order. Statements before one that throws keep their effect.
  /// `sql_error::position` is an offset in the whole script. A transaction that the script begins and does not end is
  /// rolled back, whether a statement throws or not. Statements are written in groups, see `commit_group`; all of them
  /// are durable when the function returns or throws. Saves indexes at the end.
  std::vector<query_result> run_script(std::string_view sql, const progress& tell = {},
                                       const cancellation_token& stop = {});

  /// Prepares a SELECT. Throws `sql_error` for other statements.
  [[nodiscard]] prepared prepare(std::string_view sql);

  /// Writes index files that are older than their tables beyond the limit, as the destructor does, and throws errors
  /// that the destructor loses. Has no effect inside a transaction. Rows are always durable; an index without a file is
  /// built when its table is first used.
  void save_indexes();

  /// The status of the current transaction.
  [[nodiscard]] transaction_status transaction() const;

  /// The tables of the database. Lifetime: valid while the database lives; statements change its content.
  [[nodiscard]] const catalog& tables() const;
  /// The device of the indexes.
  [[nodiscard]] const espalier::device& get_device() const;
  /// Problems found so far, one sentence each: indexes that were rebuilt because their file is damaged or missing (the
  /// new file is written when the database is closed, if not before), and tables with damaged rows. Such a table can be
  /// dropped; other statements that name it are rejected. Opening checks names and sizes of files; checksums are
  /// compared when a statement first names a table.
  [[nodiscard]] const std::vector<std::string>& warnings() const;

 private:
  friend class commit_group;
  std::unique_ptr<detail::database_state> state_;
};

/// Group commit: as long as a group exists, consecutive statements outside of a transaction that change data are written
/// to the folder together, with one commit and its disk syncs instead of one per statement. Each statement remains
/// atomic, and a crash leaves the database as it was after one of the statements, so a prefix of them is lost or none.
///
/// A program must not acknowledge statements before unwritten() is 0. What was not written is written before any other
/// statement, so that results never show changes that a crash could lose; after 1,000 statements or 100 ms; and by
/// write(). If writing throws, all unwritten statements are undone.
///
/// Lifetime: ends before its database. Groups can be nested. Thread safety: as the database.
class commit_group {
 public:
  explicit commit_group(database& db);
  commit_group(const commit_group&) = delete;
  commit_group& operator=(const commit_group&) = delete;
  /// Calls write(); its errors are lost.
  ~commit_group();

  /// Number of the last statements that are not durable yet.
  [[nodiscard]] std::size_t unwritten() const;
  /// Number of statements that were undone since the construction because writing threw.
  [[nodiscard]] std::uint64_t undone() const;
  /// Makes all statements durable and returns the milliseconds that it took. Throws `sql_error`.
  double write();

 private:
  detail::database_state* state_;
  std::uint64_t undone_before_;
};

/// One statement of a script, without its semicolon, and its byte offset.
struct script_statement {
  std::size_t offset;
  std::string text;
};
/// Splits a script into statements. Fragments that are not statements, such as a misspelt word or an unterminated
/// string, are returned too; executing them reports the error, after the statements before them.
[[nodiscard]] std::vector<script_statement> split_script(std::string_view sql);
/// True if the text ends with a semicolon outside of strings and comments.
[[nodiscard]] bool is_complete(std::string_view sql);

}  // namespace espalier::engine
