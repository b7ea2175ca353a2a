// live_radix.cpp - traced threads of a CPU. Twin: live_radix_cuda.cu.
#include "explorer/live_radix.hpp"

#include "explorer/live_radix_cuda.hpp"
#include "explorer/threads.hpp"
#include "radix_tree/cpu_context.hpp"

namespace espalier::explorer {

namespace {

struct radix_threads : thread_launcher {
  using context = detail::radix_cpu_context;
};

}  // namespace

std::unique_ptr<live_tree> make_live_radix(const device& where, const live_request& request) {
#ifdef ESPALIER_HAS_CUDA
  if (where.kind() == device_kind::cuda) return make_live_radix_cuda(where, request);
#endif
  return std::make_unique<live_radix<radix_threads>>(where, request.keys);
}

}  // namespace espalier::explorer
