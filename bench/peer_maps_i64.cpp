// peer_maps_i64.cpp - std::multimap and absl::btree_multimap with i64 keys.
#include "bench/peer_maps.hpp"

namespace espalier::bench {

template std::unique_ptr<peer> make_map_peer<std::int64_t>(std::string_view name, const workload& data,
                                                           unsigned threads);

}  // namespace espalier::bench
