// index.cpp - selects the compiled tree for a type, a policy and a device.
#include "espalier/blink_tree/index.hpp"

#include <string>

#include "blink_tree/factory.hpp"

namespace espalier::detail {

std::unique_ptr<blink_index> build_blink_index(const device& dev, element_type elements, const blink_shape& shape,
                                               const void* keys, const void* values, std::size_t n,
                                               const blink_options& options, const stream& order) {
  if (elements.value_bytes > 16)
    throw error("blink_tree: values have at most 16 bytes; store an index to larger ones.");
  const blink_request request{dev, elements, shape, keys, values, n, options, order};
  const bool small = bytes_of(elements.key) <= 4;
  std::unique_ptr<blink_index> made;
#ifdef ESPALIER_HAS_CUDA
  if (dev.kind() == device_kind::cuda) {
    made = small ? make_blink_on<blink_cuda_executor, std::uint32_t>(request)
                 : make_blink_on<blink_cuda_executor, std::uint64_t>(request);
  } else
#endif
  {
    made = small ? make_blink_on<blink_cpu_executor, std::uint32_t>(request)
                 : make_blink_on<blink_cpu_executor, std::uint64_t>(request);
  }
  if (made == nullptr) {
    throw error(
        "blink_tree: this library has no tree with protocol " + to_string(shape.protocol) + ", upper levels " +
        to_string(shape.inner) + " and " + std::to_string(shape.slots) +
        " slots for these types. Policies other than the default exist for keys of 4 and 8 bytes with values of the "
        "same size, unless the library was built with ESPALIER_BUILD_VARIANTS=OFF. Widths of 8, 32, 128 and 4096 slots "
        "take protocol link and upper levels express; on a CPU, keys of 8 bytes in nodes of 8 slots also take link or "
        "couple with upper levels classic.");
  }
  return made;
}

}  // namespace espalier::detail
