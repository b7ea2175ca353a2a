// worker_pool.cpp - see worker_pool.hpp.
#include "explorer/http/worker_pool.hpp"

#include <utility>

namespace espalier::explorer {

worker_pool::worker_pool(unsigned threads, std::size_t most_waiting) : most_waiting_(most_waiting) {
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { take_jobs(); });
}

worker_pool::~worker_pool() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  for (std::thread& t : threads_) t.join();
}

std::optional<std::uint64_t> worker_pool::enqueue(std::uint64_t name, std::function<void()> work) {
  std::optional<std::uint64_t> dropped;
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({name, std::move(work)});
    if (waiting_.size() > most_waiting_) {
      dropped = waiting_.front().name;
      waiting_.pop_front();
    }
  }
  changed_.notify_one();
  return dropped;
}

void worker_pool::take_jobs() {
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
      if (ends_) return;
      work = std::move(waiting_.back().work);
      waiting_.pop_back();
    }
    work();
  }
}

}  // namespace espalier::explorer
