// selection_vector.hpp - which rows of a batch a condition lets through.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <span>

namespace espalier::engine {

/// Row numbers, ascending.
class selection_vector {
 public:
  /// Rows where the mask is true, which are not those where it is NULL.
  explicit selection_vector(const arrow::BooleanArray& mask);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<const std::uint32_t> numbers() const { return {numbers_.get(), size_}; }

 private:
  std::unique_ptr<std::uint32_t[]> numbers_;
  std::size_t size_ = 0;
};

}  // namespace espalier::engine
