// peer.cpp - the list of peers and who makes them.
#include "bench/peer.hpp"

#include <limits>

#include "bench/peer_arrays.hpp"

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

std::unique_ptr<peer> make_cpu_peer(std::string_view name, const workload& data, unsigned threads) {
  if (name != "std-map" && name != "absl-btree") return make_array_peer(name, data, threads);
  return with_type(data.spec.key, [&]<class Key>() { return make_map_peer<Key>(name, data, threads); });
}

}  // namespace espalier::bench
