#include "engine/keys/text_order.hpp"

#include <arrow/array.h>
#include <arrow/chunked_array.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "engine/expr/relation.hpp"
#include "engine/keys/string_dictionary.hpp"
#include "engine/keys/text_sorter.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {
namespace {

// Returns views of the column's texts by row.
std::vector<std::string_view> views_of(const arrow::ChunkedArray& column) {
  std::vector<std::string_view> out(static_cast<std::size_t>(column.length()));
  for_each_batch(column.length(), [&](std::size_t, std::int64_t begin, std::int64_t count) {
    auto row = static_cast<std::size_t>(begin);
    const auto piece = column.Slice(begin, count);
    for (const auto& chunk : piece->chunks()) {
      const auto& strings = static_cast<const arrow::StringArray&>(*chunk);
      for (std::int64_t i = 0; i < strings.length(); ++i) out[row++] = strings.GetView(i);
    }
  });
  return out;
}

struct texts_and_nulls {
  std::vector<std::int64_t> texts, nulls;
};

texts_and_nulls parted_texts(const arrow::ChunkedArray& column) {
  texts_and_nulls out;
  if (column.null_count() == 0) {
    out.texts.resize(static_cast<std::size_t>(column.length()));
    for_each_batch(column.length(), [&](std::size_t, std::int64_t begin, std::int64_t count) {
      std::iota(out.texts.begin() + begin, out.texts.begin() + begin + count, begin);
    });
    return out;
  }
  out.texts.reserve(static_cast<std::size_t>(column.length() - column.null_count()));
  out.nulls.reserve(static_cast<std::size_t>(column.null_count()));
  std::int64_t start = 0;
  for (const auto& chunk : column.chunks()) {
    const bool any_null = chunk->null_count() > 0;
    for_each_row(static_cast<std::size_t>(chunk->length()), [&](std::size_t i) {
      const auto at = static_cast<std::int64_t>(i);
      (any_null && chunk->IsNull(at) ? out.nulls : out.texts).push_back(start + at);
    });
    start += chunk->length();
  }
  return out;
}

}  // namespace

std::vector<std::int64_t> rows_in_text_order(const arrow::ChunkedArray& column, key_direction direction) {
  auto rows = parted_texts(column);
  const auto views = views_of(column);
  std::vector<std::uint8_t> starts(rows.texts.size());
  text_sorter(views, direction.descending).sort(rows.texts, starts);
  auto& out = rows.texts;
  out.insert(direction.nulls_first ? out.begin() : out.end(), rows.nulls.begin(), rows.nulls.end());
  return std::move(out);
}

std::vector<std::uint64_t> ranks_of_texts(const arrow::ChunkedArray& column) {
  auto order = parted_texts(column).texts;
  std::vector<std::uint8_t> starts(order.size());
  const auto views = views_of(column);
  text_sorter(views, false).sort(order, starts);
  const auto n = static_cast<std::int64_t>(order.size());
  std::vector<std::uint64_t> before(batch_count(n) + 1);  // number of distinct texts before each batch
  for_each_batch(n, [&](std::size_t i, std::int64_t begin, std::int64_t count) {
    before[i + 1] = static_cast<std::uint64_t>(std::count(starts.begin() + begin, starts.begin() + begin + count, 1));
  });
  std::partial_sum(before.begin(), before.end(), before.begin());
  std::vector<std::uint64_t> out(static_cast<std::size_t>(column.length()));
  for_each_batch(n, [&](std::size_t batch, std::int64_t begin, std::int64_t count) {
    std::uint64_t different = before[batch];
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(begin + count); ++i) {
      different += starts[i];
      out[static_cast<std::size_t>(order[i])] = different - 1;
    }
  });
  return out;
}

// The share of texts that occur once in a sample estimates the probability that the next row has a new text. Measured
// with 2^22 rows, a hash table is faster up to about 10,000 distinct texts of any length.
bool has_few_texts(const arrow::ChunkedArray& column) {
  const std::int64_t step = std::max<std::int64_t>(16, column.length() >> 14) | 1;  // odd: rows often alternate
  string_dictionary met;
  std::vector<std::uint32_t> times;
  std::size_t looked_at = 0;
  std::int64_t start = 0, row = 0;
  for (const auto& chunk : column.chunks()) {
    const auto& strings = static_cast<const arrow::StringArray&>(*chunk);
    for (; row < start + chunk->length(); row += step) {
      if (strings.IsNull(row - start)) continue;
      const std::size_t number = met.add(strings.GetView(row - start));
      if (number == times.size()) times.push_back(0);
      ++times[number];
      ++looked_at;
    }
    start += chunk->length();
  }
  return static_cast<std::size_t>(std::count(times.begin(), times.end(), 1)) * 4 < looked_at;
}

}  // namespace espalier::engine
