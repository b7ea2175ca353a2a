// cpu_stream.hpp - a CPU stream: a queue of ordered work with one worker thread, started by the first enqueue().
//
// Invariants:
//   - Every work item takes a ticket when it is submitted. It runs when all earlier tickets are done, so there is one
//     order whatever the mix of enqueue() (runs on the worker) and invoke_in_order() (runs in the caller).
//   - At most one work item of a stream runs at a time. A call that would wait for the stream and is made by that work
//     item, on its thread or on one that helps with its loops (stream_reentrancy.hpp), does not wait: what it would
//     wait for is either done or the work item itself.
//   - The worker keeps the queue alive, not the stream. So the last handle of a stream may be dropped inside a work
//     item of that stream.
//   - The destructor finishes all queued work first, except on the worker itself, which finishes it afterwards.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>

#include "device/device_impl.hpp"

namespace espalier::detail {

class cpu_queue {
 public:
  void push(std::function<void()> work);
  void invoke_in_order(const std::function<void()>& work);
  /// Waits for all work submitted so far; throws the first error of enqueued work, once.
  void synchronize();
  /// Returns whether nothing is queued or running, apart from the work item that makes this call.
  [[nodiscard]] bool idle() const;

  void serve();  ///< the worker's loop; returns after stop() when nothing is queued
  void stop();

 private:
  struct entry {
    std::uint64_t ticket;
    std::function<void()> work;
  };

  [[nodiscard]] bool is_running_this() const;
  void run_in_scope(const std::function<void()>& work) const;
  void finish(std::unique_lock<std::mutex>& lock, std::exception_ptr failure);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<entry> entries_;
  std::uint64_t handed_in_ = 0;  // tickets issued
  std::uint64_t done_ = 0;       // tickets finished; ticket `done_` is the one that may run
  std::exception_ptr first_error_;
  bool stopping_ = false;
};

class cpu_mark final : public event_impl {
 public:
  explicit cpu_mark(std::shared_future<void> reached) : reached_(std::move(reached)) {}
  [[nodiscard]] device_kind kind() const noexcept override { return device_kind::cpu; }
  [[nodiscard]] bool is_reached() const override {
    return reached_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
  [[nodiscard]] const std::shared_future<void>& reached() const { return reached_; }

 private:
  std::shared_future<void> reached_;
};

class cpu_stream final : public stream_impl {
 public:
  cpu_stream() : queue_(std::make_shared<cpu_queue>()), id_(next_id()) {}
  ~cpu_stream() override;

  [[nodiscard]] device_kind kind() const noexcept override { return device_kind::cpu; }
  [[nodiscard]] std::uint64_t id() const override { return id_; }
  void synchronize() override { queue_->synchronize(); }
  [[nodiscard]] bool is_done() const override { return idle(); }
  [[nodiscard]] std::shared_ptr<const event_impl> mark() override;
  void wait_for(const event_impl& mark) override;
  [[nodiscard]] void* native() const noexcept override { return nullptr; }

  void enqueue(std::function<void()> work);
  void invoke_in_order(const std::function<void()>& work) { queue_->invoke_in_order(work); }
  [[nodiscard]] bool idle() const { return queue_->idle(); }

 private:
  [[nodiscard]] static std::uint64_t next_id();

  std::shared_ptr<cpu_queue> queue_;
  const std::uint64_t id_;
  std::mutex start_;
  std::thread worker_;
};

}  // namespace espalier::detail
