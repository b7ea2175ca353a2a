// bench_options.cpp - one table of options; each entry lists the indexes whose benchmarks support it. Help texts have
// one line per option, so that the help of a subcommand fits on a screen; docs/bench.md has the details.
#include "cli/bench_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "bench/join/join_benchmark.hpp"
#include "bench/peers/peer.hpp"

namespace espalier::cli {
namespace {

using bench::choices;
using bench::index_kind;
using bench::raw_options;

constexpr unsigned of_static = 1u << static_cast<unsigned>(index_kind::static_tree);
constexpr unsigned of_blink = 1u << static_cast<unsigned>(index_kind::blink);
constexpr unsigned of_radix = 1u << static_cast<unsigned>(index_kind::radix);
constexpr unsigned of_hybrid = 1u << static_cast<unsigned>(index_kind::hybrid);
constexpr unsigned of_all = of_static | of_blink | of_radix | of_hybrid;

struct option_entry {
  const char* name;
  const char* type;  ///< type of its argument; LIST is comma-separated
  std::string raw_options::*text;
  unsigned indexes;
  std::string help;
};

std::vector<option_entry> data_options() {
  return {
      {"--device", "NAME", &raw_options::device, of_all, "cpu, gpu or auto (the GPU if there is one)"},
      {"--keys", "LIST", &raw_options::keys, of_all, "Number of keys in the index"},
      {"--queries", "LIST", &raw_options::queries, of_all,
       "Queries per batch, or keys for as many as keys; default: 16 x keys, from 2^14 to 2^22"},
      {"--key-type", "LIST", &raw_options::key_type, of_all & ~of_radix,
       bench::built_choices(bench::key_type_names) + "; default: u32"},
      {"--value-type", "NAME", &raw_options::value_type, of_all & ~of_radix,
       bench::built_choices(bench::value_type_names) + "; default: unsigned, as wide as the key"},
      {"--distribution", "LIST", &raw_options::distribution, of_all, "Distribution of the keys, see below"},
      {"--hit-rate", "SHARE", &raw_options::hit_rate, of_all, "Share of point queries whose key is in the index"},
      {"--range-length", "N", &raw_options::range_length, of_static,
       "Elements per range; default: 100 for range, else 10^6 or keys/16 if smaller"},
      {"--range-length", "N", &raw_options::range_length, of_blink | of_radix, "Elements per range; default: 32"},
      {"--range-length", "N", &raw_options::range_length, of_hybrid, "Elements per range; default: 8"},
      {"--seed", "N", &raw_options::seed, of_all, "Seed of all data"},
      {"--ops", "LIST", &raw_options::ops, of_all, "Operations, see below"},
      {"--peers", "LIST", &raw_options::peers, of_all, "Peers, see below, or none"},
      {"--threads", "LIST", &raw_options::threads, of_all, "CPU threads, 0 for all cores"},
      {"--repeat", "N", &raw_options::repeat, of_all, "Timed runs, the median counts; default: 5, of writes 3"},
  };
}

std::vector<option_entry> tree_options() {
  return {
      {"--plan", "NAME", &raw_options::plan, of_static, choices(bench::plan_names) + "; default: automatic"},
      {"--plan", "NAME", &raw_options::plan, of_blink,
       "Plan of find and contains: automatic, scattered or partition_first"},
      {"--node-search", "NAME", &raw_options::node_search, of_static,
       choices(bench::node_search_names) + " (CPU only)"},
      {"--aggregates", "NAME", &raw_options::aggregates, of_static,
       choices(bench::aggregates_names) + "; default: what each operation needs"},
      {"--policy", "LIST", &raw_options::policy, of_blink, choices(bench::protocol_names) + "; default: link"},
      {"--upper", "LIST", &raw_options::upper, of_blink,
       choices(bench::upper_names) + "; default: express, with --policy couple classic"},
      {"--slots", "LIST", &raw_options::slots, of_blink, "Elements per node: 8, 32, 128, 4096; 0: the default"},
      {"--path", "LIST", &raw_options::path, of_blink,
       "Write path: " + choices(bench::path_names) + "; default: automatic"},
      {"--batch", "LIST", &raw_options::batch, of_blink,
       "Elements per write; default: --queries. A list only with --batch-distribution"},
      {"--batch-distribution", "LIST", &raw_options::batch_distribution, of_blink,
       "Measure inserts and erases by the keys' place in the tree, see below"},
      {"--path", "LIST", &raw_options::path, of_radix,
       "Path of inserts and erases: " + choices(bench::radix_path_names) + "; default: automatic"},
      {"--batch", "LIST", &raw_options::batch, of_radix, "Keys per write and per find call; default: --queries"},
      {"--key-length", "LIST", &raw_options::key_length, of_radix,
       "Bytes per key, 0 for natural lengths; default: depends on --distribution"},
      {"--long-share", "SHARE", &raw_options::long_share, of_radix,
       fmt::format("Share of keys that are extended, up to {} bytes; default: 0", bench::most_long_key)},
      {"--long-keys", "LIST", &raw_options::long_keys, of_radix,
       "GPU, keys over 32 bytes: " + choices(bench::long_key_names) + "; default: on-device"},
      {"--location", "LIST", &raw_options::location, of_radix,
       "GPU, where queries and answers are: " + choices(bench::location_names) + "; default: device"},
      {"--streams", "LIST", &raw_options::streams, of_radix,
       "Find batches in flight, a thread each; default: 8 on a GPU with --batch, else 1"},
      {"--layout", "LIST", &raw_options::layout, of_hybrid,
       "Tree in host memory: " + choices(bench::layout_names) + "; default: implicit"},
      {"--placement", "LIST", &raw_options::placement, of_hybrid,
       choices(bench::placement_names) + "; default: automatic"},
      {"--buckets", "LIST", &raw_options::buckets, of_hybrid,
       choices(bench::queue_depth_names) + "; default: double-buffered"},
      {"--bucket", "LIST", &raw_options::bucket, of_hybrid, "Queries per bucket, at most; default: 2^21"},
      {"--balance", "LIST", &raw_options::balance, of_hybrid,
       "Inner levels between host and device: " + choices(bench::balancing_names) + "; default: tuned"},
      {"--pages", "LIST", &raw_options::pages, of_hybrid,
       "Memory pages: " + choices(bench::pages_names) + "; default: huge"},
      {"--way", "LIST", &raw_options::way, of_hybrid,
       "Updates of a regular layout: " + choices(bench::update_way_names) + "; default: automatic"},
      {"--gpu-memory", "BYTES", &raw_options::gpu_memory, of_hybrid, "Device memory for the tree; default: all"},
      {"--leaf-cache", "BYTES", &raw_options::leaf_cache, of_hybrid,
       "Of it, for copies of leaves; default: a quarter of the rest"},
      {"--window", "N", &raw_options::window, of_hybrid, "Queries that the device sorts at once; default: 2^26"},
      {"--host-memory", "NAME", &raw_options::host_memory, of_hybrid,
       "Of queries and answers: " + choices(bench::host_memory_names) + "; default: pinned"},
      {"--requests", "LIST", &raw_options::requests, of_hybrid,
       "Queried keys: " + choices(bench::request_names) + "; default: uniform"},
      {"--requests", "NAME", &raw_options::requests, of_blink,
       "Queried keys: uniform, zipf, in-order; default: uniform, for ycsb zipf"},
      {"--fill", "SHARE", &raw_options::fill, of_blink | of_hybrid,
       "Share of a leaf that a build fills, 0.25 to 1; default: 0.75"},
  };
}

std::vector<option_entry> output_options() {
  return {
      {"--format", "NAME", &raw_options::format, of_all, "table, json or csv"},
      {"--out", "FILE", &raw_options::out, of_all, "Write to this file instead of standard output"},
      {"--trace", "FILE", &raw_options::trace, of_all, "Also record a trace for `espalier explore`"},
  };
}

void add(CLI::App& command, raw_options& o, const option_entry& entry) {
  auto* const option = command.add_option(entry.name, o.*entry.text, entry.help)->type_name(entry.type);
  if (!(o.*entry.text).empty()) option->capture_default_str();
}

/// Returns the peers of an index on a device.
std::string peers_of(index_kind index, device_kind dev) {
  std::string text;
  for (const auto& peer : bench::known_peers()) {
    if (peer.dev != dev || !peer.indexes[static_cast<std::size_t>(index)]) continue;
    text += (text.empty() ? "" : ", ") + std::string(peer.name);
  }
  return text.empty() ? "none" : text;
}

const char* example_of(index_kind index) {
  switch (index) {
    case index_kind::blink:
      return "espalier bench blink --keys 2^22 --policy link,couple --ops insert,find,ycsb-a";
    case index_kind::radix:
      return "espalier bench radix --distribution urls,triples --keys 2^20 --ops find,count-prefix";
    case index_kind::hybrid:
      return "espalier bench hybrid --keys 2^26 --key-type u64 --ops find --placement automatic,host-alone";
    default:
      return "espalier bench static --keys 2^20,2^24 --ops find --threads 1 --peers lower-bound,absl-btree";
  }
}

/// Formats one line per option, without the blank lines of CLI11's own formatter.
std::string short_help(const CLI::App* command, const std::string&, CLI::AppFormatMode) {
  std::string positional;
  for (const auto* option : command->get_options()) {
    if (option->get_positional()) positional = " " + option->get_name();
  }
  std::string text = fmt::format("Usage: espalier bench {}{} [OPTIONS]: {}\n", command->get_name(), positional,
                                 command->get_description());
  for (const auto* option : command->get_options()) {
    if (option->get_name() == "--help" || option->get_positional()) continue;
    const std::string standard = option->get_default_str();
    text += fmt::format("  {:<27}{}{}\n", option->get_name() + " " + option->get_type_name(), option->get_description(),
                        standard.empty() ? "" : "; default: " + standard);
  }
  return text + command->get_footer() + "\n";
}

}  // namespace

std::string wrapped(const std::string& title, const std::string& text) {
  constexpr std::size_t width = 118;
  std::string lines, line = title;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (line.size() + 1 + word.size() > width) {
      lines += line + "\n";
      line = "   ";
    }
    line += " " + word;
    at = end + 1;
  }
  return lines + line + "\n";
}

