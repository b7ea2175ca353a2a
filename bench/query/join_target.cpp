// join_target.cpp - as-of and band joins compared with DuckDB's. In PostgreSQL an as-of join is written with LATERAL;
// DuckDB has its own keyword.
#include <arrow/table.h>
#include <fmt/format.h>

#include <map>

#include "bench/harness/runner.hpp"
#include "bench/query/join_data.hpp"
#include "bench/query/same_rows.hpp"
#include "bench/query/sql_under_test.hpp"
#include "bench/query/target_table.hpp"
#include "bench/query/targets.hpp"

namespace espalier::bench {
namespace {

struct join_target {
  const char* what;
  const char* ours;
  const char* theirs;
  const char* index;
  double asked;
};

constexpr join_target as_of{
    "as-of join",
    "SELECT t.id, q.price FROM trades t LEFT JOIN LATERAL (SELECT price FROM quotes q WHERE q.ts <= t.ts ORDER BY q.ts "
    "DESC LIMIT 1) q ON true",
    "SELECT t.id, q.price FROM trades t ASOF LEFT JOIN quotes q ON t.ts >= q.ts", "quotes (ts)", 1};
constexpr join_target as_of_by_symbol{
    "as-of join by symbol",
    "SELECT t.id, q.price FROM trades t LEFT JOIN LATERAL (SELECT price FROM quotes q WHERE q.symbol = t.symbol AND "
    "q.ts <= t.ts ORDER BY q.ts DESC LIMIT 1) q ON true",
    "SELECT t.id, q.price FROM trades t ASOF LEFT JOIN quotes q ON t.symbol = q.symbol AND t.ts >= q.ts",
    "quotes (symbol, ts)", 1};
constexpr const char* band_statement =
    "SELECT t.id, s.id AS span FROM trades t JOIN spans s ON t.ts BETWEEN s.start AND s.finish";
constexpr join_target band{"band join", band_statement, band_statement, "trades (ts)", 3};

class join_targets {
 public:
  explicit join_targets(query_setting& setting)
      : setting_(setting),
        rows_(setting.rows(20)),
        spans_(setting.rows(16)),
        tested_(device_choice::cpu, setting.threads) {
    part_.reports[device_choice::cpu] = begin_report(setting.what.base);
  }

  [[nodiscard]] suite_part measure() {
    const std::uint64_t seed = setting_.what.base.seed;
    const timed_log log(fmt::format("joins of {} rows", size_text(rows_)));
    load("quotes", rows_, quotes_source(rows_, seed));
    load("trades", rows_, trades_source(rows_, seed));
    load("spans", spans_, spans_source(spans_, rows_, seed));
    measure(as_of, rows_);
    measure(as_of_by_symbol, rows_);
    measure(band, spans_);
    for (const char* const table : {"quotes", "trades", "spans"}) {
      setting_.duckdb.run(fmt::format("DROP TABLE {}", table));
    }
    part_.tables = "## Joins\n\nRows in random order; every row of the answer is fetched.\n\n" + lines_.text("DuckDB") +
                   setting_.duckdb.about() + '\n' + provenance(setting_.what.base);
    return std::move(part_);
  }

 private:
  void load(const std::string& table, std::uint64_t rows, const row_source& source) {
    const scratch_file file(setting_.folder, table + ".parquet");
    write_parquet_file(file.path(), rows, source);
    tested_.load(table, file.path());
    setting_.duckdb.run(
        fmt::format("CREATE OR REPLACE TABLE {} AS SELECT * FROM read_parquet('{}')", table, file.path()));
  }

  void measure(const join_target& target, std::uint64_t right_rows) {
    const unsigned repeat = setting_.what.base.repeat;
    const auto peer = setting_.duckdb.ask({target.theirs}, repeat);
    const auto plain = tested_.ask(target.ours);
    if (peer) require_same_rows(*plain, *peer->answer, target.ours);
    add(target, right_rows, "without an index", peer);
    tested_.run(fmt::format("CREATE INDEX i ON {}", target.index));
    require_same_rows(*plain, *tested_.ask(target.ours), target.ours);
    add(target, right_rows, "with an index", peer);
    tested_.run("DROP INDEX i");
  }

  void add(const join_target& target, std::uint64_t right_rows, const char* with,
           const std::optional<peer_timing>& peer) {
    const std::string name =
        fmt::format("{} x {} rows: {}, {}", size_text(rows_), size_text(right_rows), target.what, with);
    row r = setting_.result(device_choice::cpu, fmt::format("{}, {}", target.what, with), rows_,
                            tested_.seconds({target.ours}, setting_.what.base.repeat));
    if (peer) add_peer(r, "duckdb", peer->seconds);
    lines_.add(name, r.seconds, peer ? std::optional(peer->seconds) : std::nullopt, target.asked);
    part_.reports[device_choice::cpu].rows.push_back(std::move(r));
  }

  query_setting& setting_;
  std::uint64_t rows_;
  std::uint64_t spans_;
  sql_under_test tested_;
  target_table lines_;
  suite_part part_;
};

}  // namespace

suite_part measure_joins(query_setting& setting) { return join_targets(setting).measure(); }

}  // namespace espalier::bench
