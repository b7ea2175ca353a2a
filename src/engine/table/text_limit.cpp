#include "engine/table/text_limit.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>
#include <arrow/table.h>
#include <arrow/type.h>
#include <fmt/format.h>

#include <atomic>
#include <limits>

#include "engine/parallel.hpp"
#include "engine/table/arrow_status.hpp"
#include "espalier/engine/engine_error.hpp"

namespace espalier::engine {
namespace {

constexpr std::int64_t longest_text = std::numeric_limits<std::int32_t>::max();
std::atomic<std::int64_t> text_limit{longest_text};

// Validate() checks the first and the last offset only, and an overflow may be between them.
bool has_sound_offsets(const arrow::StringArray& text) {
  const std::int32_t* const offsets = text.raw_value_offsets();
  bool decreases = false;
  for (std::int64_t i = 0; i < text.length(); ++i) decreases |= offsets[i] > offsets[i + 1];
  return !decreases && text.total_values_length() <= most_text_bytes();
}

}  // namespace

std::int64_t most_text_bytes() noexcept { return text_limit.load(std::memory_order_relaxed); }

lowered_text_limit::lowered_text_limit(std::int64_t bytes) noexcept { text_limit = bytes; }
lowered_text_limit::~lowered_text_limit() { text_limit = longest_text; }

void require_sound(const arrow::Table& rows) {
  for (int c = 0; c < rows.num_columns(); ++c) {
    const auto& column = *rows.column(c);
    parallel_for(static_cast<std::size_t>(column.num_chunks()), [&](std::size_t i) {
      const auto& chunk = *column.chunk(static_cast<int>(i));
      const auto what = fmt::format("Column '{}' cannot be stored", rows.field(c)->name());
      require_ok(chunk.Validate(), what);
      if (chunk.length() == 0 || chunk.type_id() != arrow::Type::STRING) return;
      if (has_sound_offsets(static_cast<const arrow::StringArray&>(chunk))) return;
      throw engine_error(
          fmt::format("{}: a part of it would have more than {} bytes of text.", what, most_text_bytes()),
          codes::data_exception);
    });
  }
}

}  // namespace espalier::engine
