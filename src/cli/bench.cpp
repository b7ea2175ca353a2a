// bench.cpp - `espalier bench`: arguments in, table, JSON or CSV out. The harness is in bench/.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "bench/btree_suite.hpp"
#include "bench/byte_generators.hpp"
#include "bench/cuart_figures.hpp"
#include "bench/cuart_suite.hpp"
#include "bench/distribution_matrix.hpp"
#include "bench/hb_figures.hpp"
#include "bench/hb_suite.hpp"
#include "bench/index_trace.hpp"
#include "bench/options.hpp"
#ifdef ESPALIER_HAS_ENGINE
#include "bench/query/query_suite.hpp"
#endif
#include "bench/row.hpp"
#include "bench/runner.hpp"
#include "bench/traced_work.hpp"
#include "cli/commands.hpp"

namespace espalier::cli {
namespace {

using bench::bad_arguments;

const char* footer =
    "Options with a comma-separated list are axes: every combination is measured. Numbers: 1000000, 1e6, 2^20.\n"
    "Data come from --seed alone, whatever the number of threads. For each row the answers are checked against sorted\n"
    "arrays and against each peer; a difference ends the run with exit code 1.\n"
    "GPU rows have queries and answers in device memory, those of the radix tree where --location says, those of the\n"
    "hybrid tree in host memory. 'plan' is how the batch was answered.\n\n"
    "Peers, CPU: lower-bound (std::lower_bound on sorted arrays), std-map, absl-btree, vector-scan (no index),\n"
    "tbb-sort (build), reduce (visit). GPU: thrust-lower-bound, cub-sort (build), reduce (visit).\n"
    "Those of the B-link and the hybrid tree are std-map and absl-btree on a CPU; they write in one thread. Visits of\n"
    "the B-link tree have reduce, too, also on a GPU. Those of the radix tree are maps with std::string as key,\n"
    "pointer-art (an adaptive radix tree of nodes and pointers), grt-like (one packed into a single buffer) and\n"
    "fixed-table (ours, updated as the CuART paper does), the latter two also on a GPU; they find and update, in all\n"
    "threads.\n"
    "A ratio of 3 means: the index is 3 times as fast. Peers may answer a prefix of the queries.\n\n"
    "B-link tree (--index blink): its keys are all different, and so are the new ones. Before each run of an "
    "operation\n"
    "that writes, the tree is built anew outside the timed part; afterwards every key is looked up. insert, update "
    "and\n"
    "erase take --batch elements, insert-empty all keys, snapshot and visit all elements; mixed and ycsb-* --queries\n"
    "operations: mixed 50 % insert;\n"
    "ycsb-a 50 % update, b 5 % update, c finds alone, d 5 % insert and finds of the latest, e 5 % insert and ranges "
    "of\n"
    "up to 100, f 50 % find then update. Compiled are link and none with --upper express and classic, couple with\n"
    "classic; --slots with link. Shapes other than the default exist for u32/u32 and u64/u64.\n\n"
    "With --batch-distribution, --ops insert and erase of u32 and u64 keys make one table: trees of --keys (0: "
    "empty),\n"
    "batches of --batch (list), distributions and paths. append-sorted, append-shuffled: behind the last key; "
    "cluster,\n"
    "clusters-1024: between few neighbouring keys, in one place or in 1,024; zipf: denser towards the smallest key;\n"
    "ascending: sorted, between the keys of the whole tree; descending: before the first key, backwards; random:\n"
    "between any keys. erase takes what an automatic insert brought, in the same order. absl-btree and std-map insert\n"
    "with the right hint where the batch is sorted at an end. With --out the table goes to standard output, too.\n\n"
    "Radix tree (--index radix): keys are byte strings, all different, with u64 values. uniform: random bytes;\n"
    "sequential: a counter; uuids: 16 raw bytes, or 36 of text; urls; triples: terms of RDF data. Misses (--hit-rate)\n"
    "are further keys of the same data. count-prefix asks for the first halves of keys. range lists --range-length\n"
    "elements, prefix fewer than twice as many, successor one. find and contains go in batches of --batch keys, from\n"
    "--location, by --streams threads with a stream each; the clock stops when all answers are there. insert, update\n"
    "and erase take --batch keys, or --queries; before each insert and erase the tree is built anew outside the timed\n"
    "part. 'of find' is the rate of updates beside that of finds of the same batch, waited for in the same way.\n\n"
    "Hybrid tree (--index hybrid): the tree is in host memory; --device walks inner levels beside the host, whose\n"
    "threads are --threads. Without a GPU, threads of the CPU stand in for it. Keys are all different, trees built\n"
    "from pairs in key order. find, contains and range-rows travel in buckets: --layout, --placement, --buckets,\n"
    "--bucket and --balance are axes, and 'vs host-alone' is how fast that is beside the CPU path in the same run. "
    "For\n"
    "automatic placement and tuned balance the tree is tuned with the first queries, before the clock starts;\n"
    "'automatic: shared' is what came of it, and a note says why. Timed runs ask for the same keys, so with a "
    "--leaf-cache as\n"
    "large as the leaves that they touch the device has them all; give 0 to see leaves read from host memory. Other\n"
    "questions are answered by the host. insert (new keys) and update (keys that are there) write --queries pairs at\n"
    "once, erase takes as many keys; what goes to the device is included, for the regular layout in the way of --way.\n"
    "--requests draws ranks of keys: uniform, normal (1/2, 1/8), gamma (3, 3), or a few keys often: zipf.\n\n"
    "Examples:\n"
    "  espalier bench --keys 2^20,2^24 --ops find --threads 1 --peers lower-bound,absl-btree\n"
    "  espalier bench --device gpu --keys 2^27 --queries 2^26 --distribution uniform,clustered,zipf --ops find\n"
    "  espalier bench --key-type f64 --ops build,sum,visit --format json --out result.json\n"
    "  espalier bench --index blink --keys 2^22 --policy link,couple --ops insert,find,ycsb-a\n"
    "  espalier bench --index radix --distribution urls,triples --keys 2^20 --ops find,count-prefix\n"
    "  espalier bench --index radix --device gpu --key-length 32 --ops find --location host --batch 2^15,2^18\n"
    "  espalier bench --index radix --ops update,insert,erase --batch 2^12,2^16,2^20 --path in-place,rebuild\n"
    "  espalier bench --index hybrid --keys 2^26 --key-type u64 --ops find --placement automatic,host-alone,shared\n"
    "  espalier bench --index hybrid --layout regular --ops find --buckets sequential,double-buffered --requests zipf\n"
    "  espalier bench --suite btree-on-gpu --max-keys 2^20 --out results\n"
    "  espalier bench --suite cuart --parts 7,10 --max-keys 2^18 --out results\n"
    "  espalier bench --suite hb-plus-tree --parts 10,16 --max-keys 2^26 --out results\n"
    "  espalier bench --suite query-engine --parts ranges,joins --duckdb-python .venv/bin/python3 --out results";

void add_data_options(CLI::App& c, bench::raw_options& o) {
  c.add_option("--index", o.index, "Which index: " + bench::choices(bench::index_names))->capture_default_str();
  c.add_option("--device", o.device, "cpu, gpu or auto (the GPU if there is one)")->capture_default_str();
  c.add_option("--keys", o.keys, "Keys in the index (list)")->capture_default_str();
  c.add_option("--queries", o.queries,
               "Queries per batch (list), or keys: as many as there are; default: 16 times the keys, 2^14 to 2^22");
  c.add_option("--key-type", o.key_type, bench::choices(bench::key_type_names) + " (list); default: u32");
  c.add_option("--value-type", o.value_type,
               bench::choices(bench::value_type_names) + "; default: unsigned, as wide as the key");
  c.add_option(
       "--distribution", o.distribution,
       bench::choices(bench::distribution_names) + "; radix: " + bench::choices(bench::byte_data_names) + " (list)")
      ->capture_default_str();
  c.add_option("--hit-rate", o.hit_rate, "Share of point queries that are keys of the index")->capture_default_str();
  c.add_option(
      "--range-length", o.range_length,
      "Elements per range; default: 100 for range, for others 10^6 or keys/16, whichever is smaller; blink, radix: 32; "
      "hybrid: 8");
  c.add_option("--seed", o.seed, "Seed of all data")->capture_default_str();
}

void add_run_options(CLI::App& c, bench::raw_options& o) {
  const auto operations = [](bench::index_kind index) {
    return bench::operations_of(index) + "; default: " + bench::default_operations(index);
  };
  c.add_option("--ops", o.ops,
               "static: " + operations(bench::index_kind::static_tree) + ". blink: " +
                   operations(bench::index_kind::blink) + ". radix: " + operations(bench::index_kind::radix) +
                   ". hybrid: " + operations(bench::index_kind::hybrid) + " (list)");
  c.add_option("--peers", o.peers,
               "Peers to measure beside (list, or none); default: the arrays, sorts and reductions; blink, radix, "
               "hybrid: the maps, for visit also reduce");
  c.add_flag("--force-peers", o.force_peers, "Measure peers at sizes where they take very long or much memory");
  c.add_option("--threads", o.threads, "CPU threads, 0 for all cores (list)")->capture_default_str();
  c.add_option("--repeat", o.repeat, "Timed runs, of which the median counts; default: 5, of writes 3");
  c.add_option("--plan", o.plan, bench::choices(bench::plan_names) + "; default: automatic");
  c.add_option("--node-search", o.node_search, bench::choices(bench::node_search_names) + " (CPU only)");
  c.add_option("--aggregates", o.aggregates,
               bench::choices(bench::aggregates_names) + "; default: what each operation needs");
  c.add_option("--format", o.format, "table, json or csv")->capture_default_str();
  c.add_option("--out", o.out,
               "File to write to instead of standard output; with --suite the folder, by default one named after it");
}

void add_blink_options(CLI::App& c, bench::raw_options& o) {
  c.add_option("--policy", o.policy, "blink: " + bench::choices(bench::protocol_names) + " (list); default: link");
  c.add_option("--upper", o.upper,
               "blink: " + bench::choices(bench::upper_names) + " (list); default: express, for couple classic");
  c.add_option("--slots", o.slots, "blink: elements of a node, 8 to 4096, 0 for the default (list)");
  c.add_option("--path", o.path,
               "How batches are written, blink: " + bench::choices(bench::path_names) +
                   ", radix: " + bench::choices(bench::radix_path_names) + " (list); default: automatic");
  c.add_option("--batch", o.batch,
               "blink, radix: elements of a write; radix: also keys of one find (list); default: as many as --queries");
  c.add_option("--batch-distribution", o.batch_distribution,
               "blink: distribution of a batch's keys relative to the tree's, " +
                   bench::choices(bench::batch_distribution_names) + " (list)");
  c.add_option("--requests", o.requests,
               "blink, hybrid: which keys are asked for and updated, " + bench::choices(bench::request_names) +
                   " (hybrid: list; blink: not normal, gamma); default: zipf for ycsb, else uniform");
  c.add_option("--fill", o.fill,
               "blink, hybrid of regular layout: share of a leaf that a build fills, 0.25 to 1; default: 0.75");
}

void add_trace_option(CLI::App& c, bench::raw_options& o) {
  using bench::index_kind;
  c.add_option(
      "--trace", o.trace,
      fmt::format(
          "Also write a trace to this file, for espalier explore: the first shape and size, once more and apart from "
          "the timed runs, with 64-bit keys, at most {} in the tree and {} of each operation. blink, with 8 or 12 "
          "slots: {}. radix, with data uniform or sequential in keys of 8 bytes: {}. hybrid, its part in host memory "
          "by CPU threads: {}; of implicit layout and static, on a CPU: {}",
          bench::most_traced_keys, bench::most_traced_operations, bench::traced_operations(index_kind::blink, true),
          bench::traced_operations(index_kind::radix, true), bench::traced_operations(index_kind::hybrid, true),
          bench::traced_operations(index_kind::static_tree, false)));
}

void add_radix_options(CLI::App& c, bench::raw_options& o) {
  std::string lengths;
  for (const auto& data : bench::byte_data_names) {
    lengths += fmt::format("{}{} {}", lengths.empty() ? "" : ", ", data.name, bench::default_key_length(data.value));
  }
  c.add_option("--key-length", o.key_length,
               "radix: bytes of a key, 0 for natural lengths (list); default: " + lengths);
  c.add_option(
      "--long-share", o.long_share,
      fmt::format("radix: share of keys that are made longer, up to {} bytes; default: 0", bench::most_long_key));
  c.add_option("--long-keys", o.long_keys,
               "radix: how a GPU finds keys of more than 32 bytes, " + bench::choices(bench::long_key_names) +
                   " (list; all the same on a CPU); default: on-device");
  c.add_option("--location", o.location,
               "radix: where queries, answers and written keys are on a GPU, " + bench::choices(bench::location_names) +
                   " (list); host means end to end, from page-locked memory; default: device");
  c.add_option("--streams", o.streams,
               "radix: batches of finds in flight at once, each by a thread of its own (list); default: 8 on a GPU if "
               "--batch is given, else 1");
}

void add_hybrid_options(CLI::App& c, bench::raw_options& o) {
  c.add_option(
      "--layout", o.layout,
      "hybrid: the tree in host memory, " + bench::choices(bench::layout_names) + " (list); default: implicit");
  c.add_option("--placement", o.placement,
               "hybrid: who walks what, " + bench::choices(bench::placement_names) + " (list); default: automatic");
  c.add_option("--buckets", o.buckets,
               "hybrid: how buckets follow each other, " + bench::choices(bench::handling_names) +
                   " (list); default: double-buffered");
  c.add_option("--bucket", o.bucket, "hybrid: queries that travel together, at most (list); default: 2^21");
  c.add_option("--balance", o.balance,
               "hybrid: inner levels of a bucket are shared out as measured or all go to the device, " +
                   bench::choices(bench::balancing_names) + " (list); default: tuned");
  c.add_option(
      "--pages", o.pages,
      "hybrid: pages of leaves and inner levels, " + bench::choices(bench::pages_names) + " (list); default: huge");
  c.add_option("--way", o.way,
               "hybrid of regular layout: how a write brings the inner levels up to date, " +
                   bench::choices(bench::update_way_names) + " (list); default: automatic");
  c.add_option("--gpu-memory", o.gpu_memory,
               "hybrid: bytes of the device's memory that the tree may take; default: all");
  c.add_option("--leaf-cache", o.leaf_cache,
               "hybrid: of these, bytes for copies of leaves where the device reads them (placements device-alone and "
               "both), of all of them if they fit; default: a quarter of what a GPU has left");
  c.add_option("--window", o.window,
               "hybrid: queries at most that the device orders before it reads leaves itself, as many as a bucket at "
               "least; default: 2^26");
  c.add_option("--host-memory", o.host_memory,
               "hybrid: of queries and answers beside a GPU, " + bench::choices(bench::host_memory_names) +
                   "; default: pinned, which the GPU copies without the CPU");
}

void add_suite_options(CLI::App& c, bench::raw_options& o) {
  c.add_option(
      "--suite", o.suite,
      "btree-on-gpu: tables and plots of search and insertion beside std::map, 2^10 to 2^25 keys, for B+tree "
      "and B-link trees on the CPU and, if there is one, the GPU. cuart: tables and plots of figures 7-12 and 15-17 of "
      "the CuART paper, radix trees by size, batch, key length and data set, beside an adaptive radix tree of pointers "
      "and one like GRT. hb-plus-tree: tables and plots of figures 7-18 and 20 of the HB+-tree paper, hybrid trees by "
      "size, bucket, distribution of queries and batch of updates, beside the CPU alone. query-engine: tables and "
      "plots "
      "of figures 8-13 of the query engine's paper, SQL over tables of 2^15 to 2^27 rows with each kind of index, "
      "without one, and by DuckDB; then as tables what the engine has to reach beside DuckDB and Arrow. Take --parts, "
      "--device, --threads, --repeat, --seed, --max-keys and --out");
  c.add_option(
      "--parts", o.parts,
      "Which parts of a suite are measured (list); default: all. btree-on-gpu: shuffled, ascending, gaussian, "
      "mesh; cuart, hb-plus-tree: the figures, such as 8,10; query-engine: identical (figures 8-10), "
      "non-identical (11-13), ranges, joins, loads, batches, as-of, tpch. Runs with the same --out fill one folder: each "
      "part is saved as soon as it is measured, its rows as PART-cpu.json and PART-gpu.json, its tables as "
      "part-PART.md, and tables.md holds those of all parts that are there");
  c.add_option("--max-keys", o.max_keys,
               "Largest size of a suite; default: the paper's, 2^25, 144 Mi and 2^30, and 2^27 rows");
  c.add_option("--duckdb-python", o.duckdb_python,
               "query-engine: a Python that has the packages duckdb and pyarrow; default: that of a .venv above the "
               "program or the working folder, else python3. Without DuckDB its columns stay empty");
  c.add_option("--load-bytes", o.load_bytes, "query-engine: size of the files that are loaded; default: 1e9");
}

/// A suite decides itself what is measured: options that it would not read are refused.
void check_suite_options(const CLI::App& c, const bench::raw_options& o) {
  if (o.suite.empty()) {
    if (!o.max_keys.empty()) throw bad_arguments("--max-keys is for --suite.");
    if (!o.parts.empty()) throw bad_arguments("--parts is for --suite.");
  }
  if (o.suite != "query-engine") {
    if (!o.duckdb_python.empty()) throw bad_arguments("--duckdb-python is for --suite query-engine.");
    if (!o.load_bytes.empty()) throw bad_arguments("--load-bytes is for --suite query-engine.");
  }
  if (o.suite.empty()) return;
  const std::set<std::string> taken{"--suite",  "--parts", "--max-keys", "--device",        "--threads",
                                    "--repeat", "--seed",  "--out",      "--duckdb-python", "--load-bytes"};
  for (const auto* option : c.get_options()) {
    if (option->count() != 0 && !taken.contains(option->get_name())) {
      throw bad_arguments(fmt::format("{} is not for --suite.", option->get_name()));
    }
  }
}

using writer = void (*)(const bench::report&, std::ostream&);

writer writer_for(const std::string& format) {
  if (format == "table") return bench::write_table;
  if (format == "json") return bench::write_json;
  if (format == "csv") return bench::write_csv;
  throw bad_arguments(fmt::format("--format does not know '{}': choose table, json or csv.", format));
}

struct suite {
  const char* name;
  std::uint64_t most_keys;  ///< of the paper
  void (*run)(const bench::suite_options&, std::ostream&);
};
constexpr std::array suites{
    suite{"btree-on-gpu", bench::most_btree_keys, bench::run_btree_suite},
    suite{"cuart", bench::most_cuart_keys, bench::run_cuart_suite},
    suite{"hb-plus-tree", bench::most_hb_keys, bench::run_hb_suite},
#ifdef ESPALIER_HAS_ENGINE
    suite{"query-engine", bench::most_query_rows, bench::run_query_suite},
#endif
};
constexpr std::uint64_t default_load_bytes = 1'000'000'000;

/// "a, b or c"
std::string suite_names() {
  std::string names;
  for (std::size_t i = 0; i < suites.size(); ++i) {
    names += fmt::format("{}{}", i == 0 ? "" : i + 1 == suites.size() ? " or " : ", ", suites[i].name);
  }
  return names;
}

int run_suite(const bench::raw_options& raw, const std::string& command_line) {
  const auto known = std::find_if(suites.begin(), suites.end(), [&](const suite& s) { return s.name == raw.suite; });
  if (known == suites.end()) {
    throw bad_arguments(fmt::format("--suite does not know '{}': choose {}.", raw.suite, suite_names()));
  }
  bench::suite_options what;
  what.base = bench::parse_options(raw);
  what.base.command = command_line;
  what.most_keys = known->most_keys;
  if (!raw.max_keys.empty()) what.most_keys = bench::parse_number("max-keys", raw.max_keys);
  what.folder = raw.out.empty() ? raw.suite : raw.out;
  if (!raw.parts.empty()) what.parts = bench::split_list("parts", raw.parts);
  what.duckdb_python = raw.duckdb_python;
  what.load_bytes = raw.load_bytes.empty() ? default_load_bytes : bench::parse_number("load-bytes", raw.load_bytes);
  known->run(what, std::cout);
  return 0;
}

int run(const bench::raw_options& raw, const std::string& command_line) {
  if (!raw.suite.empty()) return run_suite(raw, command_line);
  const writer write = writer_for(raw.format);
  bench::options what = bench::parse_options(raw);
  what.command = command_line;
  // Recorded before any file is opened: a tree that cannot be traced leaves none behind.
  std::optional<recorded_trace> trace;
  if (!raw.trace.empty()) trace = bench::record_trace(what);
  // Opened first: a path that cannot be written must not cost an hour of measuring.
  std::ofstream file;
  if (!raw.out.empty()) {
    file.open(raw.out);
    if (!file) throw bad_arguments(fmt::format("--out: '{}' cannot be written.", raw.out));
  }
  if (trace) {
    std::ofstream out(raw.trace);
    if (!out) throw bad_arguments(fmt::format("--trace: '{}' cannot be written.", raw.trace));
    write_trace(out, *trace);
  }
  const bench::report result = bench::run_benchmarks(what);
  write(result, raw.out.empty() ? std::cout : file);
  if (!raw.out.empty() && bench::is_matrix(result)) bench::write_table(result, std::cout);
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
  add_blink_options(*command, *options);
  add_radix_options(*command, *options);
  add_hybrid_options(*command, *options);
  add_trace_option(*command, *options);
  add_suite_options(*command, *options);
  command->callback([&chosen, command, options, command_line] {
    check_suite_options(*command, *options);
    chosen = [options, command_line] { return run(*options, command_line); };
  });
}

}  // namespace espalier::cli
