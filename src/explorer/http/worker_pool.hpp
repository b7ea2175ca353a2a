// worker_pool.hpp - a fixed number of threads that take jobs from one queue.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace espalier::explorer {

/// Jobs are taken in LIFO order: under overload, the client of an old job has most likely given up. Jobs must not
/// throw. The destructor waits for running jobs and drops the others.
class worker_pool {
 public:
  worker_pool(unsigned threads, std::size_t most_waiting);
  ~worker_pool();
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;

  /// If too many jobs are queued, the oldest one is dropped and its `name` returned.
  [[nodiscard]] std::optional<std::uint64_t> enqueue(std::uint64_t name, std::function<void()> work);

 private:
  struct job {
    std::uint64_t name;
    std::function<void()> work;
  };
  void take_jobs();

  const std::size_t most_waiting_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<job> waiting_;
  bool ends_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace espalier::explorer
