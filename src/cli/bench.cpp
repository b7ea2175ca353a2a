// bench.cpp - `espalier bench`: parses arguments and prints tables, JSON or CSV. The harness is in bench/.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "bench/harness/index_trace.hpp"
#include "bench/harness/row.hpp"
#include "bench/harness/runner.hpp"
#include "bench/index/blink/distribution_matrix.hpp"
#include "bench/join/join_benchmark.hpp"
#include "bench/papers/btree_on_gpu/btree_suite.hpp"
#include "bench/papers/cuart/cuart_figures.hpp"
#include "bench/papers/cuart/cuart_suite.hpp"
#include "bench/papers/hb_plus_tree/hb_figures.hpp"
#include "bench/papers/hb_plus_tree/hb_suite.hpp"
#include "bench/papers/large_pages/large_pages_suite.hpp"
#ifdef ESPALIER_HAS_ENGINE
#include "bench/papers/btree_query_engine/btree_query_suite.hpp"
#include "bench/query/query_suite.hpp"
#endif
#include "cli/bench_options.hpp"
#include "cli/commands.hpp"

namespace espalier::cli {
namespace {

using bench::index_kind;

using writer = void (*)(const bench::report&, std::ostream&);

writer writer_for(const std::string& format) {
  if (format == "table") return bench::write_table;
  if (format == "json") return bench::write_json;
  if (format == "csv") return bench::write_csv;
  throw bad_arguments(fmt::format("--format does not know '{}': choose table, json or csv.", format));
}

/// Benchmarks whose tables, plots and results are written to one folder.
struct suite {
  const char* name;
  const char* parts;
  const char* about;
  std::uint64_t most_keys;  ///< of the paper or of the largest target
  void (*run)(const bench::suite_options&, std::ostream&);
};
constexpr std::array papers{
    suite{"btree-on-gpu", "shuffled, ascending, gaussian, mesh",
          "B+tree and B-link trees: search and insertion, 2^10 to 2^25 keys, relative to std::map",
          bench::most_btree_keys, bench::run_btree_suite},
#ifdef ESPALIER_HAS_ENGINE
    suite{"btree-query-engine", "identical, non-identical",
          "figures 8-13: range selection, COUNT, SUM in SQL, 2^15 to 2^27 rows, and DuckDB", bench::most_query_rows,
          bench::run_btree_query_suite},
#endif
    suite{"large-pages", "2, 3, 4", "figures 2-4: creation, insertion, search and visits by node size, up to 3e7 keys",
          bench::most_large_page_keys, bench::run_large_pages_suite},
    suite{"hb-plus-tree", "7 to 18, 20",
          "figures of hybrid trees by size, bucket, queries and updates, up to 2^30 keys", bench::most_hb_keys,
          bench::run_hb_suite},
    suite{"cuart", "7 to 12, 15 to 17",
          "figures of radix trees by size, batch, key length and data set, up to 144 Mi keys", bench::most_cuart_keys,
          bench::run_cuart_suite},
};
#ifdef ESPALIER_HAS_ENGINE
constexpr suite query_targets{"query", "ranges, joins, loads, batches, as-of, tpch",
                              "measures SQL statements against DuckDB and Arrow.", bench::most_query_rows,
                              bench::run_query_suite};
#endif
constexpr std::uint64_t default_load_bytes = 1'000'000'000;

std::string list_of_papers() {
  std::string text = "Papers, and the parts of each:\n";
  for (const auto& p : papers) text += fmt::format("  {:<20}{}\n{:<22}parts: {}\n", p.name, p.about, "", p.parts);
  return text;
}

const suite& paper_named(const std::string& name) {
  const auto known = std::find_if(papers.begin(), papers.end(), [&](const suite& s) { return s.name == name; });
  if (known != papers.end()) return *known;
  std::string names;
  for (const auto& p : papers) names += (names.empty() ? "" : ", ") + std::string(p.name);
  throw bad_arguments(name.empty()
                          ? fmt::format("`espalier bench papers` needs the name of a paper: choose from {}.", names)
                          : fmt::format("There is no paper '{}': choose from {}.", name, names));
}

int run_suite(const suite& chosen, const bench::raw_options& raw, const std::string& command_line) {
  bench::suite_options what;
  what.base = bench::parse_options(raw);
  what.base.command = command_line;
  what.most_keys = chosen.most_keys;
  if (!raw.max_keys.empty()) what.most_keys = bench::parse_number("max-keys", raw.max_keys);
  what.folder = raw.out.empty() ? chosen.name : raw.out;
  if (!raw.parts.empty()) what.parts = bench::split_list("parts", raw.parts);
  what.duckdb_python = raw.duckdb_python;
  what.load_bytes = raw.load_bytes.empty() ? default_load_bytes : bench::parse_number("load-bytes", raw.load_bytes);
  chosen.run(what, std::cout);
  return 0;
}

int run_index(const bench::raw_options& raw, const std::string& command_line) {
  const writer write = writer_for(raw.format);
  bench::options what = bench::parse_options(raw);
  what.command = command_line;
  // The trace is recorded before any file is opened, so that a tree that cannot be traced leaves no file.
  std::optional<recorded_trace> trace;
  if (!raw.trace.empty()) trace = bench::record_trace(what);
  // The file is opened first, since a path that is not writable must not cost an hour of measuring.
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

int run_joins(const bench::raw_options& raw, const std::string& command_line) {
  const writer write = writer_for(raw.format);
  bench::join_choices what = bench::parse_join_choices(raw);
  what.base.command = command_line;
  std::ofstream file;
  if (!raw.out.empty()) {
    file.open(raw.out);
    if (!file) throw bad_arguments(fmt::format("--out: '{}' cannot be written.", raw.out));
  }
  write(bench::run_join_benchmarks(what), raw.out.empty() ? std::cout : file);
  if (!raw.out.empty() && !file.flush()) throw std::runtime_error(fmt::format("Writing '{}' failed.", raw.out));
  return 0;
}

/// The state that the subcommands of `bench` share.
struct bench_command {
  CLI::App& app;
  action& chosen;
  const std::string& command_line;

  /// Adds a subcommand that refuses unknown arguments with a hint; `run(raw options)` returns the action.
  template <class Run>
  CLI::App& add(const char* name, const char* about, const std::shared_ptr<bench::raw_options>& raw, Run run) const {
    CLI::App* const command = app.add_subcommand(name, about);
    command->allow_extras();
    command->callback([parent = &app, command, &to = chosen, raw, run, line = command_line] {
      refuse_unknown_arguments(*parent, *command);
      to = [raw, run, line] { return run(*raw, line); };
    });
    return *command;
  }

  void add_index(const char* name, const char* about, index_kind index) const {
    const auto raw = std::make_shared<bench::raw_options>();
    add_index_options(add(name, about, raw, run_index), *raw, index);
  }
};

}  // namespace

void add_bench(CLI::App& app, action& chosen, const std::string& command_line) {
  CLI::App* const command =
      app.add_subcommand("bench", "Measure an index against its peers, on the same data, answers checked.");
  const bench_command bench{*command, chosen, command_line};
  bench.add_index("static", "measures the static tree.", index_kind::static_tree);
  bench.add_index("blink", "measures the B-link tree.", index_kind::blink);
  bench.add_index("radix", "measures the radix tree; its keys are byte strings.", index_kind::radix);
  bench.add_index("hybrid", "measures the hybrid tree, whose leaves are in host memory.", index_kind::hybrid);

  const auto of_joins = std::make_shared<bench::raw_options>();
  add_join_options(bench.add("joins", "measures joins of the library.", of_joins, run_joins), *of_joins);

  const auto raw = std::make_shared<bench::raw_options>();
  const auto name = std::make_shared<std::string>();
  CLI::App& of_papers = bench.add("papers", "measures the figures and tables of a paper.", raw,
                                  [name](const bench::raw_options& o, const std::string& line) {
                                    const suite& paper = paper_named(*name);
                                    if (!o.duckdb_python.empty() && *name != "btree-query-engine") {
                                      throw bad_arguments("--duckdb-python is for the paper btree-query-engine alone.");
                                    }
                                    return run_suite(paper, o, line);
                                  });
  of_papers.add_option("PAPER", *name, "Name of a paper, see below")->type_name("");
  add_suite_options(of_papers, *raw);
#ifdef ESPALIER_HAS_ENGINE
  add_duckdb_option(of_papers, *raw);
#endif
  const std::string about_folders =
      "Runs with the same --out fill one folder: each part is saved as soon as it is measured, as PART-cpu.json,\n"
      "PART-gpu.json, plots and part-PART.md; tables.md holds the tables of all parts.\n";
  of_papers.footer(list_of_papers() + about_folders +
                   "Examples:\n  espalier bench papers btree-on-gpu --max-keys 2^20 --out results\n"
                   "  espalier bench papers cuart --parts 7,10 --max-keys 2^18 --out results");
#ifdef ESPALIER_HAS_ENGINE
  const auto of_query = std::make_shared<bench::raw_options>();
  CLI::App& query =
      bench.add("query", query_targets.about, of_query,
                [](const bench::raw_options& o, const std::string& line) { return run_suite(query_targets, o, line); });
  add_suite_options(query, *of_query);
  add_duckdb_option(query, *of_query);
  query.add_option("--load-bytes", of_query->load_bytes, "Size of the files of the part loads; default: 1e9")
      ->type_name("N");
  query.footer(std::string("Parts: ") + query_targets.parts +
               ".\nFigures of the engine's paper: espalier bench papers "
               "btree-query-engine.\n" +
               about_folders +
               "Example:\n  espalier bench query --parts ranges,joins --duckdb-python .venv/bin/python3 --out results");
#endif

  const auto list = std::make_shared<bool>(false);
  command->add_flag("--list", *list, "List the benchmarks and the papers; so does `espalier bench` alone");
  command->footer(list_of_papers() +
                  "`espalier bench NAME --help` lists the options of a benchmark. docs/bench.md has the details.");
  command->allow_extras();
  command->callback([command, &chosen, list] {
    if (const auto unknown = command->remaining(); !unknown.empty()) {
      throw bad_arguments(fmt::format(
          "`espalier bench` takes the name of a benchmark first, not '{}': `espalier bench --list` lists them.",
          unknown.front()));
    }
    if (!command->get_subcommands().empty() && !*list) return;
    chosen = [command] {
      std::cout << command->help("espalier");
      return 0;
    };
  });
}

}  // namespace espalier::cli
