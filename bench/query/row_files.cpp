// row_files.cpp - see row_files.hpp.
#include "bench/query/row_files.hpp"

#include <arrow/csv/writer.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/memory_pool.h>
#include <arrow/table.h>
#include <parquet/arrow/writer.h>
#include <parquet/exception.h>
#include <parquet/properties.h>

#include <algorithm>
#include <filesystem>

#include "engine/table/arrow_status.hpp"

namespace espalier::bench {
namespace {

using engine::require_ok;
using engine::value_of;

constexpr std::uint64_t rows_of_a_piece = std::uint64_t{1} << 20;

std::string sentence(const std::string& path) { return fmt::format("'{}' cannot be written", path); }

template <class Write>
void for_each_piece(std::uint64_t rows, const row_source& source, const Write& write) {
  for (std::uint64_t first = 0; first < rows; first += rows_of_a_piece) {
    write(*source(first, std::min(rows_of_a_piece, rows - first)));
  }
}

}  // namespace

void write_parquet_file(const std::string& path, std::uint64_t rows, const row_source& source) {
  const std::string what = sentence(path);
  const auto file = value_of(arrow::io::FileOutputStream::Open(path), what);
  const auto writer =
      value_of(parquet::arrow::FileWriter::Open(*source(0, 0)->schema(), arrow::default_memory_pool(), file), what);
  try {
    for_each_piece(rows, source, [&](const arrow::Table& piece) { require_ok(writer->WriteTable(piece), what); });
    require_ok(writer->Close(), what);
  } catch (const parquet::ParquetException& e) {
    throw error(fmt::format("{}: {}.", what, e.what()));
  }
  require_ok(file->Close(), what);
}

void write_csv_file(const std::string& path, std::uint64_t rows, const row_source& source, bool quoted) {
  const std::string what = sentence(path);
  auto options = arrow::csv::WriteOptions::Defaults();
  options.quoting_style = quoted ? arrow::csv::QuotingStyle::Needed : arrow::csv::QuotingStyle::None;
  options.quoting_header = arrow::csv::QuotingStyle::None;
  const auto file = value_of(arrow::io::FileOutputStream::Open(path), what);
  const auto writer = value_of(arrow::csv::MakeCSVWriter(file, source(0, 0)->schema(), options), what);
  for_each_piece(rows, source, [&](const arrow::Table& piece) { require_ok(writer->WriteTable(piece), what); });
  require_ok(writer->Close(), what);
  require_ok(file->Close(), what);
}

std::uint64_t rows_for(std::uint64_t bytes,
                       const std::function<void(const std::string& path, std::uint64_t rows)>& write,
                       const std::string& path) {
  constexpr std::uint64_t few = std::uint64_t{1} << 16;
  write(path, few);
  const double each = static_cast<double>(std::filesystem::file_size(path)) / static_cast<double>(few);
  return std::max<std::uint64_t>(static_cast<std::uint64_t>(static_cast<double>(bytes) / each), 1);
}

}  // namespace espalier::bench
