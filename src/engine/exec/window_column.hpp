// window_column.hpp - collects the results of a window function at the rows of the input, from several threads.
#pragma once

#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/type.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "engine/expr/relation.hpp"
#include "engine/expr/sql_arrow_status.hpp"
#include "engine/parallel.hpp"

namespace espalier::engine {

/// A column of values of the C++ type T, which has the layout of the Arrow type: int128 for decimals.
template <class T>
class window_column {
 public:
  explicit window_column(std::size_t rows)
      : values_(value_of(arrow::AllocateBuffer(static_cast<std::int64_t>(rows * sizeof(T))))), valid_(rows, 1) {}

  /// Each row is set once; different rows may be set by different threads.
  void set(std::size_t row, T value) { reinterpret_cast<T*>(values_->mutable_data())[row] = value; }
  void set_null(std::size_t row) {
    set(row, T{});
    valid_[row] = 0;
  }

  [[nodiscard]] std::shared_ptr<arrow::ChunkedArray> finish(std::shared_ptr<arrow::DataType> type) && {
    const std::size_t rows = valid_.size();
    std::shared_ptr<arrow::Buffer> bitmap = value_of(arrow::AllocateBuffer(static_cast<std::int64_t>((rows + 7) / 8)));
    std::uint8_t* const bits = bitmap->mutable_data();
    parallel_pieces((rows + 7) / 8, [&](std::size_t begin, std::size_t end) {
      for (std::size_t byte = begin; byte < end; ++byte) {
        unsigned packed = 0;
        for (std::size_t i = 8 * byte; i < std::min(8 * byte + 8, rows); ++i) packed |= unsigned{valid_[i]} << (i % 8);
        bits[byte] = static_cast<std::uint8_t>(packed);
      }
    });
    return chunked(arrow::MakeArray(arrow::ArrayData::Make(std::move(type), static_cast<std::int64_t>(rows),
                                                           {std::move(bitmap), std::move(values_)})));
  }

 private:
  std::shared_ptr<arrow::Buffer> values_;
  std::vector<std::uint8_t> valid_;  ///< a byte per row, since threads cannot share the bytes of a bitmap
};

}  // namespace espalier::engine
