#include "engine/exec/sort.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include "engine/parallel_sort.hpp"

namespace espalier::engine {
namespace {

// Below 0 where row a comes first by this column, above where b does.
int compared(const sort_column& key, std::size_t a, std::size_t b) {
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

struct word_and_row {
  std::uint64_t word;
  std::int64_t row;
  bool operator<(const word_and_row& other) const { return word != other.word ? word < other.word : row < other.row; }
};

// One key of one word without NULLs: the words travel with their rows.
std::vector<std::int64_t> sorted_by_word(const sort_column& key, std::size_t rows, std::size_t wanted) {
  std::vector<word_and_row> order(rows);
  const std::uint64_t flip = key.descending ? ~std::uint64_t{0} : 0;
  for_each_row(rows, [&](std::size_t i) { order[i] = {key.codes.words[i] ^ flip, static_cast<std::int64_t>(i)}; });
  parallel_sort(order.begin(), order.end(), static_cast<std::ptrdiff_t>(wanted), std::less<>());
  std::vector<std::int64_t> out(wanted);
  for_each_row(wanted, [&](std::size_t i) { out[i] = order[i].row; });
  return out;
}

}  // namespace

std::vector<std::int64_t> sorted_rows(const std::vector<sort_column>& keys, std::size_t rows, std::uint64_t limit) {
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(limit, rows));
  if (keys.size() == 1 && keys[0].codes.high.empty() && keys[0].codes.nulls.empty()) {
    return sorted_by_word(keys[0], rows, wanted);
  }
  std::vector<std::int64_t> order(rows);
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](std::int64_t a, std::int64_t b) {
    for (const auto& key : keys) {
      const int which = compared(key, static_cast<std::size_t>(a), static_cast<std::size_t>(b));
      if (which != 0) return which < 0;
    }
    return a < b;
  };
  parallel_sort(order.begin(), order.end(), static_cast<std::ptrdiff_t>(wanted), before);
  order.resize(wanted);
  return order;
}

}  // namespace espalier::engine
