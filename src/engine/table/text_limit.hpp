// text_limit.hpp - the maximum number of bytes of text in one array, whose offsets have 32 bits.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>

namespace espalier::engine {

/// Returns 2^31 - 1, unless a test has lowered it.
[[nodiscard]] std::int64_t most_text_bytes() noexcept;

/// Lowers the limit during its lifetime, for tests, which cannot allocate gigabytes. Not thread-safe.
class lowered_text_limit {
 public:
  explicit lowered_text_limit(std::int64_t bytes) noexcept;
  lowered_text_limit(const lowered_text_limit&) = delete;
  lowered_text_limit& operator=(const lowered_text_limit&) = delete;
  ~lowered_text_limit();
};

/// Throws if the arrays of a table are not valid Arrow arrays: text offsets that decrease or are out of bounds.
void require_sound(const arrow::Table& rows);

}  // namespace espalier::engine
