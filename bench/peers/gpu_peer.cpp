// gpu_peer.cpp - selects a peer on the GPU; without CUDA there is none.
#include "bench/peers/gpu_peer_kinds.hpp"

namespace espalier::bench {

#ifdef ESPALIER_HAS_CUDA
std::unique_ptr<peer> make_gpu_peer(std::string_view name, const workload& data, const device& dev) {
  if (name == "thrust-lower-bound") return make_gpu_search_peer(data, dev);
  if (name == "cub-sort") return make_gpu_sort_peer(data, dev);
  return make_gpu_reduce_peer(data, dev);
}
#else
std::unique_ptr<peer> make_gpu_peer(std::string_view, const workload&, const device&) { return nullptr; }
#endif

}  // namespace espalier::bench
