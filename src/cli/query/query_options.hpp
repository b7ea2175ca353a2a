// query_options.hpp - the options that the subcommands of the query engine share.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "cli/query/render.hpp"
#include "espalier/engine/database.hpp"

namespace espalier::cli {

struct query_options {
  std::string db;
  std::string device = "auto";
  std::string format;  ///< empty: chosen by the suffix of `out`
  std::string out;
  std::string memory_limit;  ///< empty: 80 % of the machine's memory
  bool read_only = false;
};

enum class database_use : std::uint8_t { may_be_made, must_exist, must_be_whole };

/// Refuses an empty argument, which is usually a variable of the shell that is not set. `what` is what to give instead.
[[nodiscard]] CLI::Validator not_empty(const std::string& what);
/// `folder` describes --db in the help of this command.
void add_database_options(CLI::App& command, query_options& options, const std::string& folder);
void add_output_options(CLI::App& command, query_options& options);

/// Returns --format or, without it, the format of the suffix of --out. Throws `bad_arguments` for an unknown format.
[[nodiscard]] answer_format chosen_format(const query_options& options);

/// Throws `bad_arguments` if --out is a file in the folder of --db.
void require_output_outside_database(const query_options& options);

/// Opens the database in --db, or one in memory, and shows the progress. Damaged indexes are rebuilt and reported on
/// standard error, or refused if the database `must_be_whole`.
[[nodiscard]] engine::database open_database(const query_options& options, database_use use);

/// Prints warnings of the database after the first `printed`, and returns their total number. A table is read, and its
/// damage detected, when it is first used.
std::size_t print_warnings(const engine::database& db, std::size_t printed);
/// Writes indexes whose files are out of date. A failure only costs time when the database is opened next, so it is
/// reported as a warning on standard error.
void save_indexes_or_warn(engine::database& db);

/// Returns the text of FILE, of standard input for "-", or of -c.
[[nodiscard]] std::string statement_text(const std::string& file, const std::string& command);

/// Prints the message and, for statements, the line with the error position.
void report_failure(const std::exception& failure);

}  // namespace espalier::cli
