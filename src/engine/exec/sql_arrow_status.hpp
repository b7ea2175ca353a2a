// sql_arrow_status.hpp - errors of Arrow as errors of a statement.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>

#include <string>
#include <utility>

namespace espalier::engine {

/// Throws `located_error` with what Arrow says, as a sentence; `text_overflow` where text is too long for its array.
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
