// hybrid_tree_cuda.cu - inner levels that a GPU searches, and leaves in host memory that it reads.
#include "hybrid_tree/device_leaves_impl.hpp"
#include "hybrid_tree/inner_levels_impl.hpp"
#include "static_tree/cuda_executor.cuh"

namespace espalier::detail {

std::unique_ptr<inner_levels> copy_inner_levels_to_gpu(const device& dev, const any_inner_levels_view& image,
                                                       inner_room room) {
  return make_inner_levels<cuda_executor>(dev, image, room);
}
std::unique_ptr<device_leaves> make_device_leaves_on_gpu(const device& dev, const device& host,
                                                         const static_index& tree, std::size_t part,
                                                         std::size_t cache) {
  return make_leaves<cuda_executor>(dev, host, tree, part, cache);
}

}  // namespace espalier::detail
