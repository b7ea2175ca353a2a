// live_blink_cuda.cu - traced tiles of a GPU. Its counterpart is live_blink.cpp.
#include "explorer/live_blink_cuda.hpp"

#include "espalier/device/cuda.cuh"
#include "espalier/team/tile.cuh"
#include "explorer/live_blink.hpp"

namespace espalier::explorer {

namespace {

struct tile_launcher {
  static constexpr bool on_gpu = true;
  static constexpr unsigned lanes = 8;  // 16 bytes each of a leaf's header and keys, as in the library's own writes
  static std::string team_name() { return "tile of " + std::to_string(lanes) + " lanes"; }

  template <class Work>
  static void run(const device& dev, const stream& order, unsigned workers, const Work& work) {
    cuda_backend(dev).for_each_team<tile<lanes>>(order, workers, work);
    order.synchronize();
  }
};

}  // namespace

std::unique_ptr<live_tree> make_live_blink_cuda(const device& dev, const live_request& request) {
  return make_live_blink_on<tile_launcher>(dev, request);
}

}  // namespace espalier::explorer
