// version.cpp - `espalier version`.
#include <fmt/format.h>

#include <string>

#include "bench/harness/machine.hpp"
#include "cli/commands.hpp"

namespace espalier::cli {
namespace {

std::string version_text() {
  const auto m = bench::describe_machine();
  return fmt::format("espalier {} (commit {}, {})", m.version, m.commit, m.compiler);
}

}  // namespace

void add_version(CLI::App& app, action& chosen) {
  app.set_version_flag("--version", version_text);
  auto* command = app.add_subcommand("version", "Print the version and the commit it was built from.");
  command->footer("");
  command->callback([&chosen] {
    chosen = [] {
      fmt::print("{}\n", version_text());
      return 0;
    };
  });
}

}  // namespace espalier::cli
