// fair_shared_mutex.hpp - a shared mutex without starvation of readers or writers.
//
// std::shared_mutex prefers readers: as long as their critical sections overlap, a writer never gets the lock. Here a
// waiting writer closes a door, and later threads, readers and writers, queue at it in FIFO order, so that a sequence
// of writers does not starve a reader. While no writer waits, readers do not touch the door: they share one additional
// word and no additional mutex. A thread that holds the lock must not request it again: a writer may be waiting between
// the two requests.
#pragma once

#include <atomic>
#include <mutex>
#include <shared_mutex>

namespace espalier::detail {

class fair_shared_mutex {
 public:
  using shared = std::shared_lock<std::shared_mutex>;
  using exclusive = std::unique_lock<std::shared_mutex>;

  [[nodiscard]] shared lock_shared() {
    if (writers_.load(std::memory_order_relaxed) != 0) const std::lock_guard<ticket_lock> behind(door_);
    return shared(gate_);
  }
  [[nodiscard]] exclusive lock_exclusive() {
    const announcement waiting(writers_);
    const std::lock_guard<ticket_lock> closed(door_);
    return exclusive(gate_);
  }

 private:
  /// A mutex with FIFO order, which std::mutex does not guarantee.
  class ticket_lock {
   public:
    void lock() {
      const unsigned mine = next_.fetch_add(1, std::memory_order_relaxed);
      for (unsigned now = serving_.load(std::memory_order_acquire); now != mine;
           now = serving_.load(std::memory_order_acquire))
        serving_.wait(now, std::memory_order_relaxed);
    }
    void unlock() {
      serving_.fetch_add(1, std::memory_order_release);
      serving_.notify_all();
    }

   private:
    std::atomic<unsigned> next_ = 0, serving_ = 0;
  };
  class announcement {
   public:
    explicit announcement(std::atomic<unsigned>& n) : n_(n) { n_.fetch_add(1, std::memory_order_relaxed); }
    ~announcement() { n_.fetch_sub(1, std::memory_order_relaxed); }
    announcement(const announcement&) = delete;
    announcement& operator=(const announcement&) = delete;

   private:
    std::atomic<unsigned>& n_;
  };

  std::atomic<unsigned> writers_ = 0;  ///< waiting writers
  ticket_lock door_;                   ///< held by the thread that is next
  std::shared_mutex gate_;
};

}  // namespace espalier::detail
