// ref_kernel.hpp - a user's kernel that inserts through a ref: each thread is a team and inserts one element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "bench/data/workload.hpp"
#include "espalier/blink_tree/index.hpp"

namespace espalier::bench {

class ref_kernel {
 public:
  virtual ~ref_kernel() = default;
  /// Enqueues one launch. done[i] = 1 if element i was inserted. All pointers are device memory. Throws if the launch
  /// fails.
  virtual void insert(const void* keys, const void* values, std::size_t n, std::uint8_t* done,
                      const stream& order) const = 0;
};

/// Returns whether a kernel is compiled for these types.
[[nodiscard]] constexpr bool has_ref_kernel(device_kind dev, const data_spec& spec) {
#ifdef ESPALIER_HAS_CUDA
  return dev == device_kind::cuda && spec.key == spec.value &&
         (spec.key == scalar_kind::u32 || spec.key == scalar_kind::u64);
#else
  static_cast<void>(dev), static_cast<void>(spec);
  return false;
#endif
}

/// Takes a ref of `tree` with nodes for `inserts` elements. Precondition: has_ref_kernel() for its types, default
/// shape. The tree must outlive the kernel.
[[nodiscard]] std::unique_ptr<ref_kernel> make_ref_kernel(scalar_kind key, espalier::detail::blink_index& tree,
                                                          std::size_t inserts);

}  // namespace espalier::bench
