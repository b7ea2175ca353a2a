// tpch_target.cpp - the 22 statements of TPC-H, compared with DuckDB. Both engines load the same Parquet files and are
// warm; they alternate run by run, so that other load on the machine slows both.
#include <arrow/table.h>
#include <fmt/format.h>

#include <cmath>

#include "bench/harness/runner.hpp"
#include "bench/query/same_rows.hpp"
#include "bench/query/sql_under_test.hpp"
#include "bench/query/targets.hpp"
#include "bench/query/tpch_statements.hpp"
#include "bench/query/tpch_tables.hpp"

namespace espalier::bench {
namespace {

constexpr std::uint64_t most_lineitem_rows = 1'000'000;
constexpr double asked_mean = 1.0;
constexpr double asked_worst = 2.0;
/// Averages and quotients are doubles, which DuckDB rounds more than once.
constexpr double tpch_tolerance = 1e-12;

class tpch_runs {
 public:
  explicit tpch_runs(query_setting& setting)
      : setting_(setting),
        rows_(std::min(most_lineitem_rows, setting.what.most_keys)),
        tested_(device_choice::cpu, setting.threads) {
    part_.reports[device_choice::cpu] = begin_report(setting.what.base);
  }

  [[nodiscard]] suite_part measure() {
    const timed_log log(fmt::format("TPC-H, {} rows of lineitem", size_text(rows_)));
    const auto tables = tpch_tables(rows_, setting_.what.base.seed);
    for (const auto& table : tables) load(table);
    for (const auto& statement : tpch_statements(rows_)) measure(statement);
    for (const auto& table : tables) setting_.duckdb.run("DROP TABLE " + table.name);
    show();
    return std::move(part_);
  }

 private:
  struct pair_of_times {
    double ours;
    std::optional<double> theirs;
  };

  void load(const tpch_table& table) {
    const scratch_file file(setting_.folder, table.name + ".parquet");
    write_parquet_file(file.path(), table.rows, table.source);
    tested_.load(table.name, file.path());
    setting_.duckdb.run(
        fmt::format("CREATE OR REPLACE TABLE {} AS SELECT * FROM read_parquet('{}')", table.name, file.path()));
  }

  void measure(const tpch_statement& statement) {
    const auto answer = tested_.ask(statement.text);
    if (const auto peer = setting_.duckdb.ask({statement.text}, 1)) {
      require_close_rows(*answer, *peer->answer, tpch_tolerance, statement.name);
    }
    const pair_of_times times = in_turn(statement.text);
    row r = setting_.result(device_choice::cpu, statement.name, rows_, times.ours);
    if (times.theirs) add_peer(r, "duckdb", *times.theirs);
    lines_.push_back({statement.name, size_text(static_cast<std::uint64_t>(answer->num_rows())),
                      seconds_text(times.ours), times.theirs ? seconds_text(*times.theirs) : "not measured",
                      times.theirs ? fmt::format("{:.2f}", times.ours / *times.theirs) : ""});
    if (times.theirs) ratios_.emplace_back(times.ours / *times.theirs, statement.name);
    part_.reports[device_choice::cpu].rows.push_back(std::move(r));
  }

  /// Returns medians; runs of our engine and of DuckDB alternate.
  [[nodiscard]] pair_of_times in_turn(const std::string& text) {
    std::vector<double> ours, theirs;
    const stopwatch all;
    do {
      const stopwatch watch;
      static_cast<void>(tested_.ask(text));
      ours.push_back(watch.seconds());
      if (const auto seconds = setting_.duckdb.again(text)) theirs.push_back(*seconds);
    } while (ours.size() < setting_.what.base.repeat && all.seconds() < 2 * most_seconds_of_runs);
    return {median(std::move(ours)), theirs.empty() ? std::nullopt : std::optional(median(std::move(theirs)))};
  }

  void show() {
    if (!ratios_.empty()) {
      double logarithms = 0;
      for (const auto& [ratio, name] : ratios_) logarithms += std::log(ratio);
      const auto worst = *std::max_element(ratios_.begin(), ratios_.end());
      lines_.push_back({"geometric mean", "", "", "",
                        fmt::format("{:.2f} (asked: at most {:.2f})",
                                    std::exp(logarithms / static_cast<double>(ratios_.size())), asked_mean)});
      lines_.push_back({fmt::format("worst: {}", worst.second), "", "", "",
                        fmt::format("{:.2f} (asked: at most {:.2f})", worst.first, asked_worst)});
    }
    part_.tables = fmt::format(
                       "## TPC-H\n\nThe 22 statements with the parameters of the specification's validation, {} rows "
                       "of lineitem (tables of our own generator), no index. The ratio is our time over DuckDB's; "
                       "medians of runs that take turns.\n\n",
                       size_text(rows_)) +
                   markdown_table({"", "rows of the answer", "ours", "DuckDB", "ratio"}, lines_) +
                   setting_.duckdb.about() + '\n' + provenance(setting_.what.base);
  }

  query_setting& setting_;
  std::uint64_t rows_;
  sql_under_test tested_;
  std::vector<std::vector<std::string>> lines_;
  std::vector<std::pair<double, std::string>> ratios_;
  suite_part part_;
};

}  // namespace

suite_part measure_tpch(query_setting& setting) { return tpch_runs(setting).measure(); }

}  // namespace espalier::bench
