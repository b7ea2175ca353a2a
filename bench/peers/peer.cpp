// peer.cpp - the list of peers and their factories.
#include "bench/peers/peer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"
#include "bench/harness/visit_timing.hpp"
#include "bench/peers/array_peers.hpp"

namespace espalier::bench {

template <class Key>
std::unique_ptr<peer> make_map_peer(std::string_view name, const workload& data, unsigned threads);

const std::vector<peer_entry>& known_peers() {
  constexpr auto any = std::numeric_limits<std::uint64_t>::max();
  constexpr std::array only_static{true, false, false, false}, visited{true, true, false, false},
      every{true, true, true, true}, only_radix{false, false, true, false};
  static const std::vector<peer_entry> list{
      {"lower-bound", device_kind::cpu, any, only_static},
      {"std-map", device_kind::cpu, std::uint64_t{1} << 22, every},
      {"absl-btree", device_kind::cpu, std::uint64_t{1} << 26, every},
      {"vector-scan", device_kind::cpu, any, only_static},
      {"tbb-sort", device_kind::cpu, any, only_static},
      {"reduce", device_kind::cpu, any, visited},
      {"pointer-art", device_kind::cpu, std::uint64_t{1} << 26, only_radix},
      {"grt-like", device_kind::cpu, any, only_radix},
      {"fixed-table", device_kind::cpu, any, only_radix},
      {"thrust-lower-bound", device_kind::cuda, any, only_static},
      {"cub-sort", device_kind::cuda, any, only_static},
      {"reduce", device_kind::cuda, any, visited},
      {"grt-like", device_kind::cuda, any, only_radix},
      {"fixed-table", device_kind::cuda, any, only_radix},
  };
  return list;
}

const peer_entry* known_peer(std::string_view name, index_kind index, device_kind dev) {
  const auto& list = known_peers();
  const auto entry = std::find_if(list.begin(), list.end(), [&](const auto& p) {
    return p.name == name && p.dev == dev && p.indexes[static_cast<std::size_t>(index)];
  });
  return entry == list.end() ? nullptr : &*entry;
}

peer_choice choose_peer(const options& what, std::string_view name, index_kind index, device_kind dev,
                        std::uint64_t keys) {
  const peer_entry* const entry = known_peer(name, index, dev);
  if (entry == nullptr) {
    if (!what.peers_named) return {false, ""};
    return {false, fmt::format("{}: skipped, not a peer of the {} tree on a {}", name,
                               index == index_kind::blink ? "B-link" : name_in(index_names, index),
                               dev == device_kind::cuda ? "gpu" : "cpu")};
  }
  if (keys > entry->most_keys && !what.force_peers) {
    return {false,
            fmt::format("{}: skipped above {} keys (--force-peers measures it)", name, size_text(entry->most_keys))};
  }
  return {};
}

double seconds_of_visit(peer& by, std::string_view name, std::uint64_t right, unsigned repeat, const stream& order) {
  request all;
  std::uint64_t checksum = 0;
  all.out[0] = &checksum;
  all.order = order;
  return seconds_of_visit(name, right, repeat, [&] {
    checksum = ~right;
    by.run(operation::visit, all);
    return checksum;
  });
}

std::string note_of_one_thread(operation op, std::string_view name, unsigned threads) {
  if (threads <= 1 || !takes_no_queries(op) || (name != "std-map" && name != "absl-btree")) return {};
  return fmt::format("{}: {} runs in one thread, the index uses {}", name, name_of(op), threads);
}

std::unique_ptr<peer> make_cpu_peer(std::string_view name, const workload& data, unsigned threads) {
  if (name != "std-map" && name != "absl-btree") return make_array_peer(name, data, threads);
  return with_built_type(data.spec.key, [&]<class Key>() { return make_map_peer<Key>(name, data, threads); });
}

}  // namespace espalier::bench
