// gather.cpp - see gather.hpp. The address of the value `ahead` rows later is prefetched: row numbers of joins of
// unsorted sides are random accesses, of which a core keeps about ten in flight.
#include "espalier/join/gather.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "join/cuda_joins.hpp"
#include "join/keys.hpp"

namespace espalier {

namespace {

constexpr std::size_t gather_ahead = 24;
constexpr std::size_t gather_piece = std::size_t{1} << 14;  // a multiple of 8: pieces do not share bytes of bitmaps

struct gather_value_16 {
  std::uint64_t low, high;
};

struct gather_result {
  std::size_t missing = 0;
  bool is_out_of_range = false;
};

template <class Value, bool HasNulls>
gather_result gather_rows(const fixed_width_view& column, const row_number* rows, std::size_t first, std::size_t last,
                          unsigned char* out, std::uint8_t* validity) {
  const auto* values = static_cast<const unsigned char*>(column.data);
  gather_result result;
  for (std::size_t i = first; i < last; i += 8) {
    if constexpr (!HasNulls) {  // eight rows with values: no branch for each of them
      if (i + 8 + gather_ahead <= last) {
        row_number most = 0;
        for (std::size_t j = 0; j < 8; ++j) {
          most = std::max(most, rows[i + j]);
          const std::size_t next = rows[i + j + gather_ahead];
          __builtin_prefetch(values + std::min(next, column.size) * sizeof(Value));
        }
        if (most < column.size) {
          for (std::size_t j = 0; j < 8; ++j) {
            std::memcpy(out + (i + j) * sizeof(Value), values + std::size_t{rows[i + j]} * sizeof(Value),
                        sizeof(Value));
          }
          if (validity != nullptr) validity[i / 8] = 0xff;
          continue;
        }
      }
    }
    const std::size_t count = std::min<std::size_t>(8, last - i);
    unsigned bits = 0;
    for (std::size_t j = 0; j < count; ++j) {
      if (i + j + gather_ahead < last) {
        const row_number next_row = rows[i + j + gather_ahead];
        if (next_row < column.size) __builtin_prefetch(values + next_row * sizeof(Value));
      }
      const row_number row = rows[i + j];
      bool has_value = row < column.size;
      result.is_out_of_range |= !has_value && row != no_row;
      if constexpr (HasNulls) has_value = has_value && column.validity[row];
      Value value{};
      if (has_value) std::memcpy(&value, values + row * sizeof(Value), sizeof(Value));
      std::memcpy(out + (i + j) * sizeof(Value), &value, sizeof(Value));
      bits |= static_cast<unsigned>(has_value) << j;
    }
    result.missing += count - static_cast<std::size_t>(std::popcount(bits));
    if (validity != nullptr) validity[i / 8] = static_cast<std::uint8_t>(bits);
  }
  return result;
}

template <class Value>
std::size_t gather_of_width(const cpu_backend& backend, const fixed_width_view& column,
                            std::span<const row_number> rows, void* out, std::uint8_t* validity) {
  std::atomic<std::size_t> missing{0};
  std::atomic<bool> is_out_of_range{false};
  backend.for_each_chunk(rows.size(), gather_piece, [&](std::size_t first, std::size_t last) {
    auto* to = static_cast<unsigned char*>(out);
    const gather_result found = column.validity
                                    ? gather_rows<Value, true>(column, rows.data(), first, last, to, validity)
                                    : gather_rows<Value, false>(column, rows.data(), first, last, to, validity);
    missing.fetch_add(found.missing, std::memory_order_relaxed);
    if (found.is_out_of_range) is_out_of_range.store(true, std::memory_order_relaxed);
  });
  if (is_out_of_range.load()) join_detail::throw_row_out_of_range(column.size);
  return missing.load();
}

}  // namespace

std::size_t gather_column(const fixed_width_view& column, std::span<const row_number> rows, void* out,
                          std::span<std::uint8_t> validity, const device& dev, const stream& s) {
  if (column.size > max_join_rows) throw error("gather_column() takes columns of at most 2^32 - 1 rows; split it.");
  if (!validity.empty()) {
    join_detail::require_rows("gather_column()", "the validity bitmap (bytes)", (rows.size() + 7) / 8, validity.size());
  }
  if (column.width != 1 && column.width != 2 && column.width != 4 && column.width != 8 && column.width != 16) {
    throw error("gather_column() takes values of 1, 2, 4, 8 or 16 bytes; gather offsets or row numbers of others.");
  }
  std::size_t missing = 0;
  if (dev.kind() == device_kind::cuda) {
    dev.invoke_in_order(dev.resolve(s), [&] {
      missing = join_detail::gather_column_on_gpu(column, rows, out, validity, dev, dev.resolve(s));
    });
    return missing;
  }
  dev.invoke_in_order(dev.resolve(s), [&] {
    const cpu_backend backend(dev);
    std::uint8_t* bits = validity.empty() ? nullptr : validity.data();
    switch (column.width) {
      case 1:
        missing = gather_of_width<std::uint8_t>(backend, column, rows, out, bits);
        break;
      case 2:
        missing = gather_of_width<std::uint16_t>(backend, column, rows, out, bits);
        break;
      case 4:
        missing = gather_of_width<std::uint32_t>(backend, column, rows, out, bits);
        break;
      case 8:
        missing = gather_of_width<std::uint64_t>(backend, column, rows, out, bits);
        break;
      default:
        missing = gather_of_width<gather_value_16>(backend, column, rows, out, bits);
        break;
    }
  });
  return missing;
}

}  // namespace espalier
