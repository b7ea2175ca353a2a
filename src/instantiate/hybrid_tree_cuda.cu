// hybrid_tree_cuda.cu - inner levels that a GPU walks, and leaves in host memory that it reads.
#include "hybrid_tree/device_leaves_on.hpp"
#include "hybrid_tree/inner_levels_on.hpp"
#include "static_tree/cuda_context.cuh"

namespace espalier::detail {

std::unique_ptr<inner_levels> copy_inner_levels_to_gpu(const device& where, const any_upper_image& image,
                                                       inner_room room) {
  return make_inner_levels<cuda_context>(where, image, room);
}
std::unique_ptr<device_leaves> make_device_leaves_on_gpu(const device& where, const device& host,
                                                         const static_index& tree, std::size_t part,
                                                         std::size_t cache) {
  return make_leaves<cuda_context>(where, host, tree, part, cache);
}

}  // namespace espalier::detail
