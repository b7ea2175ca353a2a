// range_target.cpp - aggregates over a tenth of a table and a selection of 1,000 rows, compared with DuckDB's scans.
#include <arrow/table.h>
#include <fmt/format.h>

#include "bench/harness/runner.hpp"
#include "bench/query/key_table.hpp"
#include "bench/query/same_rows.hpp"
#include "bench/query/sql_under_test.hpp"
#include "bench/query/target_table.hpp"
#include "bench/query/targets.hpp"

namespace espalier::bench {
namespace {

struct range_target {
  std::string what;
  std::string columns;
  std::uint64_t keys;
  double asked;
};

std::vector<std::string> statements_of(const range_target& target, const key_table& table) {
  std::vector<std::string> list;
  for (const auto& range : table.ranges(32, target.keys)) {
    list.push_back(fmt::format("SELECT {} FROM t WHERE k BETWEEN {} AND {}", target.columns, range.lo, range.hi));
  }
  return list;
}

/// Checks the result of the first statement against the function that generated the rows.
void check_first(const range_target& target, const key_table& table, const arrow::Table& answer) {
  const key_range range = table.ranges(1, target.keys).front();
  if (target.columns == "*") return table.check(key_question::range, range, answer);
  int column = 0;
  for (const auto question : {key_question::count, key_question::sum}) {
    const auto one = arrow::Table::Make(arrow::schema({answer.field(column)}), {answer.column(column)});
    table.check(question, range, *one);
    ++column;
  }
}

}  // namespace

suite_part measure_ranges(query_setting& setting) {
  const std::uint64_t n = setting.rows(24);
  const unsigned repeat = setting.what.base.repeat;
  const key_table table(pair_kind::non_identical, n, setting.what.base.seed);
  const scratch_file file(setting.folder, "rows.parquet");
  const timed_log log(fmt::format("ranges of {} rows", size_text(n)));
  write_parquet_file(file.path(), n, table.source());
  setting.duckdb.run(fmt::format("CREATE OR REPLACE TABLE t AS SELECT * FROM read_parquet('{}')", file.path()));
  sql_under_test tested(device_choice::cpu, setting.threads);
  tested.load("t", file.path());
  tested.run("CREATE INDEX i ON t (k) INCLUDE (v)");
  suite_part part;
  target_table lines;
  report& results = part.reports[device_choice::cpu] = begin_report(setting.what.base);
  for (const auto& target :
       {range_target{"COUNT and SUM over 10 % of the rows", "count(*), sum(v)", std::max<std::uint64_t>(n / 10, 1), 50},
        range_target{"1,000 rows by range", "*", 1000, 5}}) {
    const auto statements = statements_of(target, table);
    const auto answer = tested.ask(statements.front());
    check_first(target, table, *answer);
    row r = setting.result(device_choice::cpu, target.what, n, tested.seconds(statements, repeat));
    r.range_elements = target.keys;
    const auto peer = setting.duckdb.ask(statements, repeat);
    if (peer) {
      require_same_rows(*answer, *peer->answer, statements.front());
      add_peer(r, "duckdb", peer->seconds);
    }
    lines.add(fmt::format("{} rows: {}", size_text(n), target.what), r.seconds,
              peer ? std::optional(peer->seconds) : std::nullopt, target.asked);
    results.rows.push_back(std::move(r));
  }
  setting.duckdb.run("DROP TABLE t");
  part.tables = "## Ranges\n\nKeys in random order, an index here, none there; both warm.\n\n" + lines.text("DuckDB") +
                setting.duckdb.about() + '\n' + provenance(setting.what.base);
  return part;
}

}  // namespace espalier::bench
