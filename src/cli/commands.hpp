// commands.hpp - the subcommands of `espalier`. Each adds itself to the app and stores its action in `chosen`.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "espalier/device/device.hpp"

namespace espalier::cli {

/// Set by the subcommand that was given; returns the exit code.
using action = std::function<int()>;

/// Implements --device gpu. Throws `bad_arguments` if no GPU can be used.
[[nodiscard]] device gpu_for_command();

/// In builds that include benchmarks.
void add_bench(CLI::App& app, action& chosen, const std::string& command_line);
void add_info(CLI::App& app, action& chosen);
void add_explore(CLI::App& app, action& chosen);
void add_demo(CLI::App& app, action& chosen);
void add_version(CLI::App& app, action& chosen);

// Subcommands of the query engine, in builds that include it.
void add_sql(CLI::App& app, action& chosen);
void add_import(CLI::App& app, action& chosen);
void add_tables(CLI::App& app, action& chosen);
void add_explain(CLI::App& app, action& chosen);
void add_verify(CLI::App& app, action& chosen);

}  // namespace espalier::cli
