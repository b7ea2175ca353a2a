// peer_maps_f64.cpp - std::multimap and absl::btree_multimap with f64 keys.
#include "bench/peer_maps.hpp"

namespace espalier::bench {

template std::unique_ptr<peer> make_map_peer<double>(std::string_view name, const workload& data, unsigned threads);

}  // namespace espalier::bench
