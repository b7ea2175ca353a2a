// fair_shared_mutex.hpp - a lock that many hold together or one alone, without starvation of readers or writers.
//
// std::shared_mutex prefers readers: as long as their turns overlap, a writer never gets one. Here a writer that waits
// closes the door, and later threads queue at it, reader or writer, first come, first served: a stream of writers does
// not keep a reader out. While no writer waits, readers pass without looking at the door, so that they share one word
// and no mutex more than before.
// A thread that holds the gate must not ask for it again: a writer may be waiting between the two.
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
  /// A mutex that threads get in the order in which they asked; std::mutex makes no such promise.
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

  std::atomic<unsigned> writers_ = 0;  ///< that wait
  ticket_lock door_;                   ///< held by the one whose turn is next
  std::shared_mutex gate_;
};

}  // namespace espalier::detail
