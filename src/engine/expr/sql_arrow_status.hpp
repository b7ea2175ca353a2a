// sql_arrow_status.hpp - converts Arrow errors to statement errors.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <string>
#include <utility>

namespace espalier::engine {

/// Throws `located_error` with Arrow's message as a sentence, or `text_overflow` if text does not fit its array.
[[noreturn]] void fail(const arrow::Status& status, int position);

inline void check(const arrow::Status& status, int position = -1) {
  if (!status.ok()) fail(status, position);
}

template <class T>
[[nodiscard]] T value_of(arrow::Result<T> result, int position = -1) {
  if (!result.ok()) fail(result.status(), position);
  return std::move(result).ValueUnsafe();
}

}  // namespace espalier::engine
