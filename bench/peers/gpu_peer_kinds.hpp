// gpu_peer_kinds.hpp - factories of the peers on a GPU, one .cu file each; they return null if the types are not
// compiled in.
#pragma once

#include <memory>

#include "bench/peers/peer.hpp"

namespace espalier::bench {

[[nodiscard]] std::unique_ptr<peer> make_gpu_search_peer(const workload& data, const device& dev);
[[nodiscard]] std::unique_ptr<peer> make_gpu_sort_peer(const workload& data, const device& dev);
[[nodiscard]] std::unique_ptr<peer> make_gpu_reduce_peer(const workload& data, const device& dev);

}  // namespace espalier::bench