void add_index_options(CLI::App& command, raw_options& o, index_kind index) {
  o.index = bench::name_in(bench::index_names, index);
  const unsigned bit = 1u << static_cast<unsigned>(index);
  for (const auto& list : {data_options(), tree_options(), output_options()}) {
    for (const auto& entry : list) {
      if ((entry.indexes & bit) != 0) add(command, o, entry);
    }
  }
  command.add_flag("--force-peers", o.force_peers, "Measure peers at sizes where they take very long or much memory");
  std::string footer =
      "A LIST is an axis: every combination is measured. Numbers: 1000000, 1e6, 2^20. See docs/bench.md.\n";
  footer +=
      wrapped("--ops:", bench::operations_of(index) + "; default: " + std::string(bench::default_operations(index)));
  footer += wrapped("--distribution:",
                    index == index_kind::radix ? choices(bench::byte_data_names) : choices(bench::distribution_names));
  if (index == index_kind::blink) {
    footer += wrapped("--batch-distribution:", choices(bench::batch_distribution_names));
  }
  footer +=
      wrapped("--peers:", "CPU: " + peers_of(index, device_kind::cpu) + "; GPU: " + peers_of(index, device_kind::cuda));
  command.footer(footer + "Example: " + example_of(index));
  command.formatter_fn(short_help);
}

