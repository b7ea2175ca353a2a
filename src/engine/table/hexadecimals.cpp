// hexadecimals.cpp - searches a file for 0x in parallel.
#include <arrow/buffer.h>
#include <arrow/io/file.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>

#include "engine/parallel.hpp"
#include "engine/table/arrow_status.hpp"
#include "engine/table/read_formats.hpp"

namespace espalier::engine {
namespace {

constexpr std::int64_t searched_block_bytes = 4 << 20;

bool has_zero_before(std::string_view text, char letter) {
  for (auto at = text.find(letter, 1); at != std::string_view::npos; at = text.find(letter, at + 1)) {
    if (text[at - 1] == '0') return true;
  }
  return false;
}

}  // namespace

bool may_have_hexadecimals(const std::filesystem::path& path) {
  const std::string what = fmt::format("'{}' cannot be read as CSV", path.string());
  const auto file = value_of(arrow::io::ReadableFile::Open(path.string()), what);
  const std::int64_t bytes = value_of(file->GetSize(), what);
  std::atomic<bool> found = false;
  parallel_for(static_cast<std::size_t>((bytes + searched_block_bytes - 1) / searched_block_bytes), [&](std::size_t i) {
    if (found.load(std::memory_order_relaxed)) return;
    const std::int64_t from = static_cast<std::int64_t>(i) * searched_block_bytes;
    // The search includes the last byte of the preceding block.
    const std::int64_t begin = std::max<std::int64_t>(from - 1, 0);
    const auto block = value_of(file->ReadAt(begin, std::min(bytes, from + searched_block_bytes) - begin), what);
    const std::string_view text(reinterpret_cast<const char*>(block->data()), static_cast<std::size_t>(block->size()));
    if (has_zero_before(text, 'x') || has_zero_before(text, 'X')) found.store(true, std::memory_order_relaxed);
  });
  return found.load();
}

}  // namespace espalier::engine
