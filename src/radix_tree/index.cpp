// index.cpp - selects the compiled tree for a value type and a device.
#include "espalier/radix_tree/index.hpp"

#include "espalier/radix_tree/batch_search.hpp"
#include "radix_tree/factory.hpp"

namespace espalier::detail {

explanation radix_index::explain(std::size_t n) const {
  const radix_stats s = stats();
  const bool on_gpu = get_device().kind() == device_kind::cuda;
  explanation e;
  e.chosen = n <= radix_cpu_grain && !on_gpu ? query_plan::small : query_plan::scattered;
  e.text = "plan " + to_string(e.chosen) + " for " + std::to_string(n) + " queries on the " +
           (on_gpu ? "GPU: one thread for each query"
            : searches_wait_for_memory(s.size, s.table_bits)
                ? "CPU: the searches of 32 keys are interleaved"
                : "CPU: finds of 32 keys are interleaved, other searches are not, because the tree is small") +
           "\n";
  return e;
}

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
