// selection_vector.hpp - the rows of a batch that satisfy a condition.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <span>

namespace espalier::engine {

/// Row numbers, ascending.
class selection_vector {
 public:
  /// Selects the rows for which the mask is true; NULL is not true.
  explicit selection_vector(const arrow::BooleanArray& mask);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<const std::uint32_t> numbers() const { return {numbers_.get(), size_}; }

 private:
  std::unique_ptr<std::uint32_t[]> numbers_;
  std::size_t size_ = 0;
};

}  // namespace espalier::engine
