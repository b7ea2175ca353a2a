// piece_list.hpp - concatenates pieces of one relation.
#pragma once

#include <arrow/array.h>
#include <arrow/chunked_array.h>

#include <utility>
#include <vector>

#include "engine/expr/relation.hpp"

namespace espalier::engine {

/// Concatenates pieces without a copy. All of them have the same columns in the same order.
class piece_list {
 public:
  void add(relation piece) {
    if (count_++ == 0) {
      out_ = std::move(piece);
      return;
    }
    if (chunks_.empty()) {
      for (const auto& column : out_.columns) chunks_.push_back(column->chunks());
    }
    out_.rows += piece.rows;
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      const auto& more = piece.columns[i]->chunks();
      chunks_[i].insert(chunks_[i].end(), more.begin(), more.end());
    }
  }

  [[nodiscard]] std::int64_t rows() const { return out_.rows; }

  /// Returns all pieces and clears the list.
  relation take() {
    for (std::size_t i = 0; i < chunks_.size(); ++i) {
      out_.columns[i] = std::make_shared<arrow::ChunkedArray>(std::move(chunks_[i]), out_.columns[i]->type());
    }
    chunks_.clear();
    count_ = 0;
    return std::exchange(out_, {});
  }

 private:
  relation out_;
  std::size_t count_ = 0;
  std::vector<arrow::ArrayVector> chunks_;
};

}  // namespace espalier::engine
