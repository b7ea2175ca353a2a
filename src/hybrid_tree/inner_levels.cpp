// inner_levels.cpp - which compiled code walks the inner levels on a device.
#include "hybrid_tree/inner_levels_on.hpp"
#include "static_tree/cpu_context.hpp"

namespace espalier::detail {

#ifdef ESPALIER_HAS_CUDA
[[nodiscard]] std::unique_ptr<inner_levels> copy_inner_levels_to_gpu(const device& where, const any_upper_image& image,
                                                                     inner_room room);
#endif

std::unique_ptr<inner_levels> copy_inner_levels(const device& where, const any_upper_image& image, inner_room room) {
#ifdef ESPALIER_HAS_CUDA
  if (where.kind() == device_kind::cuda) return copy_inner_levels_to_gpu(where, image, room);
#endif
  return make_inner_levels<cpu_context>(where, image, room);
}
std::unique_ptr<inner_levels> borrow_inner_levels(const device& host, const any_upper_image& image) {
  return make_inner_levels<cpu_context>(host, image, std::nullopt);
}

}  // namespace espalier::detail
