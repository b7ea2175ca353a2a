// version.cpp - `espalier version`.
#include <fmt/format.h>

#include "bench/machine.hpp"
#include "cli/commands.hpp"

namespace espalier::cli {

void add_version(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand("version", "Print the version and the commit it was built from.");
  command->callback([&chosen] {
    chosen = [] {
      const auto m = bench::describe_machine();
      fmt::print("espalier {} (commit {}, {})\n", m.version, m.commit, m.compiler);
      return 0;
    };
  });
}

}  // namespace espalier::cli
