// array_peers.hpp - peers that work on plain arrays on a CPU: binary search, scans, sorting, summing.
#pragma once

#include <memory>
#include <string_view>

#include "bench/peers/peer.hpp"

namespace espalier::bench {

/// `name` is lower-bound, vector-scan, tbb-sort or reduce.
[[nodiscard]] std::unique_ptr<peer> make_array_peer(std::string_view name, const workload& data, unsigned threads);

}  // namespace espalier::bench
