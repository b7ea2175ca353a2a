// blink_data.cpp - distinct keys in the order in which they were drawn, and values derived from them.
#include "bench/data/blink_data.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "bench/data/distinct_keys.hpp"
#include "bench/data/generators.hpp"
#include "bench/data/sorted_positions.hpp"

namespace espalier::bench {
namespace {

/// Draws of a distribution, and which of them are the first occurrence of their key.
template <class Key>
struct draws {
  std::vector<Key> keys;
  std::vector<std::uint8_t> is_first;
  std::uint64_t different = 0;

  draws(const data_spec& spec, std::uint64_t n) : keys(n), is_first(n) {
    generate_keys<Key>(spec.shape, spec.seed, keys);
    const sorted_positions<Key> order(keys);
    parallel_indices(
        n, [&](std::uint64_t i) { is_first[order(i)] = i == 0 || order.word(i) != order.word(i - 1) ? 1 : 0; });
    different = static_cast<std::uint64_t>(std::count(is_first.begin(), is_first.end(), 1));
  }
};

/// Fills the tree's keys and the fresh ones with the first distinct draws.
template <class Key>
void fill(const draws<Key>& drawn, blink_data& data, column& keys) {
  const auto tree = keys.as<Key>();
  const auto fresh = data.fresh_keys.as<Key>();
  std::uint64_t taken = 0;
  for (std::uint64_t i = 0; i < drawn.keys.size() && taken < tree.size() + fresh.size(); ++i) {
    if (drawn.is_first[i] == 0) continue;
    (taken < tree.size() ? tree[taken] : fresh[taken - tree.size()]) = drawn.keys[i];
    ++taken;
  }
}

/// Returns the draws up to the one that completes the tree's keys.
template <class Key>
column arrivals_of(const draws<Key>& drawn, const data_spec& spec) {
  std::uint64_t n = 0;
  for (std::uint64_t seen = 0; seen < spec.keys; ++n) seen += drawn.is_first[n];
  column all(spec.key, n);
  std::copy_n(drawn.keys.begin(), n, all.as<Key>().begin());
  return all;
}

template <class Value>
Value value_from(std::uint64_t bits) {
  if constexpr (std::is_floating_point_v<Value>) {
    return at_fraction<Value>(bits);
  } else {
    return static_cast<Value>(bits);
  }
}

template <class Key>
query_set requests_of(const workload& data, const column& incoming, std::size_t n, request_order how, double hit_rate) {
  const auto sorted = data.sorted_keys.as<const Key>();
  const auto arriving = incoming.as<const Key>();
  const bool in_order = how == request_order::in_order;
  const requester position_of(how, in_order ? arriving.size() : sorted.size(), data.spec.seed);
  const std::uint64_t seed = mix(data.spec.seed ^ 0x686974u);
  query_set set{column(data.spec.key, n), std::vector<std::uint64_t>(n)};
  const auto out = set.keys.as<Key>();
  parallel_indices(n, [&](std::uint64_t i) {
    const std::uint64_t bits = random_bits(seed, i);
    const bool hit = !sorted.empty() && unit(mix(~bits)) < hit_rate;
    if (hit && !in_order) {
      set.ranks[i] = position_of(i);
      out[i] = sorted[set.ranks[i]];
      return;
    }
    out[i] = hit ? arriving[position_of(i)] : at_fraction<Key>(bits);
    set.ranks[i] = static_cast<std::uint64_t>(std::lower_bound(sorted.begin(), sorted.end(), out[i]) - sorted.begin());
  });
  return set;
}

}  // namespace

blink_data make_blink_data(const data_spec& spec, std::uint64_t fresh) {
  blink_data data;
  data.fresh_keys = column(spec.key, fresh);
  column keys(spec.key, spec.keys);
  with_built_type(spec.key, [&]<class Key>() {
    const auto drawn = draw_distinct<draws<Key>>(spec, spec.keys + fresh);
    fill(drawn, data, keys);
    if (spec.shape == distribution::mesh) data.arrivals = arrivals_of(drawn, spec);
  });
  data.fresh_values = values_of(data.fresh_keys, spec, 0);
  data.arrival_values = values_of(data.arrivals, spec, 0);
  column values = values_of(keys, spec, 0);
  data.tree = make_workload(spec, std::move(keys), std::move(values));
  return data;
}

column values_of(const column& keys, const data_spec& spec, unsigned generation) {
  column values(spec.value, keys.size());
  if (spec.value == no_value) return values;
  with_built_type(spec.key, [&]<class Key>() {
    with_built_type(spec.value, [&]<class Value>() {
      const auto from = keys.as<const Key>();
      const auto to = values.as<Value>();
      parallel_indices(from.size(), [&](std::uint64_t i) {
        to[i] = value_from<Value>(mix(random_bits(spec.seed, key_codec<Key>::encode(from[i])) + generation));
      });
    });
  });
  return values;
}

column first_of(const column& from, std::size_t n) {
  column out(from.kind(), n);
  if (out.byte_count() != 0) std::memcpy(out.data(), from.data(), out.byte_count());
  return out;
}

column joined(const column& a, const column& b) {
  column out(a.kind(), a.size() + b.size());
  auto* to = static_cast<std::byte*>(out.data());
  if (a.byte_count() != 0) std::memcpy(to, a.data(), a.byte_count());
  if (b.byte_count() != 0) std::memcpy(to + a.byte_count(), b.data(), b.byte_count());
  return out;
}

workload with_inserted(const blink_data& data, std::size_t n) {
  data_spec spec = data.tree.spec;
  spec.keys += n;
  return make_workload(spec, joined(data.tree.keys, first_of(data.fresh_keys, n)),
                       joined(data.tree.values, first_of(data.fresh_values, n)));
}

query_set make_requests(const workload& data, const column& incoming, std::size_t n, request_order how,
                        double hit_rate) {
  return with_built_type(data.spec.key,
                         [&]<class Key>() { return requests_of<Key>(data, incoming, n, how, hit_rate); });
}

}  // namespace espalier::bench
