// quoted_line_breaks.cpp - searches a CSV file for quoted line breaks in parallel. Whether a line break is quoted
// depends on the number of quotes before it, from the start of the file. Each block therefore records the result for
// both cases, and a pass over the blocks in order selects the case that applies.
#include <arrow/io/file.h>
#include <hwy/highway.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "engine/parallel.hpp"
#include "engine/table/arrow_status.hpp"
#include "engine/table/read_formats.hpp"

namespace espalier::engine {
namespace {

constexpr std::int64_t look_block_bytes = 4 << 20;
constexpr std::int64_t look_piece_bytes = 128 << 10;

struct block_view {
  bool odd_quotes = false;
  std::array<bool, 2> line_break{};  // after an even and after an odd number of quotes in the block
};

#ifdef __SSE2__
// SSE2, which every x86-64 has. Highway 1.0.3 treats a compiler that is limited to it as one without vectors.
// Bit i of the result is set if byte i of 16 is one of the two.
std::uint64_t places_of_16(const std::uint8_t* at, std::uint8_t one, std::uint8_t other) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  const __m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(static_cast<char>(one))),
                                     _mm_cmpeq_epi8(bytes, _mm_set1_epi8(static_cast<char>(other))));
  return static_cast<std::uint64_t>(_mm_movemask_epi8(found));
}
#else
using lanes = hwy::HWY_NAMESPACE::FixedTag<std::uint8_t, 16>;

/// Bit i of the result is set if byte i of 16 is one of the two.
HWY_ATTR std::uint64_t places_of_16(const std::uint8_t* at, std::uint8_t one, std::uint8_t other) {
  namespace hn = hwy::HWY_NAMESPACE;
  std::array<std::uint8_t, 16> bytes_of_bits{};  // Highway may write more bytes than are used
  const auto bytes = hn::LoadU(lanes(), at);
  const auto found = hn::Or(hn::Eq(bytes, hn::Set(lanes(), one)), hn::Eq(bytes, hn::Set(lanes(), other)));
  hn::StoreMaskBits(lanes(), found, bytes_of_bits.data());
  std::uint16_t bits = 0;
  std::memcpy(&bits, bytes_of_bits.data(), sizeof bits);
  return bits;
}
#endif

/// Bit i of the result is set if byte i of 64 is one of the two.
HWY_ATTR std::uint64_t places_of(const std::uint8_t* at, std::uint8_t one, std::uint8_t other) {
  std::uint64_t bits = 0;
  for (unsigned i = 0; i < 4; ++i) bits |= places_of_16(at + 16 * i, one, other) << (16 * i);
  return bits;
}

/// Bit i of the result is set if an odd number of bits up to i is set.
std::uint64_t odd_up_to(std::uint64_t bits) {
  for (unsigned step = 1; step < 64; step *= 2) bits ^= bits << step;
  return bits;
}

HWY_ATTR void look_at_64(const std::uint8_t* at, std::uint8_t quote, block_view& view) {
  const std::uint64_t quotes = places_of(at, quote, quote);
  const std::uint64_t breaks = places_of(at, '\n', '\r');
  const std::uint64_t odd = odd_up_to(quotes) ^ (view.odd_quotes ? ~std::uint64_t{0} : 0);
  view.line_break[0] |= (breaks & ~odd) != 0;
  view.line_break[1] |= (breaks & odd) != 0;
  view.odd_quotes = (odd >> 63) != 0;
}

HWY_ATTR void look_at(const std::uint8_t* at, std::size_t bytes, std::uint8_t quote, block_view& view) {
  for (; bytes >= 64; at += 64, bytes -= 64) look_at_64(at, quote, view);
  for (; bytes > 0; ++at, --bytes) {
    if (*at == quote) view.odd_quotes = !view.odd_quotes;
    if (*at == '\n' || *at == '\r') view.line_break[view.odd_quotes ? 1 : 0] = true;
  }
}

}  // namespace

bool has_quoted_line_breaks(const std::filesystem::path& path, char quote) {
  const std::string what = fmt::format("'{}' cannot be read as CSV", path.string());
  const auto file = value_of(arrow::io::ReadableFile::Open(path.string()), what);
  const std::int64_t size = value_of(file->GetSize(), what);
  std::vector<block_view> views(static_cast<std::size_t>((size + look_block_bytes - 1) / look_block_bytes));
  parallel_for(views.size(), [&](std::size_t i) {
    // The file is read in pieces that fit the cache.
    const auto piece = std::make_unique_for_overwrite<std::uint8_t[]>(look_piece_bytes);
    const std::int64_t begin = static_cast<std::int64_t>(i) * look_block_bytes;
    const std::int64_t end = std::min(begin + look_block_bytes, size);
    for (std::int64_t at = begin; at < end;) {
      const auto bytes = value_of(file->ReadAt(at, std::min(look_piece_bytes, end - at), piece.get()), what);
      if (bytes == 0) break;  // the file was truncated, which its reader reports
      look_at(piece.get(), static_cast<std::size_t>(bytes), static_cast<std::uint8_t>(quote), views[i]);
      at += bytes;
    }
  });
  bool inside = false;
  for (const auto& view : views) {
    if (view.line_break[inside ? 0 : 1]) return true;
    inside ^= view.odd_quotes;
  }
  return false;
}

}  // namespace espalier::engine
