// scalar_visit_gpu.cu - see scalar_visit.hpp.
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/transform.h>

#include "bench/papers/large_pages/scalar_visit.hpp"
#include "espalier/blink_tree/visit.hpp"
#include "espalier/static_tree/visit.hpp"

namespace espalier::bench {

template <unsigned Slots>
void apply_on_gpu(const tree_of_slots<Slots>& tree, std::span<std::uint32_t> out) {
  static_cast<void>(espalier::transform(tree, out, scalar_operation{}));
}
template void apply_on_gpu<0>(const tree_of_slots<0>&, std::span<std::uint32_t>);
template void apply_on_gpu<8>(const tree_of_slots<8>&, std::span<std::uint32_t>);
template void apply_on_gpu<32>(const tree_of_slots<32>&, std::span<std::uint32_t>);
template void apply_on_gpu<128>(const tree_of_slots<128>&, std::span<std::uint32_t>);
template void apply_on_gpu<4096>(const tree_of_slots<4096>&, std::span<std::uint32_t>);

void apply_on_gpu(const flat_tree& tree, std::span<std::uint32_t> out) {
  espalier::transform(tree, out.data(), scalar_operation{});
}

void apply_on_gpu(const device& dev, std::span<const std::uint32_t> values, std::span<std::uint32_t> out) {
  const stream order = dev.default_stream();
  const thrust::device_ptr<const std::uint32_t> from(values.data());
  thrust::transform(thrust::cuda::par_nosync.on(static_cast<cudaStream_t>(order.native())), from, from + values.size(),
                    thrust::device_ptr<std::uint32_t>(out.data()), scalar_operation{});
  order.synchronize();
}

}  // namespace espalier::bench
