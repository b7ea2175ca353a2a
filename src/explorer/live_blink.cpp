// live_blink.cpp - traced threads of a CPU. Twin: live_blink_cuda.cu.
#include "explorer/live_blink.hpp"

#include <exception>
#include <latch>
#include <thread>

#include "espalier/team/scalar_team.hpp"
#include "explorer/live_blink_cuda.hpp"

namespace espalier::explorer {

namespace {

/// Threads of their own, started together, so that they meet; the device's would take one key list after the other.
struct thread_launcher {
  static constexpr bool on_gpu = false;
  static std::string team_name() { return "thread"; }

  template <class Work>
  static void run(const device&, const stream&, unsigned workers, const Work& work) {
    if (workers == 1) return work(scalar_team{}, 0);
    std::latch start(workers);
    std::vector<std::jthread> threads;
    threads.reserve(workers);
    try {
      for (unsigned w = 0; w < workers; ++w) {
        threads.emplace_back([&start, &work, w] {
          start.arrive_and_wait();
          work(scalar_team{}, w);
        });
      }
    } catch (const std::exception&) {  // those that exist must not wait for ever
      start.count_down(workers - static_cast<std::ptrdiff_t>(threads.size()));
      throw error("the machine gives no more threads: ask for fewer.");
    }
  }
};

}  // namespace

std::unique_ptr<live_tree> make_live_blink(const device& where, const live_request& request) {
  live_request r = request;
  if (r.protocol.empty()) r.protocol = "link";
  if (r.upper.empty()) r.upper = "classic";
  if (r.slots == 0) r.slots = where.kind() == device_kind::cpu ? 8 : 12;
  std::unique_ptr<live_tree> made;
#ifdef ESPALIER_HAS_CUDA
  if (where.kind() == device_kind::cuda) {
    made = make_live_blink_cuda(where, r);
  } else
#endif
  {
    made = make_live_blink_on<thread_launcher>(where, r);
  }
  if (made == nullptr) {
    throw error("no B-link tree with protocol " + r.protocol + ", upper levels " + r.upper + " and " +
                std::to_string(r.slots) + " slots is compiled for traces: see what /api/v1/info lists as live.");
  }
  return made;
}

}  // namespace espalier::explorer
