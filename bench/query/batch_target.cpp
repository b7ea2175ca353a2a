// batch_target.cpp - many range sums as one batch of a prepared statement, with parameters as a table.
#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/cast.h>
#include <arrow/table.h>
#include <fmt/format.h>

#include "bench/data/random.hpp"
#include "bench/harness/runner.hpp"
#include "bench/query/columns.hpp"
#include "bench/query/key_table.hpp"
#include "bench/query/sql_timing.hpp"
#include "bench/query/sql_under_test.hpp"
#include "bench/query/target_table.hpp"
#include "bench/query/targets.hpp"

namespace espalier::bench {
namespace {

constexpr const char* range_sum = "SELECT sum(v) FROM t WHERE k BETWEEN $1 AND $2";
constexpr double asked_per_second = 50e6;

/// Returns a range at a random position with up to a tenth of the rows.
key_range range_of(std::uint64_t statement, std::uint64_t rows, std::uint64_t seed) {
  const std::uint64_t keys = 1 + below(random_bits(seed + 7, statement), std::max<std::uint64_t>(rows / 10, 1));
  const std::uint64_t lo = below(random_bits(seed + 8, statement), rows - keys + 1);
  return {lo, lo + keys - 1};
}

std::shared_ptr<arrow::Table> parameters(std::uint64_t count, std::uint64_t rows, std::uint64_t seed) {
  const auto end = [&](std::uint64_t key_range::*which) {
    return number_column<arrow::Int32Type>(0, count, [=](std::uint64_t i) { return range_of(i, rows, seed).*which; });
  };
  return table_of({{"lo", end(&key_range::lo)}, {"hi", end(&key_range::hi)}});
}

/// The columns are the statement's number and its sum.
void check_sums(const arrow::Table& answer, const key_table& table, std::uint64_t count, std::uint64_t seed) {
  const std::string what = "The answers to a batch cannot be read";
  if (answer.num_rows() != static_cast<std::int64_t>(count)) {
    throw cli::wrong_answer("A batch has fewer or more answers than statements.");
  }
  const auto rows = engine::value_of(answer.CombineChunks(), what);
  const auto cast =
      engine::value_of(arrow::compute::Cast(rows->column(1)->chunk(0), arrow::int64()), what).make_array();
  const auto& sums = static_cast<const arrow::Int64Array&>(*cast);
  for (std::uint64_t i = 0; i < count; ++i) {
    const key_range range = range_of(i, table.rows(), seed);
    if (sums.Value(static_cast<std::int64_t>(i)) != table.aggregate(key_question::sum, range)) {
      throw cli::wrong_answer(fmt::format("A wrong sum was given for keys {} to {}.", range.lo, range.hi));
    }
  }
}

double seconds_of_batch(engine::prepared& statement, const arrow::Table& with, unsigned repeat) {
  const stopwatch watch;
  static_cast<void>(statement.execute(with));
  return statement_seconds(1, watch.seconds(), repeat,
                           [&](std::size_t) { static_cast<void>(statement.execute(with)); });
}

}  // namespace

suite_part measure_batches(query_setting& setting) {
  const std::uint64_t n = setting.rows(27), count = setting.rows(16), seed = setting.what.base.seed;
  const key_table table(pair_kind::identical, n, seed);
  const scratch_file file(setting.folder, "batch.parquet");
  write_parquet_file(file.path(), n, table.source());
  const auto with = parameters(count, n, seed);
  suite_part part;
  target_table lines;
  for (const auto where : setting.devices) {
    const timed_log log(fmt::format("batch over {} rows on the {}", size_text(n), processor_name(where)));
    sql_under_test tested(where, setting.threads);
    tested.load("t", file.path());
    tested.run("CREATE INDEX i ON t (k) INCLUDE (v)");
    engine::prepared statement = tested.prepare(range_sum);
    check_sums(*statement.execute(*with).rows, table, count, seed);
    row r =
        setting.result(where, "batch of range sums", n, seconds_of_batch(statement, *with, setting.what.base.repeat));
    r.queries = count;
    r.rate = static_cast<double>(count) / r.seconds;
    lines.add_rate(
        fmt::format("{} rows, {} range sums in one batch, {}", size_text(n), size_text(count), processor_name(where)),
        r.rate, "statements", where == device_choice::gpu ? asked_per_second : 0);
    report& results = part.reports[where] = begin_report(setting.what.base);
    results.rows.push_back(std::move(r));
  }
  part.tables =
      fmt::format("## Batches\n\n`{}`, prepared, its parameters a table, answers an Arrow table in host memory. {}\n\n",
                  range_sum, about_devices(setting)) +
      lines.text("") + provenance(setting.what.base);
  return part;
}

}  // namespace espalier::bench
