// gpu_visit.cu - reduce() over all elements of an index on a GPU.
#include "bench/index/gpu_visit.hpp"

#include "bench/index/visit_all.hpp"
#include "espalier/blink_tree/visit.hpp"
#include "espalier/static_tree/visit.hpp"

namespace espalier::bench {

std::uint64_t visit_on_gpu(const static_tree<std::uint32_t, std::uint32_t>& tree) { return visit_all(tree); }
std::uint64_t visit_on_gpu(const static_tree<std::uint64_t, std::uint64_t>& tree) { return visit_all(tree); }
#ifdef ESPALIER_BENCH_ALL_TYPES
std::uint64_t visit_on_gpu(const static_tree<float, float>& tree) { return visit_all(tree); }
std::uint64_t visit_on_gpu(const static_tree<double, double>& tree) { return visit_all(tree); }
#endif

template <class Key, class Value, class Policy>
std::uint64_t visit_on_gpu(const blink_tree<Key, Value, Policy>& tree) {
  static_assert(visits_on_gpu<Key, Value, Policy>());
  return visit_all(tree);
}

template <unsigned Slots>
using nodes_of = blink_policy<protocol::blink, inner_index::express_lane, Slots>;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

#ifdef ESPALIER_BENCH_ALL_TYPES
template u64 visit_on_gpu(const blink_tree<float, u32>& tree);
template u64 visit_on_gpu(const blink_tree<double, u64>& tree);
#endif
template u64 visit_on_gpu(const blink_tree<u32, u32>& tree);
template u64 visit_on_gpu(const blink_tree<u32, u32, nodes_of<8>>& tree);
template u64 visit_on_gpu(const blink_tree<u32, u32, nodes_of<32>>& tree);
template u64 visit_on_gpu(const blink_tree<u32, u32, nodes_of<128>>& tree);
template u64 visit_on_gpu(const blink_tree<u32, u32, nodes_of<4096>>& tree);
template u64 visit_on_gpu(const blink_tree<u64, u64>& tree);
template u64 visit_on_gpu(const blink_tree<u64, u64, nodes_of<8>>& tree);
template u64 visit_on_gpu(const blink_tree<u64, u64, nodes_of<32>>& tree);
template u64 visit_on_gpu(const blink_tree<u64, u64, nodes_of<128>>& tree);
template u64 visit_on_gpu(const blink_tree<u64, u64, nodes_of<4096>>& tree);

}  // namespace espalier::bench
