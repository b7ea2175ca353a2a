// as_of_target.cpp - an as-of join that saturates a GPU: the whole statement, and its index query with keys and results
// in the device's memory.
#include <arrow/array.h>
#include <arrow/table.h>
#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <atomic>

#include "bench/harness/runner.hpp"
#include "bench/query/columns.hpp"
#include "bench/query/join_data.hpp"
#include "bench/query/sql_under_test.hpp"
#include "bench/query/target_table.hpp"
#include "bench/query/targets.hpp"
#include "espalier/device/buffer.hpp"
#include "espalier/static_tree/static_tree.hpp"

namespace espalier::bench {
namespace {

constexpr double asked_rows_per_second = 1e9;
constexpr const char* large_as_of =
    "SELECT t.id, q.price FROM trades t LEFT JOIN LATERAL (SELECT price FROM quotes q WHERE q.ts <= t.ts ORDER BY q.ts "
    "DESC LIMIT 1) q ON true";

/// There is a quote at every even time, so the nearest one is at the trade's time or one before.
void check_prices(const arrow::Table& answer, std::uint64_t rows, std::uint64_t seed) {
  const auto flat = engine::value_of(answer.CombineChunks(), "The answer of a join cannot be read");
  bool right = flat->num_rows() == static_cast<std::int64_t>(rows);
  for (std::int64_t i = 0; right && i < flat->num_rows(); ++i) {
    const auto id = static_cast<const arrow::Int32Array&>(*flat->column(0)->chunk(0)).Value(i);
    const auto price = static_cast<const arrow::Int32Array&>(*flat->column(1)->chunk(0)).Value(i);
    const std::uint64_t ts = trade_time(static_cast<std::uint64_t>(id), rows, seed);
    right = price == price_at(ts & ~std::uint64_t{1}, seed);
  }
  if (!right) throw cli::wrong_answer("An as-of join gave a trade a price that was not the last one before it.");
}

template <class T>
buffer<T> on_device(const device& where, const std::vector<T>& host) {
  buffer<T> copy(where, host.size());
  const stream order = where.default_stream();
  where.copy(copy.data(), host.data(), host.size() * sizeof(T), order);
  order.synchronize();
  return copy;
}

/// Measures the index query as the engine runs it: the nearest key below the time after the trade's.
double kernel_seconds(const device& where, std::uint64_t rows, std::uint64_t seed, unsigned repeat) {
  std::vector<std::int64_t> keys(rows), asked(rows);
  std::vector<std::uint32_t> values(rows);
  tbb::parallel_for(std::uint64_t{0}, rows, [&](std::uint64_t i) {
    keys[i] = static_cast<std::int64_t>(2 * i);
    values[i] = static_cast<std::uint32_t>(i);
    asked[i] = static_cast<std::int64_t>(trade_time(i, rows, seed)) + 1;
  });
  const auto tree = static_tree<std::int64_t, std::uint32_t>::build(keys, values, {.sorted = true}, where);
  const auto questions = on_device(where, asked);
  const buffer<std::int64_t> found_keys(where, rows);
  const buffer<std::uint32_t> found_rows(where, rows);
  const buffer<std::uint8_t> found(where, rows);
  const stream order = where.default_stream();
  const auto run = [&](std::size_t times) {
    for (std::size_t i = 0; i < times; ++i) {
      tree.predecessor_async(questions.span(), found_keys.span(), found_rows.span(), found.span(), {}, order);
    }
    order.synchronize();
  };
  run(1);
  const auto answers = found_rows.to_vector();
  for (std::uint64_t i = 0; i < rows; ++i) {
    if (answers[i] != trade_time(i, rows, seed) / 2) throw cli::wrong_answer("A predecessor was not the nearest key.");
  }
  return median_seconds(repeat, run);
}

}  // namespace

suite_part measure_large_as_of(query_setting& setting) {
  const std::uint64_t n = setting.rows(26), seed = setting.what.base.seed;
  const unsigned repeat = setting.what.base.repeat;
  const scratch_file quotes(setting.folder, "quotes.parquet"), trades(setting.folder, "trades.parquet");
  write_parquet_file(quotes.path(), n, quotes_source(n, seed));
  write_parquet_file(trades.path(), n, trades_source(n, seed));
  suite_part part;
  target_table lines;
  for (const auto where : setting.devices) {
    const timed_log log(fmt::format("as-of join of {} rows on the {}", size_text(n), processor_name(where)));
    report& results = part.reports[where] = begin_report(setting.what.base);
    const auto add = [&](const std::string& what, double seconds, double asked) {
      row r = setting.result(where, what, n, seconds);
      r.queries = n;
      r.rate = static_cast<double>(n) / seconds;
      lines.add_rate(fmt::format("{0} x {0} rows, {1}, {2}", size_text(n), processor_name(where), what), r.rate, "rows",
                     asked);
      results.rows.push_back(std::move(r));
    };
    {
      sql_under_test tested(where, setting.threads);
      tested.load("quotes", quotes.path());
      tested.load("trades", trades.path());
      tested.run("CREATE INDEX i ON quotes (ts)");
      check_prices(*tested.ask(large_as_of), n, seed);
      add("the whole statement", tested.seconds({large_as_of}, repeat), 0);
    }
    add("the question to the index", kernel_seconds(device_of(where, setting.threads), n, seed, repeat),
        where == device_choice::gpu ? asked_rows_per_second : 0);
  }
  part.tables = fmt::format(
                    "## A large as-of join\n\nThe statement fetches all rows of its answer. The question to the "
                    "index has keys and answers in the device's memory, which is kernel time. {}\n\n",
                    about_devices(setting)) +
                lines.text("") + provenance(setting.what.base);
  return part;
}

}  // namespace espalier::bench
