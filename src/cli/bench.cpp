// bench.cpp - `espalier bench`: arguments in, table, JSON or CSV out. The harness is in bench/.
#include <fmt/format.h>

#include <fstream>
#include <iostream>
#include <memory>
#include <string>

#include "bench/options.hpp"
#include "bench/row.hpp"
#include "bench/runner.hpp"
#include "cli/commands.hpp"

namespace espalier::cli {
namespace {

using bench::bad_arguments;

const char* footer =
    "Options with a comma-separated list are axes: every combination is measured. Numbers: 1000000, 1e6, 2^20.\n"
    "Data come from --seed alone, whatever the number of threads. For each row the answers are checked against sorted\n"
    "arrays and against each peer before timing; a difference ends the run with exit code 1.\n"
    "GPU rows have queries and answers in device memory. 'plan' is how the batch was answered.\n\n"
    "Peers, CPU: lower-bound (std::lower_bound on sorted arrays), std-map, absl-btree, vector-scan (no index),\n"
    "tbb-sort (build), reduce (visit). GPU: thrust-lower-bound, cub-sort (build), reduce (visit).\n"
    "A ratio of 3 means: the static tree is 3 times as fast. Peers may answer a prefix of the queries.\n\n"
    "Examples:\n"
    "  espalier bench --keys 2^20,2^24 --ops find --threads 1 --peers lower-bound,absl-btree\n"
    "  espalier bench --device gpu --keys 2^27 --queries 2^26 --distribution uniform,clustered,zipf --ops find\n"
    "  espalier bench --key-type f64 --ops build,sum,visit --format json --out result.json";

void add_data_options(CLI::App& c, bench::raw_options& o) {
  c.add_option("--index", o.index, "Which index: static")->capture_default_str();
  c.add_option("--device", o.device, "cpu, gpu or auto (the GPU if there is one)")->capture_default_str();
  c.add_option("--keys", o.keys, "Keys in the index (list)")->capture_default_str();
  c.add_option("--queries", o.queries, "Queries per batch (list)")->capture_default_str();
  c.add_option("--key-type", o.key_type, bench::choices(bench::key_type_names) + " (list)")->capture_default_str();
  c.add_option("--value-type", o.value_type,
               bench::choices(bench::value_type_names) + "; default: unsigned, as wide as the key");
  c.add_option("--distribution", o.distribution, bench::choices(bench::distribution_names) + " (list)")
      ->capture_default_str();
  c.add_option("--hit-rate", o.hit_rate, "Share of point queries that are keys of the index")->capture_default_str();
  c.add_option("--range-length", o.range_length,
               "Elements per range; default: 100 for range, for others 10^6 or keys/16, whichever is smaller");
  c.add_option("--seed", o.seed, "Seed of all data")->capture_default_str();
}

void add_run_options(CLI::App& c, bench::raw_options& o) {
  c.add_option("--ops", o.ops, bench::choices(bench::operation_names) + " (list)")->capture_default_str();
  c.add_option("--peers", o.peers,
               "Peers to measure beside (list, or none); default: the arrays, sorts and reductions");
  c.add_flag("--force-peers", o.force_peers, "Measure peers at sizes where they take very long or much memory");
  c.add_option("--threads", o.threads, "CPU threads, 0 for all cores (list)")->capture_default_str();
  c.add_option("--repeat", o.repeat, "Timed runs, of which the median counts")->capture_default_str();
  c.add_option("--plan", o.plan, bench::choices(bench::plan_names))->capture_default_str();
  c.add_option("--node-search", o.node_search, bench::choices(bench::node_search_names) + " (CPU only)");
  c.add_option("--aggregates", o.aggregates,
               bench::choices(bench::aggregates_names) + "; default: what each operation needs");
  c.add_option("--format", o.format, "table, json or csv")->capture_default_str();
  c.add_option("--out", o.out, "File to write to instead of standard output");
}

using writer = void (*)(const bench::report&, std::ostream&);

writer writer_for(const std::string& format) {
  if (format == "table") return bench::write_table;
  if (format == "json") return bench::write_json;
  if (format == "csv") return bench::write_csv;
  throw bad_arguments(fmt::format("--format does not know '{}': choose table, json or csv.", format));
}

int run(const bench::raw_options& raw, const std::string& command_line) {
  const writer write = writer_for(raw.format);
  bench::options what = bench::parse_options(raw);
  what.command = command_line;
  // Opened first: a path that cannot be written must not cost an hour of measuring.
  std::ofstream file;
  if (!raw.out.empty()) {
    file.open(raw.out);
    if (!file) throw bad_arguments(fmt::format("--out: '{}' cannot be written.", raw.out));
  }
  const bench::report result = bench::run_benchmarks(what);
  write(result, raw.out.empty() ? std::cout : file);
  if (!raw.out.empty() && !file.flush()) throw std::runtime_error(fmt::format("Writing '{}' failed.", raw.out));
  return 0;
}

}  // namespace

void add_bench(CLI::App& app, action& chosen, const std::string& command_line) {
  auto* command = app.add_subcommand("bench", "Measure an index beside its peers, on the same data, answers checked.");
  command->footer(footer);
  auto options = std::make_shared<bench::raw_options>();
  add_data_options(*command, *options);
  add_run_options(*command, *options);
  command->callback(
      [&chosen, options, command_line] { chosen = [options, command_line] { return run(*options, command_line); }; });
}

}  // namespace espalier::cli
