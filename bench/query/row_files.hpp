// row_files.hpp - generated rows as files, written piece by piece, so that tables of any size take little memory.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace espalier::bench {

/// Rows [first, first + count) of a table; a pure function, whatever the pieces.
using row_source = std::function<std::shared_ptr<arrow::Table>(std::uint64_t first, std::uint64_t count)>;

void write_parquet_file(const std::string& path, std::uint64_t rows, const row_source& source);
/// `quoted`: values of strings stand in quotes.
void write_csv_file(const std::string& path, std::uint64_t rows, const row_source& source, bool quoted);

/// How many rows make a file of about `bytes`, by what a file of a few of them takes.
[[nodiscard]] std::uint64_t rows_for(std::uint64_t bytes,
                                     const std::function<void(const std::string& path, std::uint64_t rows)>& write,
                                     const std::string& path);

}  // namespace espalier::bench
