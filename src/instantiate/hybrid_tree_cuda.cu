// hybrid_tree_cuda.cu - inner levels that a GPU walks.
#include "hybrid_tree/inner_levels_on.hpp"
#include "static_tree/cuda_context.cuh"

namespace espalier::detail {

std::unique_ptr<inner_levels> copy_inner_levels_to_gpu(const device& where, const any_upper_image& image) {
  return make_inner_levels<cuda_context>(where, image, true);
}

}  // namespace espalier::detail
