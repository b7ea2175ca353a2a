// text_limit.hpp - how many bytes of text one array may hold: offsets have 32 bits.
#pragma once

#include <arrow/type_fwd.h>

#include <cstdint>

namespace espalier::engine {

/// 2^31 - 1, unless a test has lowered it.
[[nodiscard]] std::int64_t most_text_bytes() noexcept;

/// While it lives, arrays hold less: for tests, which cannot have gigabytes. Not for several threads at once.
class lowered_text_limit {
 public:
  explicit lowered_text_limit(std::int64_t bytes) noexcept;
  lowered_text_limit(const lowered_text_limit&) = delete;
  lowered_text_limit& operator=(const lowered_text_limit&) = delete;
  ~lowered_text_limit();
};

/// Throws where the arrays of a table are not what Arrow allows: text offsets that decrease, or lead out of the text.
void require_sound(const arrow::Table& rows);

}  // namespace espalier::engine
