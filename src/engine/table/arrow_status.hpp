// arrow_status.hpp - converts Arrow results: returns the value, or throws an error of one sentence.
#pragma once

#include <arrow/result.h>
#include <arrow/status.h>
#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "engine/table/convert.hpp"
#include "espalier/core/error.hpp"

namespace espalier::engine {

/// `what` is the beginning of the sentence: "'a.csv' cannot be read".
inline void require_ok(const arrow::Status& status, std::string_view what) {
  if (!status.ok()) throw error(fmt::format("{}: {}.", what, reason_of(status)));
}

template <class T>
[[nodiscard]] T value_of(arrow::Result<T> result, std::string_view what) {
  require_ok(result.status(), what);
  return std::move(result).MoveValueUnsafe();
}

}  // namespace espalier::engine
