// database.hpp - the engine as its users see it: tables and indexes by name, and SQL over them.
//
//   database db({.dir = "shop"});                       // or database db; for one that lives in memory
//   db.execute("CREATE TABLE orders AS SELECT * FROM read_parquet('orders.parquet')");
//   db.execute("CREATE INDEX by_day ON orders (day)");
//   query_result r = db.execute("SELECT count(*), sum(price) FROM orders WHERE day BETWEEN '2024-01-01' AND
//   '2024-01-31'");
//
// A statement is atomic: if it throws, tables, indexes and files are as they were before it. BEGIN and COMMIT make one
// change of several statements, which becomes durable as a whole at COMMIT or not at all; after an error in between,
// statements are refused (SQLSTATE 25P02) until ROLLBACK. One thread at a time may use a database; results are
// immutable Arrow tables and may be kept for as long as one likes.
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
  std::filesystem::path dir;              ///< where tables and indexes are kept; empty: in memory only
  std::optional<espalier::device> where;  ///< where indexes live and work; none: the first GPU, else the CPU
  bool use_indexes = true;                ///< false: every question is answered by scans (to compare)
  bool prefer_indexes = false;            ///< true: an index answers wherever one can, whatever it costs (to test)
  bool rebuild_damaged_indexes = true;    ///< false: a database with a damaged file of an index is refused (to verify)
  /// Nothing in `dir` is changed, created or locked, and statements that would change something are refused. Any number
  /// of processes may read while one writes; each sees the state of the moment when it opened the database.
  bool read_only = false;
  /// Bytes that a statement may allocate; one that needs more is refused (53200) and changes nothing. None: 80 % of what
  /// the machine or its cgroup has. SET memory_limit changes it.
  std::optional<std::int64_t> memory_limit = std::nullopt;
};

/// Where the time of a statement went, in milliseconds.
struct query_timings {
  double parse = 0;
  double plan = 0;
  double run = 0;
  double save = 0;  ///< writing to `dir`
  [[nodiscard]] double total() const { return parse + plan + run + save; }
};

struct query_result {
  std::shared_ptr<arrow::Table> rows;  ///< null for statements that answer no rows
  std::string tag;                     ///< as PostgreSQL writes it: "SELECT 3", "INSERT 0 3", "CREATE TABLE"
  std::string plan;                    ///< the text tree of EXPLAIN, filled by EXPLAIN only; its lines are also `rows`
  query_timings timings;
  std::vector<std::string> notices{};  ///< sentences a shell prints: COMMIT without BEGIN, a transaction rolled back
};

enum class transaction_status : std::uint8_t {
  none,    ///< each statement is a transaction of its own
  active,  ///< between BEGIN and COMMIT or ROLLBACK
  failed,  ///< the same, after an error: only ROLLBACK and COMMIT, which then rolls back, are accepted
};

namespace detail {
class database_state;
class prepared_state;
}  // namespace detail

/// A statement with parameters $1, $2, ... that is asked many times. Valid while its database lives; when tables change
/// it plans itself anew.
class prepared {
 public:
  explicit prepared(std::unique_ptr<detail::prepared_state> state);
  prepared(prepared&&) noexcept;
  prepared& operator=(prepared&&) noexcept;
  ~prepared();

  [[nodiscard]] std::size_t parameters() const;  ///< how many the statement has

  /// Runs the statement once per row of `parameters` (column i is $i+1), all of them in as few calls of the indexes as
  /// possible. Columns of the answer: `statement` (bigint, the row of `parameters` it belongs to, from 0), then those
  /// of the SELECT. Answers of one statement are together, in the order of `parameters`.
  [[nodiscard]] query_result execute(const arrow::Table& parameters, const stop_question& stop = {});

 private:
  std::unique_ptr<detail::prepared_state> state_;
};

class database {
 public:
  explicit database(database_options options = {});
  database(database&&) noexcept;
  database& operator=(database&&) noexcept;
  ~database();

  /// Runs one statement (a trailing semicolon is allowed). Throws `sql_error`, whose kind and SQLSTATE say what went
  /// wrong, `statement_stopped` soon after `stop` has said yes, or what `tell` has thrown.
  query_result execute(std::string_view sql, const progress& tell = {}, const stop_question& stop = {});

  /// Runs the statements of a script one after the other. Statements before one that throws keep their effect, and
  /// `sql_error::position` is a place in the whole script. A transaction that the script has begun and not ended is
  /// rolled back, whether a statement throws or not.
  std::vector<query_result> run_script(std::string_view sql, const progress& tell = {}, const stop_question& stop = {});

  /// Only SELECT can be prepared.
  [[nodiscard]] prepared prepare(std::string_view sql);

  /// Writes indexes that changes have left behind in the folder. The destructor does the same, but an error is lost
  /// there; tables are always up to date, and an index without a file is built when the database is opened. Does
  /// nothing inside a transaction.
  void save_indexes();

  /// A transaction that is not ended when the database is destroyed is rolled back.
  [[nodiscard]] transaction_status transaction() const;

  [[nodiscard]] const catalog& tables() const;
  [[nodiscard]] const espalier::device& where() const;
  /// What was found so far: a sentence for each index that was rebuilt because its file is damaged or missing (the
  /// new file is written when the database is closed, if not before), and for each table whose rows are damaged. Such a
  /// table can be dropped; other statements that name it are refused. When the database is opened only names and sizes
  /// of files are looked at; checksums are compared when a statement first names a table.
  [[nodiscard]] const std::vector<std::string>& warnings() const;

 private:
  std::unique_ptr<detail::database_state> state_;
};

/// The statements of a script, each without its semicolon, with the offset where it begins. What is not a statement,
/// such as a misspelt word or a string without an end, is among them: executing it reports the error, after the
/// statements before it were run. `is_complete` tells a shell whether what was typed so far ends with a semicolon
/// outside of strings and comments.
struct script_statement {
  std::size_t offset;
  std::string text;
};
[[nodiscard]] std::vector<script_statement> split_script(std::string_view sql);
[[nodiscard]] bool is_complete(std::string_view sql);

}  // namespace espalier::engine
