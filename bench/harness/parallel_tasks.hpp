// parallel_tasks.hpp - long tasks of one thread each, several at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <future>
#include <thread>
#include <vector>

namespace espalier::bench {

using tasks = std::vector<std::function<void()>>;

[[nodiscard]] inline std::size_t cores() { return std::max(1u, std::thread::hardware_concurrency()); }

/// Runs each task once, the first ones first, and returns when all are done. Rethrows what any of them threw.
inline void run_parallel(const tasks& list, std::size_t at_once) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < list.size(); i = next++) list[i]();
  };
  std::vector<std::future<void>> workers;
  while (workers.size() < std::min(at_once, list.size())) workers.push_back(std::async(std::launch::async, work));
  for (auto& w : workers) w.get();
}

}  // namespace espalier::bench
