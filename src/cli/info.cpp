// info.cpp - `espalier info`: the hardware of this machine and the features of this build.
#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <string>

#include "bench/harness/machine.hpp"
#include "bench/harness/machine_json.hpp"
#include "cli/commands.hpp"
#include "cli/errors.hpp"

namespace espalier::cli {
namespace {

std::string gibibytes(std::size_t bytes) { return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / 0x1p30); }

void print_text(const bench::machine& m) {
  fmt::print("CPU           {} ({}), {} cores\n", m.cpu, m.architecture, m.cores);
  fmt::print("SIMD target   {}\n", m.simd);
  fmt::print("memory        {}\n", gibibytes(m.memory));
  fmt::print("huge pages    {}\n", m.huge_pages);
  if (m.gpus.empty()) fmt::print("GPU           none ({})\n", m.no_gpu);
  for (const auto& g : m.gpus) {
    fmt::print("GPU           {}, {}, {} SMs, {:.0f} MB L2, compute capability {}\n", g.name, gibibytes(g.memory),
               g.multiprocessors, static_cast<double>(g.l2_bytes) / 1e6, g.compute);
  }
  if (!m.driver.empty()) fmt::print("driver        CUDA {}\n", m.driver);
  fmt::print("system        {}\n", m.system);
  fmt::print("build         espalier {}, commit {}, {}{}\n", m.version, m.commit, m.compiler,
             m.cuda_runtime.empty() ? ", without CUDA" : ", CUDA " + m.cuda_runtime);
  fmt::print("best device   {}\n", device::default_device().name());
}

void print_json(const bench::machine& m) {
  auto j = bench::machine_json(m);
  j["version"] = m.version;
  j["commit"] = m.commit;
  j["compiler"] = m.compiler;
  j["best_device"] = device::default_device().name();
  std::cout << j.dump(2) << '\n';
}

}  // namespace

void add_info(CLI::App& app, action& chosen) {
  auto* command = app.add_subcommand("info", "Show what this machine offers: SIMD, cores, memory, huge pages, GPUs.");
  auto format = std::make_shared<std::string>("text");
  command->add_option("--format", *format, "text or json")->capture_default_str();
  command->footer("Example:\n  espalier info --format json");
  command->callback([&chosen, format] {
    chosen = [format] {
      if (*format != "text" && *format != "json") {
        throw bad_arguments(fmt::format("--format does not know '{}': choose text or json.", *format));
      }
      const auto m = bench::describe_machine();
      *format == "json" ? print_json(m) : print_text(m);
      return 0;
    };
  });
}

}  // namespace espalier::cli
