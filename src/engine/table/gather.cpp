// gather.cpp - one loop per width. Places are random in memory, so the loops are bound by cache misses; the values are
// read through plain pointers to let many misses overlap.
#include "engine/table/gather.hpp"

#include <arrow/array.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>
#include <arrow/util/bit_util.h>

#include <array>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "engine/stop.hpp"
#include "engine/table/arrow_result.hpp"

namespace espalier::engine {
namespace {

using buffer_ptr = std::shared_ptr<arrow::Buffer>;

buffer_ptr new_buffer(std::int64_t bytes) {
  return value_of(arrow::AllocateBuffer(bytes), "There is not enough memory for an answer");
}

// Bits of each place in the bitmap at `buffer` of its chunk; a chunk without one has all bits set.
buffer_ptr gather_bits(const arrow::ChunkedArray& from, std::span<const row_place> places, std::size_t buffer) {
  const auto rows = static_cast<std::int64_t>(places.size());
  auto bits = new_buffer(arrow::bit_util::BytesForBits(rows));
  std::memset(bits->mutable_data(), 0, static_cast<std::size_t>(bits->size()));
  std::vector<std::pair<const std::uint8_t*, std::int64_t>> sources;
  for (const auto& chunk : from.chunks()) {
    const auto& data = *chunk->data();
    sources.emplace_back(data.buffers[buffer] ? data.buffers[buffer]->data() : nullptr, data.offset);
  }
  std::uint8_t* const out = bits->mutable_data();
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto [chunk_bits, offset] = sources[places[static_cast<std::size_t>(i)].chunk];
    const auto at = offset + static_cast<std::int64_t>(places[static_cast<std::size_t>(i)].offset);
    const bool set = chunk_bits == nullptr || arrow::bit_util::GetBit(chunk_bits, at);
    out[i / 8] = static_cast<std::uint8_t>(out[i / 8] | (static_cast<unsigned>(set) << (i % 8)));
  }
  return bits;
}

template <class Value>
buffer_ptr gather_values(const arrow::ChunkedArray& from, std::span<const row_place> places) {
  std::vector<const Value*> sources;
  for (const auto& chunk : from.chunks()) sources.push_back(chunk->data()->GetValues<Value>(1));
  auto buffer = new_buffer(static_cast<std::int64_t>(places.size() * sizeof(Value)));
  auto* const out = reinterpret_cast<Value*>(buffer->mutable_data());
  if (sources.size() == 1) {
    const Value* const source = sources.front();
    for (std::size_t i = 0; i < places.size(); ++i) out[i] = source[places[i].offset];
  } else {
    for (std::size_t i = 0; i < places.size(); ++i) out[i] = sources[places[i].chunk][places[i].offset];
  }
  return buffer;
}

std::shared_ptr<arrow::Array> gather_strings(const arrow::ChunkedArray& from, std::span<const row_place> places,
                                             buffer_ptr valid) {
  struct source {
    const std::int32_t* offsets;
    const char* characters;
  };
  std::vector<source> sources;
  for (const auto& chunk : from.chunks()) {
    const auto& strings = static_cast<const arrow::StringArray&>(*chunk);
    const auto& characters = strings.value_data();
    sources.push_back(
        {strings.raw_value_offsets(), characters ? reinterpret_cast<const char*>(characters->data()) : nullptr});
  }
  auto offsets = new_buffer(static_cast<std::int64_t>((places.size() + 1) * sizeof(std::int32_t)));
  auto* const ends = reinterpret_cast<std::int32_t*>(offsets->mutable_data());
  std::int64_t total = 0;
  ends[0] = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto* const begin = sources[places[i].chunk].offsets + places[i].offset;
    total += begin[1] - begin[0];
    if (total > std::numeric_limits<std::int32_t>::max()) return nullptr;
    ends[i + 1] = static_cast<std::int32_t>(total);
  }
  auto characters = new_buffer(total);
  auto* const out = characters->mutable_data();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& [begins, text] = sources[places[i].chunk];
    const auto length = static_cast<std::size_t>(ends[i + 1] - ends[i]);
    if (length != 0) std::memcpy(out + ends[i], text + begins[places[i].offset], length);
  }
  return std::make_shared<arrow::StringArray>(static_cast<std::int64_t>(places.size()), std::move(offsets),
                                              std::move(characters), std::move(valid));
}

buffer_ptr gather_fixed(const arrow::ChunkedArray& from, std::span<const row_place> places) {
  switch (from.type()->bit_width()) {
    case 1:
      return gather_bits(from, places, 1);
    case 8:
      return gather_values<std::uint8_t>(from, places);
    case 16:
      return gather_values<std::uint16_t>(from, places);
    case 32:
      return gather_values<std::uint32_t>(from, places);
    case 64:
      return gather_values<std::uint64_t>(from, places);
    default:
      return gather_values<std::array<std::uint64_t, 2>>(from, places);
  }
}

}  // namespace

std::shared_ptr<arrow::Array> gathered(const arrow::ChunkedArray& from, std::span<const row_place> places) {
  check_stop();
  buffer_ptr valid = from.null_count() != 0 ? gather_bits(from, places, 0) : nullptr;
  if (from.type()->id() == arrow::Type::STRING) return gather_strings(from, places, std::move(valid));
  auto data = arrow::ArrayData::Make(from.type(), static_cast<std::int64_t>(places.size()),
                                     {std::move(valid), gather_fixed(from, places)});
  return arrow::MakeArray(data);
}

}  // namespace espalier::engine