void add_suite_options(CLI::App& command, raw_options& o) {
  const std::array common{
      option_entry{"--parts", "LIST", &raw_options::parts, 0, "Measure these parts alone; default: all"},
      option_entry{"--max-keys", "N", &raw_options::max_keys, 0, "Largest size; default: that of the paper or target"},
      option_entry{"--device", "NAME", &raw_options::device, 0, "cpu, gpu or auto; gpu and auto measure the CPU, too"},
      option_entry{"--threads", "N", &raw_options::threads, 0, "CPU threads, 0 for all cores"},
      option_entry{"--repeat", "N", &raw_options::repeat, 0, "Timed runs, the median counts; default: 5, of writes 3"},
      option_entry{"--seed", "N", &raw_options::seed, 0, "Seed of all data"},
      option_entry{"--out", "FOLDER", &raw_options::out, 0, "Folder for tables, plots and results; default: the name"},
  };
  for (const auto& entry : common) add(command, o, entry);
  command.formatter_fn(short_help);
}

void add_join_options(CLI::App& command, raw_options& o) {
  const auto of = [](const char* names) { return std::string(": ") + names + "; default: all"; };
  const std::array entries{
      option_entry{"--device", "NAME", &raw_options::device, 0, "cpu, gpu or auto (the GPU if there is one)"},
      option_entry{"--keys", "LIST", &raw_options::keys, 0, "Rows of the right side"},
      option_entry{"--left", "LIST", &raw_options::left, 0, "Rows of the left side; default: as many"},
      option_entry{"--joins", "LIST", &raw_options::joins, 0, "Joins" + of(bench::join_operations)},
      option_entry{"--orders", "LIST", &raw_options::orders, 0, "Rows of both sides" + of(bench::join_orders)},
      option_entry{"--places", "LIST", &raw_options::places, 0,
                   "Columns and answers of a GPU, host memory being pinned" + of(bench::join_places)},
      option_entry{"--threads", "N", &raw_options::threads, 0, "CPU threads, 0 for all cores"},
      option_entry{"--repeat", "N", &raw_options::repeat, 0, "Timed runs, the median counts; default: 5"},
      option_entry{"--seed", "N", &raw_options::seed, 0, "Seed of all data"},
      option_entry{"--format", "NAME", &raw_options::format, 0, "table, json or csv"},
      option_entry{"--out", "FILE", &raw_options::out, 0, "File for the result, instead of standard output"},
  };
  for (const auto& entry : entries) add(command, o, entry);
  command.footer("Example: espalier bench joins --device gpu --keys 2^26 --orders sorted,random --format json");
  command.formatter_fn(short_help);
}

void add_duckdb_option(CLI::App& command, raw_options& o) {
  add(command, o,
      {"--duckdb-python", "FILE", &raw_options::duckdb_python, 0,
       "A Python with the packages duckdb and pyarrow; default: .venv, then python3"});
}

void refuse_unknown_arguments(const CLI::App& bench, const CLI::App& command) {
  const std::vector<std::string> unknown = command.remaining();
  if (unknown.empty()) return;
  const std::string name = unknown.front().substr(0, unknown.front().find('='));
  std::string others;
  for (const auto* other : bench.get_subcommands([](const CLI::App*) { return true; })) {
    if (name.starts_with("--") && other->get_option_no_throw(name) != nullptr) {
      others += (others.empty() ? "" : ", ") + other->get_name();
    }
  }
  throw bad_arguments(fmt::format("`espalier bench {0}` does not take '{1}'{2}; see `espalier bench {0} --help`.",
                                  command.get_name(), name, others.empty() ? "" : ", which is for " + others));
}

}  // namespace espalier::cli
