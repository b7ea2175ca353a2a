// inner_levels.cpp - selects the compiled code that searches the inner levels on a device.
#include "hybrid_tree/inner_levels_impl.hpp"
#include "static_tree/cpu_executor.hpp"

namespace espalier::detail {

#ifdef ESPALIER_HAS_CUDA
[[nodiscard]] std::unique_ptr<inner_levels> copy_inner_levels_to_gpu(const device& dev,
                                                                     const any_inner_levels_view& image,
                                                                     inner_room room);
#endif

std::unique_ptr<inner_levels> copy_inner_levels(const device& dev, const any_inner_levels_view& image,
                                                inner_room room) {
#ifdef ESPALIER_HAS_CUDA
  if (dev.kind() == device_kind::cuda) return copy_inner_levels_to_gpu(dev, image, room);
#endif
  return make_inner_levels<cpu_executor>(dev, image, room);
}
std::unique_ptr<inner_levels> borrow_inner_levels(const device& host, const any_inner_levels_view& image) {
  return make_inner_levels<cpu_executor>(host, image, std::nullopt);
}

}  // namespace espalier::detail
