// index.cpp - selects the compiled tree for a value type and a device.
#include "espalier/radix_tree/index.hpp"

#include "radix_tree/factory.hpp"

namespace espalier::detail {

std::unique_ptr<radix_index> build_radix_index(const device& dev, element_type elements, const byte_keys& keys,
                                               const void* values, const radix_options& options, const stream& order) {
  if (elements.value_bytes > 16)
    throw error("radix_tree: values have at most 16 bytes; store an index to larger ones.");
  const radix_request request{dev, elements, keys, values, options, order};
#ifdef ESPALIER_HAS_CUDA
  if (dev.kind() == device_kind::cuda) return make_radix_on<radix_cuda_executor>(request);
#endif
  return make_radix_on<radix_cpu_executor>(request);
}

}  // namespace espalier::detail
