// inner_levels.cpp - selects the compiled code that searches the inner levels on a device; compares two copies of them.
#include <algorithm>
#include <cstring>

#include "espalier/device/cpu.hpp"
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

std::vector<byte_range> differing(const cpu_backend& host, const void* before, std::size_t before_bytes,
                                  const void* now, std::size_t bytes) {
  const std::size_t blocks = (bytes + update_block - 1) / update_block;
  std::vector<unsigned char> differs(blocks);
  host.for_each(
      blocks,
      [&](std::size_t b) {
        const std::size_t first = b * update_block, last = std::min(bytes, first + update_block);
        differs[b] = last > before_bytes || std::memcmp(static_cast<const char*>(before) + first,
                                                        static_cast<const char*>(now) + first, last - first) != 0;
      },
      8);
  std::vector<byte_range> ranges;
  for (std::size_t b = 0; b < blocks; ++b) {
    if (differs[b] == 0) continue;
    const std::size_t first = b * update_block, last = std::min(bytes, first + update_block);
    if (!ranges.empty() && ranges.back().last == first) {
      ranges.back().last = last;
    } else {
      ranges.push_back({first, last});
    }
  }
  return ranges;
}

}  // namespace espalier::detail
