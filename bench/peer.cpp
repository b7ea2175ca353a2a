// peer.cpp - the list of peers and who makes them.
#include "bench/peer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bench/options.hpp"
#include "bench/peer_arrays.hpp"
#include "bench/row.hpp"

namespace espalier::bench {

template <class Key>
std::unique_ptr<peer> make_map_peer(std::string_view name, const workload& data, unsigned threads);

const std::vector<peer_entry>& known_peers() {
  constexpr auto any = std::numeric_limits<std::uint64_t>::max();
  static const std::vector<peer_entry> list{
      {"lower-bound", device_kind::cpu, any},
      {"std-map", device_kind::cpu, std::uint64_t{1} << 22},
      {"absl-btree", device_kind::cpu, std::uint64_t{1} << 26},
      {"vector-scan", device_kind::cpu, any},
      {"tbb-sort", device_kind::cpu, any},
      {"reduce", device_kind::cpu, any},
      {"thrust-lower-bound", device_kind::cuda, any},
      {"cub-sort", device_kind::cuda, any},
      {"reduce", device_kind::cuda, any},
  };
  return list;
}

map_choice choose_map(const options& what, std::string_view name, std::string_view index, device_kind where,
                      std::uint64_t keys) {
  const bool gpu = where == device_kind::cuda;
  if (gpu || (name != "std-map" && name != "absl-btree")) {
    if (!what.peers_named) return {false, ""};
    return {false, fmt::format("{}: skipped, not a peer of the {} tree on a {}", name, index, gpu ? "gpu" : "cpu")};
  }
  const auto& list = known_peers();
  const auto entry = std::find_if(list.begin(), list.end(), [&](const auto& p) { return p.name == name; });
  if (keys > entry->most_keys && !what.force_peers) {
    return {false,
            fmt::format("{}: skipped above {} keys (--force-peers measures it)", name, size_text(entry->most_keys))};
  }
  return {};
}

std::unique_ptr<peer> make_cpu_peer(std::string_view name, const workload& data, unsigned threads) {
  if (name != "std-map" && name != "absl-btree") return make_array_peer(name, data, threads);
  return with_type(data.spec.key, [&]<class Key>() { return make_map_peer<Key>(name, data, threads); });
}

}  // namespace espalier::bench
