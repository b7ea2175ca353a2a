// row_files.hpp - writes generated rows to files piece by piece, so that tables of any size take little memory.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace espalier::bench {

/// Returns rows [first, first + count) of a table; a pure function, independent of the pieces.
using row_source = std::function<std::shared_ptr<arrow::Table>(std::uint64_t first, std::uint64_t count)>;

void write_parquet_file(const std::string& path, std::uint64_t rows, const row_source& source);
/// `quoted` means that strings are quoted.
void write_csv_file(const std::string& path, std::uint64_t rows, const row_source& source, bool quoted);

/// Returns how many rows make a file of about `bytes`, extrapolated from a file of a few rows.
[[nodiscard]] std::uint64_t rows_for(std::uint64_t bytes,
                                     const std::function<void(const std::string& path, std::uint64_t rows)>& write,
                                     const std::string& path);

}  // namespace espalier::bench
