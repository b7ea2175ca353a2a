// team_threads.hpp - traced threads of a CPU.
#pragma once

#include <cstddef>
#include <exception>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "espalier/core/error.hpp"
#include "espalier/device/device.hpp"
#include "espalier/team/scalar_team.hpp"

namespace espalier::detail {

/// Separate threads that start together, so that they run concurrently; the device's threads would process one key list
/// after the other.
struct thread_launcher {
  static constexpr bool on_gpu = false;
  static std::string team_name() { return "thread"; }

  /// Calls work(team, w) for each worker w.
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
    } catch (const std::exception&) {  // threads that were created must not wait forever
      start.count_down(workers - static_cast<std::ptrdiff_t>(threads.size()));
      throw error("the machine gives no more threads: ask for fewer.");
    }
  }
};

}  // namespace espalier::detail
