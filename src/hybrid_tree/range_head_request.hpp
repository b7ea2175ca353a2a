// range_head_request.hpp - ranges of one call whose elements are listed row by row (range_rows), and
// their outputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/index/elements.hpp"
#include "espalier/index/options.hpp"

namespace espalier::detail {

struct range_head_request {
  const void* lo;
  const void* hi;
  range_options options;  ///< limit is the number of elements of a row
  void* keys;             ///< null if not requested, like `values`
  void* values;
  std::uint64_t* counts;

  /// Approximate number of bytes of the result of one range.
  [[nodiscard]] std::size_t row_bytes(element_type elements) const {
    const std::size_t key = keys == nullptr ? 0 : bytes_of(elements.key),
                      value = values == nullptr ? 0 : elements.value_bytes;
    return options.limit * (key + value) + 1;
  }
  /// The same without the first ranges.
  [[nodiscard]] range_head_request from(std::size_t first, element_type elements) const {
    const std::size_t key = bytes_of(elements.key), row = first * options.limit;
    const auto moved = [](void* p, std::size_t bytes) -> void* {
      return p == nullptr ? nullptr : static_cast<char*>(p) + bytes;
    };
    return {static_cast<const char*>(lo) + first * key,
            static_cast<const char*>(hi) + first * key,
            options,
            moved(keys, row * key),
            moved(values, row * elements.value_bytes),
            counts + first};
  }
};

}  // namespace espalier::detail
