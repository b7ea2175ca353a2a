// parallel_tasks.hpp - runs several long single-threaded tasks concurrently.
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

/// Starts the tasks in order, at most `at_once` concurrently, and returns when all are done. Rethrows an exception.
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
