// live_blink.cpp - traced threads of a CPU. Its counterpart is live_blink_cuda.cu.
#include "explorer/live_blink.hpp"

#include "explorer/live_blink_cuda.hpp"
#include "inspect/team_threads.hpp"

namespace espalier::explorer {

std::unique_ptr<live_tree> make_live_blink(const device& dev, const live_request& request) {
  live_request r = request;
  if (r.protocol.empty()) r.protocol = "link";
  if (r.upper.empty()) r.upper = "classic";
  if (r.slots == 0) r.slots = dev.kind() == device_kind::cpu ? 8 : 12;
  std::unique_ptr<live_tree> made;
#ifdef ESPALIER_HAS_CUDA
  if (dev.kind() == device_kind::cuda) {
    made = make_live_blink_cuda(dev, r);
  } else
#endif
  {
    made = make_live_blink_on<detail::thread_launcher>(dev, r);
  }
  if (made == nullptr) {
    throw error("no B-link tree with protocol " + r.protocol + ", upper levels " + r.upper + " and " +
                std::to_string(r.slots) + " slots is compiled for traces: see what /api/v1/info lists as live.");
  }
  return made;
}

}  // namespace espalier::explorer
