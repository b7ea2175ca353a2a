// request.hpp - one bulk call with its types erased, as every index and every peer of the harness takes it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "espalier/device/device.hpp"
#include "espalier/index/options.hpp"

namespace espalier::bench {

/// One bulk call. Pointers are accessible to the device that executes it: host memory for a CPU, device memory for a
/// GPU.
struct request {
  const void* keys = nullptr;  ///< queries, or the lower bounds of ranges
  const void* hi = nullptr;    ///< upper bounds
  std::size_t queries = 0;
  std::array<void*, 3> out{};  ///< as in answers.hpp
  std::uint64_t elements = 0;  ///< range: capacity of the output
  query_options options;
  bool wait = true;  ///< false: return when the work is enqueued on `order`
  stream order;
};

}  // namespace espalier::bench
