// factory.hpp - the compiled radix trees, one translation unit per context (src/instantiate/radix_tree_*).
#pragma once

#include <memory>

#include "espalier/radix_tree/index.hpp"

namespace espalier::detail {

/// Queries that a CPU thread answers at a time; a batch of at most that many is answered by the calling thread.
inline constexpr std::size_t radix_cpu_grain = 1024;

class radix_cpu_executor;
class radix_cuda_executor;

struct radix_request {
  const device& dev;
  element_type elements;
  const byte_keys& keys;
  const void* values;
  const radix_options& options;
  const stream& order;
};

template <class Context>
[[nodiscard]] std::unique_ptr<radix_index> make_radix_on(const radix_request& r);

}  // namespace espalier::detail
