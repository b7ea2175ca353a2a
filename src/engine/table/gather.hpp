// gather.hpp - values at given places of a chunked column, as one array.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <span>

namespace espalier::engine {

/// Where a row is: which chunk, and which row of it.
struct row_place {
  std::uint64_t offset;
  std::uint32_t chunk;
};

/// In the order of `places`. Only stored types. Where the text of more than one place is more than an array may hold
/// (text_limit.hpp) null is answered, and the caller asks for fewer places.
[[nodiscard]] std::shared_ptr<arrow::Array> gathered(const arrow::ChunkedArray& from,
                                                     std::span<const row_place> places);
/// The same of one array, by row number.
[[nodiscard]] std::shared_ptr<arrow::Array> gathered(const std::shared_ptr<arrow::Array>& from,
                                                     std::span<const std::uint32_t> rows);
[[nodiscard]] std::shared_ptr<arrow::Array> gathered(const std::shared_ptr<arrow::Array>& from,
                                                     std::span<const std::int64_t> rows);

}  // namespace espalier::engine
