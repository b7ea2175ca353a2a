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
  std::string format;  ///< empty: as the ending of `out` says
  std::string out;
  std::string memory_limit;  ///< empty: 80 % of what the machine has
  bool read_only = false;
};

enum class database_use : std::uint8_t { may_be_made, must_exist, must_be_whole };

/// `folder`: what --db is to this command.
void add_database_options(CLI::App& command, query_options& options, const std::string& folder);
void add_output_options(CLI::App& command, query_options& options);

/// --format, or without it what the ending of --out says. Throws `bad_arguments` for a format that does not exist.
[[nodiscard]] answer_format chosen_format(const query_options& options);

/// Throws `bad_arguments` where --out names a file in the folder of --db.
void require_output_outside_database(const query_options& options);

/// The database in --db, or one in memory. Loading shows its progress. Damaged indexes are built anew and named on
/// standard error, or refused where the database `must_be_whole`.
[[nodiscard]] engine::database open_database(const query_options& options, database_use use);

/// Writes indexes that changes have left behind. A failure costs time when the database is next opened, and no answer:
/// it is a warning on standard error.
/// Prints warnings of the database beyond the first `printed`: tables are read, and what is wrong with them is found,
/// when they are first used. Answers how many there are.
std::size_t print_warnings(const engine::database& db, std::size_t printed);
void save_indexes_or_warn(engine::database& db);

/// The text of FILE, of standard input for "-", or of -c.
[[nodiscard]] std::string statement_text(const std::string& file, const std::string& command);

/// Prints the sentence, and for statements the line and the place in it.
void report_failure(const std::exception& failure);

}  // namespace espalier::cli
