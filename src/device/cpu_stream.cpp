// cpu_stream.cpp - see cpu_stream.hpp.
#include "device/cpu_stream.hpp"

#include <atomic>
#include <system_error>
#include <utility>

#include "device/stream_reentrancy.hpp"

namespace espalier::detail {

const stream_reentrancy*& current_scope() noexcept {
  thread_local const stream_reentrancy* innermost = nullptr;
  return innermost;
}

bool cpu_queue::is_running_this() const {
  for (const stream_reentrancy* s = current_scope(); s != nullptr; s = s->outer) {
    if (s->queue == this) return true;
  }
  return false;
}

void cpu_queue::run_in_scope(const std::function<void()>& work) const {
  const stream_reentrancy scope{this, current_scope()};
  const scope_guard guard(&scope);
  work();
}

void cpu_queue::push(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    entries_.push_back({handed_in_, std::move(work)});
    ++handed_in_;
  }
  changed_.notify_all();
}

// Finishes the ticket even if the work threw; otherwise the stream would stall. Leaves the queue unlocked.
void cpu_queue::finish(std::unique_lock<std::mutex>& lock, std::exception_ptr failure) {
  lock.lock();
  if (first_error_ == nullptr) first_error_ = std::move(failure);
  ++done_;
  lock.unlock();
  changed_.notify_all();
}

void cpu_queue::invoke_in_order(const std::function<void()>& work) {
  if (is_running_this()) {
    work();
    return;
  }
  std::unique_lock lock(mutex_);
  const std::uint64_t ticket = handed_in_++;
  changed_.wait(lock, [&] { return done_ == ticket; });
  lock.unlock();
  try {
    run_in_scope(work);
  } catch (...) {
    finish(lock, nullptr);  // the caller gets the exception, so synchronize() must not rethrow it
    throw;
  }
  finish(lock, nullptr);
}

void cpu_queue::synchronize() {
  if (is_running_this()) return;
  std::unique_lock lock(mutex_);
  const std::uint64_t target = handed_in_;
  changed_.wait(lock, [&] { return done_ >= target; });
  if (first_error_ != nullptr) std::rethrow_exception(std::exchange(first_error_, nullptr));
}

bool cpu_queue::idle() const {
  const std::uint64_t mine = is_running_this() ? 1 : 0;
  const std::lock_guard lock(mutex_);
  return done_ + mine == handed_in_;
}

void cpu_queue::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return entries_.empty() ? stopping_ : entries_.front().ticket == done_; });
    if (entries_.empty()) return;
    std::function<void()> work = std::move(entries_.front().work);
    entries_.pop_front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      run_in_scope(work);
    } catch (...) {
      failure = std::current_exception();
    }
    work = nullptr;  // what the work owns is destroyed in stream order too, before synchronize() returns
    finish(lock, std::move(failure));
    lock.lock();
  }
}

void cpu_queue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
}

std::uint64_t cpu_stream::next_id() {
  static std::atomic<std::uint64_t> next = 1;
  return next.fetch_add(1, std::memory_order_relaxed);
}

std::shared_ptr<const event_impl> cpu_stream::mark() {
  auto passed = std::make_shared<std::promise<void>>();
  auto mark = std::make_shared<cpu_mark>(passed->get_future().share());
  enqueue([passed] { passed->set_value(); });
  return mark;
}

// A mark lies in the past, so streams never wait for each other in a cycle.
void cpu_stream::wait_for(const event_impl& mark) {
  enqueue([reached = static_cast<const cpu_mark&>(mark).reached()] { reached.wait(); });
}

void cpu_stream::enqueue(std::function<void()> work) {
  {
    const std::lock_guard lock(start_);
    if (!worker_.joinable()) {
      try {
        worker_ = std::thread([queue = queue_] { queue->serve(); });
      } catch (const std::system_error&) {
        throw error("A CPU stream could not start its thread; raise the limit on threads of this process.");
      }
    }
  }
  queue_->push(std::move(work));
}

cpu_stream::~cpu_stream() {
  queue_->stop();
  if (!worker_.joinable()) return;
  if (worker_.get_id() == std::this_thread::get_id()) {
    worker_.detach();
  } else {
    worker_.join();
  }
}

}  // namespace espalier::detail
