// live_radix_cuda.cu - traced threads of a GPU. Twin: live_radix.cpp.
#include "explorer/live_radix_cuda.hpp"

#include "espalier/device/cuda.cuh"
#include "espalier/team/tile.cuh"
#include "explorer/live_radix.hpp"
#include "radix_tree/cuda_context.cuh"

namespace espalier::explorer {

namespace {

struct radix_tiles {
  static constexpr bool on_gpu = true;
  using context = detail::radix_cuda_context;
  static std::string team_name() { return "thread"; }  // one per key, as for the library's own writes

  template <class Work>
  static void run(const device& where, const stream& order, unsigned workers, const Work& work) {
    cuda_backend(where).for_each_team<tile<1>>(order, workers, work);
    order.synchronize();
  }
};

}  // namespace

std::unique_ptr<live_tree> make_live_radix_cuda(const device& where, const live_request& request) {
  return std::make_unique<live_radix<radix_tiles>>(where, request.keys);
}

}  // namespace espalier::explorer
