// gather.hpp - gathers values at given positions of a chunked column into one array.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <span>

namespace espalier::engine {

/// The position of a row: its chunk, and the row within it.
struct row_place {
  std::uint64_t offset;
  std::uint32_t chunk;
};

/// Gathers in the order of `places`; supports stored types only. If the text of several positions does not fit one
/// array (text_limit.hpp), it returns null, and the caller retries with fewer positions.
[[nodiscard]] std::shared_ptr<arrow::Array> gathered(const arrow::ChunkedArray& from,
                                                     std::span<const row_place> places);
/// The same for one array, by row number.
[[nodiscard]] std::shared_ptr<arrow::Array> gathered(const std::shared_ptr<arrow::Array>& from,
                                                     std::span<const std::uint32_t> rows);
[[nodiscard]] std::shared_ptr<arrow::Array> gathered(const std::shared_ptr<arrow::Array>& from,
                                                     std::span<const std::int64_t> rows);

}  // namespace espalier::engine
