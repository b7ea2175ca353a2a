// quoted_line_breaks.cpp - a parallel look through a CSV file. Whether a line break is inside quotes depends on how
// many quotes come before it, all the way from the start; so each block notes what it would mean in both cases, and a
// pass over the blocks in order picks the case that is true.
#include <arrow/buffer.h>
#include <arrow/io/file.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "engine/parallel.hpp"
#include "engine/table/arrow_result.hpp"
#include "engine/table/read_formats.hpp"

namespace espalier::engine {
namespace {

constexpr std::int64_t look_block_bytes = 4 << 20;

struct block_view {
  bool odd_quotes = false;
  std::array<bool, 2> line_break{};  // after an even, after an odd number of the block's quotes
};

block_view view_of(const char* at, const char* end, char quote) {
  block_view view;
  while (at < end) {
    const auto left = static_cast<std::size_t>(end - at);
    const auto* const next = static_cast<const char*>(std::memchr(at, quote, left));
    const auto length = next == nullptr ? left : static_cast<std::size_t>(next - at);
    bool& seen = view.line_break[view.odd_quotes ? 1 : 0];
    if (!seen) seen = std::memchr(at, '\n', length) != nullptr || std::memchr(at, '\r', length) != nullptr;
    if (next == nullptr) break;
    view.odd_quotes = !view.odd_quotes;
    at = next + 1;
  }
  return view;
}

}  // namespace

bool has_quoted_line_breaks(const std::filesystem::path& path, char quote) {
  const std::string what = fmt::format("'{}' cannot be read as CSV", path.string());
  const auto file = value_of(arrow::io::ReadableFile::Open(path.string()), what);
  const std::int64_t size = value_of(file->GetSize(), what);
  std::vector<block_view> views(static_cast<std::size_t>((size + look_block_bytes - 1) / look_block_bytes));
  parallel_for(views.size(), [&](std::size_t i) {
    const auto bytes = value_of(file->ReadAt(static_cast<std::int64_t>(i) * look_block_bytes, look_block_bytes), what);
    const auto* const begin = reinterpret_cast<const char*>(bytes->data());
    views[i] = view_of(begin, begin + bytes->size(), quote);
  });
  bool inside = false;
  for (const auto& view : views) {
    if (view.line_break[inside ? 0 : 1]) return true;
    inside ^= view.odd_quotes;
  }
  return false;
}

}  // namespace espalier::engine
