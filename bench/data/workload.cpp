// workload.cpp - generates pairs, sorts them without any index, and draws queries.
#include "bench/data/workload.hpp"

#include <fmt/format.h>
#include <tbb/parallel_sort.h>

#include <algorithm>
#include <span>
#include <utility>

#include "bench/data/generators.hpp"
#include "bench/data/sorted_positions.hpp"

namespace espalier::bench {
namespace {

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
  const sorted_positions<Key> position_of(data.keys.as<const Key>());
  gather(data.keys, data.sorted_keys, position_of);
  gather(data.values, data.sorted_values, position_of);
}

/// Returns the lower (or upper) bound of `key` by galloping search from `hint`.
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
    // A hit is searched from where it was drawn; sorted queries and misses use a plain search.
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

/// Returns the number of queries whose results fit; duplicate keys can make ranges far longer than requested.
std::size_t fitting_queries(const range_set& ranges, std::uint64_t most) {
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    total += ranges.last[i] - ranges.first[i];
    if (total > most) return std::max<std::size_t>(i, 1);
  }
  return ranges.size();
}

}  // namespace

workload make_workload(const data_spec& spec) {
  column keys(spec.key, spec.keys), values(spec.value, spec.keys);
  with_built_type(spec.key, [&]<class Key>() { generate_keys<Key>(spec.shape, spec.seed, keys.as<Key>()); });
  if (spec.value != no_value) {
    with_built_type(spec.value, [&]<class Value>() { generate_values<Value>(spec.seed, values.as<Value>()); });
  }
  return make_workload(spec, std::move(keys), std::move(values));
}

workload make_workload(const data_spec& spec, column keys, column values) {
  const std::size_t n = keys.size();
  workload data{spec, std::move(keys), std::move(values), column(spec.key, n), column(spec.value, n)};
  with_built_type(spec.key, [&]<class Key>() { sort_pairs<Key>(data); });
  return data;
}

query_set make_queries(const workload& data, std::size_t n, double hit_rate, bool sorted) {
  return with_built_type(data.spec.key, [&]<class Key>() { return draw_queries<Key>(data, n, hit_rate, sorted); });
}

range_set make_ranges(const workload& data, std::size_t n, std::uint64_t length) {
  return with_built_type(data.spec.key, [&]<class Key>() { return draw_ranges<Key>(data, n, length); });
}

range_set make_fitting_ranges(const workload& data, std::size_t n, std::uint64_t length, std::uint64_t most) {
  const std::uint64_t queries = std::max<std::uint64_t>(most / std::max<std::uint64_t>(length, 1), 1);
  range_set ranges = make_ranges(data, std::min<std::uint64_t>(n, queries), length);
  const std::size_t fit = fitting_queries(ranges, most);
  return fit < ranges.size() ? make_ranges(data, fit, length) : std::move(ranges);
}

std::string text_of(const column& values, std::size_t i) {
  if (values.data() == nullptr) return "nothing";
  if (values.kind() == scalar_kind::u8) return fmt::format("{}", values.as<std::uint8_t>()[i]);
  return with_type(values.kind(), [&]<class T>() { return fmt::format("{}", values.as<T>()[i]); });
}

}  // namespace espalier::bench
