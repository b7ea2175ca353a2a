// hybrid_data.cpp - sorts draws, removes duplicates and selects fresh keys from the rest.
#include "bench/data/hybrid_data.hpp"

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "bench/data/distinct_keys.hpp"
#include "bench/data/generators.hpp"

namespace espalier::bench {
namespace {

/// Returns the elements i of a column for which keep(i), in order.
template <class Key, class Keep>
column kept_of(const column& all, const Keep& keep) {
  constexpr std::uint64_t block = std::uint64_t{1} << 16;
  const auto from = all.as<const Key>();
  std::vector<std::uint64_t> begin((from.size() + block - 1) / block + 1);
  const auto for_each_block = [&](const auto& f) {
    tbb::parallel_for(std::size_t{0}, begin.size() - 1, [&](std::size_t b) {
      const std::uint64_t last = std::min<std::uint64_t>((b + 1) * block, from.size());
      for (std::uint64_t i = b * block; i < last; ++i) {
        if (keep(i)) f(b, i);
      }
    });
  };
  for_each_block([&](std::size_t b, std::uint64_t) { ++begin[b + 1]; });
  for (std::size_t b = 1; b < begin.size(); ++b) begin[b] += begin[b - 1];
  column out(all.kind(), begin.back());
  const auto to = out.as<Key>();
  std::vector<std::uint64_t> next(begin.begin(), begin.end() - 1);
  for_each_block([&](std::size_t b, std::uint64_t i) { to[next[b]++] = from[i]; });
  return out;
}

/// Distinct draws of a distribution, in key order.
template <class Key>
struct ascending_draws {
  column keys;
  std::uint64_t different = 0;

  ascending_draws(const data_spec& spec, std::uint64_t n) {
    const column all(spec.key, n);
    const auto drawn = all.as<Key>();
    generate_keys<Key>(spec.shape, spec.seed, drawn);
    tbb::parallel_sort(drawn.begin(), drawn.end());
    keys = kept_of<Key>(all, [&](std::uint64_t i) { return i == 0 || drawn[i - 1] < drawn[i]; });
    different = keys.size();
  }
};

}  // namespace

blink_data make_hybrid_data(const data_spec& spec, std::uint64_t fresh) {
  blink_data data;
  data.tree.spec = spec;
  data.fresh_keys = column(spec.key, fresh);
  with_built_type(spec.key, [&]<class Key>() {
    const auto drawn = draw_distinct<ascending_draws<Key>>(spec, spec.keys + fresh);
    // Fresh keys, and excess draws, are selected at random positions.
    const std::uint64_t others = drawn.different - spec.keys;
    const permutation position_of(drawn.different, spec.seed);
    std::vector<std::uint8_t> taken(others == 0 ? 0 : drawn.different);
    parallel_indices(others, [&](std::uint64_t i) {
      const std::uint64_t at = position_of(i);
      taken[at] = 1;
      if (i < fresh) copy_element(drawn.keys, at, data.fresh_keys, i);
    });
    data.tree.keys =
        others == 0 ? drawn.keys : kept_of<Key>(drawn.keys, [&](std::uint64_t i) { return taken[i] == 0; });
  });
  data.fresh_values = values_of(data.fresh_keys, spec, 0);
  data.tree.values = values_of(data.tree.keys, spec, 0);
  data.tree.sorted_keys = data.tree.keys;
  data.tree.sorted_values = data.tree.values;
  return data;
}

}  // namespace espalier::bench
