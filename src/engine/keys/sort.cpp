#include "engine/keys/sort.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/keys/key_packer.hpp"
#include "engine/keys/radix_sort.hpp"
#include "engine/parallel_sort.hpp"

namespace espalier::engine {

int compare_rows(const sort_column& key, std::size_t a, std::size_t b) {
  const bool a_null = key.codes.is_null(a);
  const bool b_null = key.codes.is_null(b);
  if (a_null || b_null) return a_null == b_null ? 0 : (a_null == key.nulls_first ? -1 : 1);
  const int sign = key.descending ? -1 : 1;
  if (!key.codes.high.empty() && key.codes.high[a] != key.codes.high[b]) {
    return key.codes.high[a] < key.codes.high[b] ? -sign : sign;
  }
  if (key.codes.words[a] == key.codes.words[b]) return 0;
  return key.codes.words[a] < key.codes.words[b] ? -sign : sign;
}

namespace {

// Sorts by comparing rows, if the words do not determine the order or few rows are needed.
std::vector<std::int64_t> sorted_by_comparing(const std::vector<sort_column>& keys, std::size_t rows,
                                              std::size_t wanted) {
  std::vector<std::int64_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](std::int64_t a, std::int64_t b) {
    for (const auto& key : keys) {
      const int which = compare_rows(key, static_cast<std::size_t>(a), static_cast<std::size_t>(b));
      if (which != 0) return which < 0;
    }
    return a < b;
  };
  parallel_sort(order.begin(), order.end(), static_cast<std::ptrdiff_t>(wanted), before);
  order.resize(wanted);
  return order;
}

}  // namespace

std::vector<std::int64_t> sorted_rows(const std::vector<sort_column>& keys, std::size_t rows, std::uint64_t limit) {
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(limit, rows));
  constexpr std::size_t worth_packing = 64;
  const bool numbered = rows >= worth_packing && rows <= std::numeric_limits<std::uint32_t>::max();
  constexpr std::size_t few_wanted = 64;  // below this limit, a selection is faster
  if (!numbered || wanted < rows / few_wanted) return sorted_by_comparing(keys, rows, wanted);
  std::vector<const sort_key_column*> columns;
  std::vector<key_direction> directions;
  for (const auto& key : keys) {
    columns.push_back(&key.codes);
    directions.push_back({key.descending, key.nulls_first});
  }
  const auto packer = key_packer::plan_order(columns, directions, rows);
  if (!packer) return sorted_by_comparing(keys, rows, wanted);
  auto order = rows_in_word_order(packer->pack(columns, rows).words);
  order.resize(wanted);
  return order;
}

}  // namespace espalier::engine
