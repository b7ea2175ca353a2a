// arrow_status.hpp - converts Arrow results: returns the value, or throws an error of one sentence.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>
#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "engine/file_error_code.hpp"
#include "engine/table/convert.hpp"
#include "espalier/core/error.hpp"

namespace espalier::engine {

/// `what` is the beginning of the sentence: "'a.csv' cannot be read".
inline void require_ok(const arrow::Status& status, std::string_view what) {
  if (status.ok()) return;
  const auto sentence = fmt::format("{}: {}.", what, reason_of(status));
  if (const int reason = errno_of(status); reason != 0) throw engine_error(sentence, file_error_code(reason));
  throw error(sentence);
}

template <class T>
[[nodiscard]] T value_of(arrow::Result<T> result, std::string_view what) {
  require_ok(result.status(), what);
  return std::move(result).MoveValueUnsafe();
}

}  // namespace espalier::engine
