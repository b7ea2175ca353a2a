// bench_options.hpp - the options of the subcommands of `espalier bench`.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "bench/harness/options.hpp"

namespace espalier::cli {

/// Adds the options that benchmarks of this index support, and a footer with the choices of --ops, --distribution and
/// --peers.
void add_index_options(CLI::App& command, bench::raw_options& o, bench::index_kind index);
/// Adds the options that every suite has.
void add_suite_options(CLI::App& command, bench::raw_options& o);
/// Adds the options of `espalier bench joins`.
void add_join_options(CLI::App& command, bench::raw_options& o);
/// Adds the option of suites that run DuckDB.
void add_duckdb_option(CLI::App& command, bench::raw_options& o);

/// Throws bad_arguments for arguments that `command`, a subcommand of `bench`, does not support; the message lists the
/// subcommands that support the option.
void refuse_unknown_arguments(const CLI::App& bench, const CLI::App& command);

/// Returns `text` after `title`, wrapped at spaces to lines of at most 118 characters; continuation lines are indented.
[[nodiscard]] std::string wrapped(const std::string& title, const std::string& text);

}  // namespace espalier::cli
