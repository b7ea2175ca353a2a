// gather.cpp - one gather loop per width. Positions are random, so the loops are bound by cache misses; values are read
// through plain pointers so that many misses overlap.
#include "engine/table/gather.hpp"

#include <arrow/array.h>
#include <arrow/array/util.h>
#include <arrow/buffer.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <utility>
#include <vector>

#include "engine/memory_budget.hpp"
#include "engine/stop.hpp"
#include "engine/table/arrow_status.hpp"
#include "engine/table/text_limit.hpp"

namespace espalier::engine {
namespace {

using buffer_ptr = std::shared_ptr<arrow::Buffer>;

buffer_ptr new_buffer(std::int64_t bytes) {
  constexpr std::int64_t worth_asking = std::int64_t{1} << 20;
  if (bytes >= worth_asking) require_memory(static_cast<std::size_t>(bytes));
  return value_of(arrow::AllocateBuffer(bytes), "There is not enough memory for an answer");
}

using chunk_span = std::span<const std::shared_ptr<arrow::Array>>;

std::size_t chunk_of(const row_place& place) { return place.chunk; }
std::size_t offset_of(const row_place& place) { return place.offset; }

// A position that is a plain number is a row of the only chunk.
template <std::integral Row>
std::size_t chunk_of(Row) {
  return 0;
}
template <std::integral Row>
std::size_t offset_of(Row row) {
  return static_cast<std::size_t>(row);
}

struct bit_source {
  const std::uint8_t* bits;  ///< null if all bits are set
  std::int64_t offset;

  [[nodiscard]] std::uint64_t at(std::size_t place) const {
    const auto bit = offset + static_cast<std::int64_t>(place);
    return bits == nullptr ? 1 : static_cast<std::uint64_t>(bits[bit / 8] >> (bit % 8)) & 1;
  }
};

// Gathers the bit of each position from the bitmap at `buffer` of its chunk.
template <class Place>
buffer_ptr gather_bits(chunk_span from, std::span<const Place> places, std::size_t buffer) {
  const std::size_t words = (places.size() + 63) / 64;
  auto bits = new_buffer(static_cast<std::int64_t>(words * 8));
  std::vector<bit_source> sources;
  for (const auto& chunk : from) {
    const auto& data = *chunk->data();
    sources.push_back({data.buffers[buffer] ? data.buffers[buffer]->data() : nullptr, data.offset});
  }
  std::uint8_t* const out = bits->mutable_data();
  for (std::size_t w = 0; w < words; ++w) {
    const auto part = places.subspan(w * 64, std::min<std::size_t>(64, places.size() - w * 64));
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < part.size(); ++i) {
      word |= sources[chunk_of(part[i])].at(offset_of(part[i])) << i;
    }
    std::memcpy(out + w * 8, &word, 8);
  }
  return bits;
}

template <class Value, class Place>
buffer_ptr gather_values(chunk_span from, std::span<const Place> places) {
  std::vector<const Value*> sources;
  for (const auto& chunk : from) sources.push_back(chunk->data()->GetValues<Value>(1));
  auto buffer = new_buffer(static_cast<std::int64_t>(places.size() * sizeof(Value)));
  auto* const out = reinterpret_cast<Value*>(buffer->mutable_data());
  if (sources.size() == 1) {
    const Value* const source = sources.front();
    for (std::size_t i = 0; i < places.size(); ++i) out[i] = source[offset_of(places[i])];
  } else {
    for (std::size_t i = 0; i < places.size(); ++i) out[i] = sources[chunk_of(places[i])][offset_of(places[i])];
  }
  return buffer;
}

struct text_source {
  const std::int32_t* offsets;
  const char* characters;
};

template <class Place>
std::shared_ptr<arrow::Array> gather_strings(chunk_span from, std::span<const Place> places, buffer_ptr valid) {
  std::vector<text_source> sources;
  for (const auto& chunk : from) {
    const auto& strings = static_cast<const arrow::StringArray&>(*chunk);
    const auto& characters = strings.value_data();
    sources.push_back(
        {strings.raw_value_offsets(), characters ? reinterpret_cast<const char*>(characters->data()) : nullptr});
  }
  auto offsets = new_buffer(static_cast<std::int64_t>((places.size() + 1) * sizeof(std::int32_t)));
  auto* const ends = reinterpret_cast<std::int32_t*>(offsets->mutable_data());
  const std::int64_t most = most_text_bytes();
  std::int64_t total = 0;
  ends[0] = 0;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto* const begin = sources[chunk_of(places[i])].offsets + offset_of(places[i]);
    total += begin[1] - begin[0];
    if (total > most && places.size() > 1) return nullptr;
    ends[i + 1] = static_cast<std::int32_t>(total);
  }
  auto characters = new_buffer(total);
  auto* const out = characters->mutable_data();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& [begins, text] = sources[chunk_of(places[i])];
    const auto length = static_cast<std::size_t>(ends[i + 1] - ends[i]);
    if (length != 0) std::memcpy(out + ends[i], text + begins[offset_of(places[i])], length);
  }
  return std::make_shared<arrow::StringArray>(static_cast<std::int64_t>(places.size()), std::move(offsets),
                                              std::move(characters), std::move(valid));
}

template <class Place>
buffer_ptr gather_fixed(chunk_span from, std::span<const Place> places) {
  switch (from[0]->type()->bit_width()) {
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

template <class Place>
std::shared_ptr<arrow::Array> gather_all(chunk_span from, std::span<const Place> places) {
  const bool nulls = std::any_of(from.begin(), from.end(), [](const auto& chunk) { return chunk->null_count() != 0; });
  buffer_ptr valid = nulls ? gather_bits(from, places, 0) : nullptr;
  const auto& type = from[0]->type();
  if (type->id() == arrow::Type::STRING) return gather_strings(from, places, std::move(valid));
  return arrow::MakeArray(arrow::ArrayData::Make(type, static_cast<std::int64_t>(places.size()),
                                                 {std::move(valid), gather_fixed(from, places)}));
}

}  // namespace

std::shared_ptr<arrow::Array> gathered(const arrow::ChunkedArray& from, std::span<const row_place> places) {
  check_cancelled();
  if (places.empty()) return value_of(arrow::MakeEmptyArray(from.type()), "There is not enough memory for an answer");
  return gather_all(from.chunks(), places);
}

std::shared_ptr<arrow::Array> gathered(const std::shared_ptr<arrow::Array>& from, std::span<const std::uint32_t> rows) {
  return gather_all({&from, 1}, rows);
}

std::shared_ptr<arrow::Array> gathered(const std::shared_ptr<arrow::Array>& from, std::span<const std::int64_t> rows) {
  return gather_all({&from, 1}, rows);
}

}  // namespace espalier::engine
