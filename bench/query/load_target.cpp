// load_target.cpp - loads files into tables, compared with Arrow's own readers, which only create a table in memory.
#include <arrow/builder.h>
#include <arrow/csv/api.h>
#include <arrow/io/file.h>
#include <arrow/table.h>
#include <fmt/format.h>
#include <parquet/arrow/reader.h>
#include <parquet/exception.h>

#include <filesystem>
#include <functional>

#include "bench/data/random.hpp"
#include "bench/harness/runner.hpp"
#include "bench/query/columns.hpp"
#include "bench/query/row_files.hpp"
#include "bench/query/same_rows.hpp"
#include "bench/query/sql_under_test.hpp"
#include "bench/query/target_table.hpp"
#include "bench/query/targets.hpp"

namespace espalier::bench {
namespace {

constexpr double asked_of_loads = 0.8;
constexpr const char* cannot_read = "Arrow cannot read the file";

std::shared_ptr<arrow::Array> names(std::uint64_t first, std::uint64_t count, std::uint64_t seed) {
  arrow::StringBuilder builder;
  for (std::uint64_t row = first; row < first + count; ++row) {
    const std::uint64_t bits = random_bits(seed + 3, row);
    engine::require_ok(builder.Append(fmt::format("customer {:x}", bits >> (20 + 4 * (bits % 8)))),
                       "A column cannot be made");
  }
  return engine::value_of(builder.Finish(), "A column cannot be made");
}

/// orders(id, day, quantity, price, customer): a file with columns of several types.
row_source orders_source(std::uint64_t seed) {
  return [seed](std::uint64_t first, std::uint64_t count) {
    const auto random = [&](unsigned stream, std::uint64_t limit) {
      return [=](std::uint64_t row) { return below(random_bits(seed + stream, row), limit); };
    };
    return table_of(
        {{"id", number_column<arrow::Int64Type>(first, count, [](std::uint64_t row) { return row; })},
         {"day", number_column<arrow::Date32Type>(first, count,
                                                  [&](std::uint64_t row) { return 15'000 + random(1, 5'000)(row); })},
         {"quantity", number_column<arrow::Int64Type>(first, count, random(2, 100))},
         {"price",
          number_column<arrow::DoubleType>(
              first, count, [&](std::uint64_t row) { return static_cast<double>(random(4, 1'000'000)(row)) / 100; })},
         {"customer", names(first, count, seed)}});
  };
}

std::shared_ptr<arrow::Table> arrow_csv(const std::string& path) {
  const auto file = engine::value_of(arrow::io::ReadableFile::Open(path), cannot_read);
  const auto reader = engine::value_of(
      arrow::csv::TableReader::Make(arrow::io::default_io_context(), file, arrow::csv::ReadOptions::Defaults(),
                                    arrow::csv::ParseOptions::Defaults(), arrow::csv::ConvertOptions::Defaults()),
      cannot_read);
  return engine::value_of(reader->Read(), cannot_read);
}

std::shared_ptr<arrow::Table> arrow_parquet(const std::string& path) {
  parquet::ArrowReaderProperties properties;
  properties.set_use_threads(true);  // as in pyarrow
  properties.set_pre_buffer(true);
  parquet::arrow::FileReaderBuilder builder;
  engine::require_ok(builder.Open(engine::value_of(arrow::io::ReadableFile::Open(path), cannot_read)), cannot_read);
  const auto reader = engine::value_of(builder.properties(properties)->Build(), cannot_read);
  return engine::value_of(reader->ReadTable(), cannot_read);
}

struct load_target {
  const char* what;
  const char* file;
  const char* reader;  ///< of our engine
  std::function<void(const std::string& path, std::uint64_t rows)> write;
  std::shared_ptr<arrow::Table> (*theirs)(const std::string&);
};

std::vector<load_target> load_targets(std::uint64_t seed) {
  const row_source orders = orders_source(seed);
  const auto csv = [orders](bool quoted) {
    return
        [orders, quoted](const std::string& path, std::uint64_t rows) { write_csv_file(path, rows, orders, quoted); };
  };
  const auto parquet = [orders](const std::string& path, std::uint64_t rows) {
    write_parquet_file(path, rows, orders);
  };
  return {{"CSV", "orders.csv", "read_csv", csv(false), arrow_csv},
          {"CSV, strings in quotes", "orders.csv", "read_csv", csv(true), arrow_csv},
          {"Parquet", "orders.parquet", "read_parquet", parquet, arrow_parquet}};
}

struct load_seconds {
  double ours;
  double theirs;
};
/// Both have read the file before, so that it is in the page cache. Then they alternate, so that both see the same
/// machine load, and each runs without the other's table, which would take memory.
load_seconds measure_in_turns(sql_under_test& tested, const load_target& target, const std::string& path,
                              unsigned repeat) {
  const std::string statement = fmt::format("CREATE TABLE orders AS SELECT * FROM {}('{}')", target.reader, path);
  tested.run(statement);
  require_equal_rows(*tested.ask("SELECT * FROM orders"), *target.theirs(path), statement);
  tested.run("DROP TABLE orders");
  std::vector<double> ours, theirs;
  const stopwatch all;
  do {
    {
      const stopwatch watch;
      const auto rows = target.theirs(path);
      theirs.push_back(watch.seconds());
    }
    const stopwatch watch;
    tested.run(statement);
    ours.push_back(watch.seconds());
    tested.run("DROP TABLE orders");
  } while (ours.size() < repeat && all.seconds() < 6 * most_seconds_of_runs);
  return {median(std::move(ours)), median(std::move(theirs))};
}

std::string bytes_text(double bytes) {
  return bytes >= 1e8 ? fmt::format("{:.2f} GB", bytes / 1e9) : fmt::format("{:.2f} MB", bytes / 1e6);
}

}  // namespace

suite_part measure_loads(query_setting& setting) {
  suite_part part;
  target_table lines;
  report& results = part.reports[device_choice::cpu] = begin_report(setting.what.base);
  sql_under_test tested(device_choice::cpu, setting.threads);
  for (const auto& target : load_targets(setting.what.base.seed)) {
    const timed_log log(fmt::format("load of {}", target.what));
    const scratch_file file(setting.folder, target.file);
    const std::uint64_t rows = rows_for(setting.what.load_bytes, target.write, file.path());
    target.write(file.path(), rows);
    const auto bytes = static_cast<double>(std::filesystem::file_size(file.path()));
    const auto [ours, theirs] = measure_in_turns(tested, target, file.path(), setting.what.base.repeat);
    row r = setting.result(device_choice::cpu, fmt::format("load of {}", target.what), rows, ours);
    add_peer(r, "arrow", theirs);
    r.notes.push_back(fmt::format("a file of {:.0f} bytes", bytes));
    results.rows.push_back(std::move(r));
    lines.add(fmt::format("{} of {}", bytes_text(bytes), target.what), ours, theirs, asked_of_loads);
  }
  part.tables =
      "## Loads\n\n`CREATE TABLE orders AS SELECT * FROM read_csv(...)` beside Arrow's reader with its own settings; "
      "the "
      "file is in memory.\n\n" +
      lines.text("Arrow") + provenance(setting.what.base);
  return part;
}

}  // namespace espalier::bench
