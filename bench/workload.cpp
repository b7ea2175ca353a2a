// workload.cpp - generating pairs, sorting them apart from any index, drawing queries.
#include "bench/workload.hpp"

#include <fmt/format.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <span>
#include <utility>

#include "bench/generators.hpp"

namespace espalier::bench {
namespace {

/// Sorting (word, input position) makes any sort stable.
struct wide_entry {
  std::uint64_t word;
  std::uint64_t position;
  friend bool operator<(const wide_entry& a, const wide_entry& b) {
    return a.word != b.word ? a.word < b.word : a.position < b.position;
  }
};

template <class T>
void gather(const column& from, const column& to, const auto& position_of) {
  const auto source = from.as<T>();
  const auto target = to.as<T>();
  parallel_indices(target.size(), [&](std::uint64_t i) { target[i] = source[position_of(i)]; });
}

void gather(const column& from, const column& to, const auto& position_of) {
  if (bytes_of(from.kind()) == 4) gather<std::uint32_t>(from, to, position_of);
  if (bytes_of(from.kind()) == 8) gather<std::uint64_t>(from, to, position_of);
}

template <class Key>
void sort_pairs(workload& data) {
  const auto keys = data.keys.as<const Key>();
  const std::size_t n = keys.size();
  // 32-bit keys and positions share one word: half the memory, and the faster comparison.
  if constexpr (sizeof(Key) == 4) {
    auto entries = std::make_unique_for_overwrite<std::uint64_t[]>(n);
    parallel_indices(n, [&](std::uint64_t i) { entries[i] = std::uint64_t{codec<Key>::encode(keys[i])} << 32 | i; });
    tbb::parallel_sort(entries.get(), entries.get() + n);
    const auto position_of = [&](std::uint64_t i) { return entries[i] & 0xffffffffu; };
    gather(data.keys, data.sorted_keys, position_of);
    gather(data.values, data.sorted_values, position_of);
  } else {
    auto entries = std::make_unique_for_overwrite<wide_entry[]>(n);
    parallel_indices(n, [&](std::uint64_t i) { entries[i] = {codec<Key>::encode(keys[i]), i}; });
    tbb::parallel_sort(entries.get(), entries.get() + n);
    const auto position_of = [&](std::uint64_t i) { return entries[i].position; };
    gather(data.keys, data.sorted_keys, position_of);
    gather(data.values, data.sorted_values, position_of);
  }
}

/// Lower (or upper) bound of `key`, looked for in steps that double away from `hint`.
template <bool Upper, class Key>
std::uint64_t bound_near(std::span<const Key> sorted, Key key, std::uint64_t hint) {
  const auto before = [&](std::uint64_t i) { return Upper ? !(key < sorted[i]) : sorted[i] < key; };
  std::uint64_t low = std::min<std::uint64_t>(hint, sorted.size());
  std::uint64_t high = low;
  for (std::uint64_t step = 1; low > 0 && !before(low - 1); step *= 2) {
    high = low - 1;
    low = low > step ? low - step : 0;
  }
  for (std::uint64_t step = 1; high < sorted.size() && before(high); step *= 2) {
    low = high + 1;
    high = std::min<std::uint64_t>(high + step, sorted.size());
  }
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

template <class Key>
query_set draw_queries(const workload& data, std::size_t n, double hit_rate, bool sorted) {
  const auto keys = data.sorted_keys.as<const Key>();
  const std::uint64_t seed = mix(data.spec.seed ^ 0x71756572u);
  query_set set{column(data.spec.key, n), std::vector<std::uint64_t>(n)};
  const auto out = set.keys.as<Key>();
  parallel_indices(n, [&](std::uint64_t i) {
    const std::uint64_t bits = random_bits(seed, i);
    const bool hit = !keys.empty() && unit(mix(~bits)) < hit_rate;
    out[i] = hit ? keys[below(bits, keys.size())] : at_fraction<Key>(bits);
  });
  if (sorted) tbb::parallel_sort(out.begin(), out.end());
  parallel_indices(n, [&](std::uint64_t i) {
    // A hit starts where it was drawn; sorted queries and misses by a plain search.
    const std::uint64_t bits = random_bits(seed, i);
    const std::uint64_t drawn = keys.empty() ? 0 : below(bits, keys.size());
    const bool near = !keys.empty() && keys[drawn] == out[i];
    set.ranks[i] = near ? bound_near<false>(keys, out[i], drawn)
                        : static_cast<std::uint64_t>(std::lower_bound(keys.begin(), keys.end(), out[i]) - keys.begin());
  });
  return set;
}

template <class Key>
range_set draw_ranges(const workload& data, std::size_t n, std::uint64_t length) {
  const auto keys = data.sorted_keys.as<const Key>();
  const std::uint64_t seed = mix(data.spec.seed ^ 0x72616e67u);
  range_set set{column(data.spec.key, n), column(data.spec.key, n), std::vector<std::uint64_t>(n),
                std::vector<std::uint64_t>(n)};
  const auto lo = set.lo.as<Key>();
  const auto hi = set.hi.as<Key>();
  parallel_indices(n, [&](std::uint64_t i) {
    const std::uint64_t bits = random_bits(seed, i);
    if (keys.empty()) {
      lo[i] = hi[i] = at_fraction<Key>(bits);
      set.first[i] = set.last[i] = 0;
      return;
    }
    const std::uint64_t start = below(bits, keys.size());
    const std::uint64_t end = std::min<std::uint64_t>(start + std::max<std::uint64_t>(length, 1) - 1, keys.size() - 1);
    lo[i] = keys[start];
    hi[i] = keys[end];
    set.first[i] = bound_near<false>(keys, lo[i], start);
    set.last[i] = bound_near<true>(keys, hi[i], end);
  });
  return set;
}

}  // namespace

workload make_workload(const data_spec& spec) {
  workload data{spec, column(spec.key, spec.keys), column(spec.value, spec.keys), column(spec.key, spec.keys),
                column(spec.value, spec.keys)};
  with_type(spec.key, [&]<class Key>() { generate_keys<Key>(spec.shape, spec.seed, data.keys.as<Key>()); });
  if (spec.value != no_value) {
    with_type(spec.value, [&]<class Value>() { generate_values<Value>(spec.seed, data.values.as<Value>()); });
  }
  with_type(spec.key, [&]<class Key>() { sort_pairs<Key>(data); });
  return data;
}

query_set make_queries(const workload& data, std::size_t n, double hit_rate, bool sorted) {
  return with_type(data.spec.key, [&]<class Key>() { return draw_queries<Key>(data, n, hit_rate, sorted); });
}

range_set make_ranges(const workload& data, std::size_t n, std::uint64_t length) {
  return with_type(data.spec.key, [&]<class Key>() { return draw_ranges<Key>(data, n, length); });
}

std::string text_of(const column& values, std::size_t i) {
  if (values.data() == nullptr) return "nothing";
  if (values.kind() == scalar_kind::u8) return fmt::format("{}", values.as<std::uint8_t>()[i]);
  return with_type(values.kind(), [&]<class T>() { return fmt::format("{}", values.as<T>()[i]); });
}

}  // namespace espalier::bench
