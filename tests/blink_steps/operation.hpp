// operation.hpp - one operation of a race, stopped and continued at will: it has a stack of its own in the one thread
// that there is, so that which of two goes first is written in the test and is the same each time.
//
// What is interleaved this way is what the code says, one memory access after the other. What a processor makes of
// their order is for the tests with threads (tests/blink_concurrency).
#pragma once

#include <gtest/gtest.h>
#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace espalier::test {

/// What an operation is about to do: one step of stepped_team.
struct point {
  enum class kind { look, get, key, load, store, once };
  kind what;
  const void* at;  ///< null for once: the library does not say which word it is for
};

/// A stack and what the processor held when it was left.
class fiber {
 public:
  explicit fiber(void (*entry)()) : stack_(take_stack()) {
    getcontext(&there_);
    there_.uc_stack.ss_sp = stack_.get();
    there_.uc_stack.ss_size = stack_bytes;
    there_.uc_link = nullptr;
    makecontext(&there_, entry, 0);
  }
  fiber(const fiber&) = delete;
  fiber& operator=(const fiber&) = delete;
  ~fiber() { stacks().push_back(std::move(stack_)); }

  void enter() {
#if defined(__SANITIZE_ADDRESS__)
    void* frames = nullptr;
    __sanitizer_start_switch_fiber(&frames, stack_.get(), stack_bytes);
#endif
    swapcontext(&here_, &there_);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(frames, nullptr, nullptr);
#endif
  }
  void leave() {
#if defined(__SANITIZE_ADDRESS__)
    void* frames = nullptr;
    __sanitizer_start_switch_fiber(&frames, here_bottom_, here_size_);
#endif
    swapcontext(&there_, &here_);
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(frames, &here_bottom_, &here_size_);
#endif
  }
  /// First thing on the new stack.
  void entered() {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(nullptr, &here_bottom_, &here_size_);
#endif
  }

 private:
  static constexpr std::size_t stack_bytes = std::size_t{1} << 18;
  using stack = std::unique_ptr<std::byte[]>;
  /// Those that are not in use: explorations make a hundred thousand operations.
  static std::vector<stack>& stacks() {
    static std::vector<stack> unused;
    return unused;
  }
  static stack take_stack() {
    if (stacks().empty()) return stack(new std::byte[stack_bytes]);
    stack s = std::move(stacks().back());
    stacks().pop_back();
    return s;
  }

  stack stack_;
  ucontext_t here_, there_;
#if defined(__SANITIZE_ADDRESS__)
  const void* here_bottom_ = nullptr;
  std::size_t here_size_ = 0;
#endif
};

class operation {
 public:
  /// More points than any operation here passes unless it waits for another one.
  static constexpr std::uint64_t min_idle_buckets = 3000;

  /// `work` uses stepped_team. It starts when it is first told to go on.
  explicit operation(std::function<void()> work) : work_(std::move(work)), fiber_(&start) {}

  [[nodiscard]] bool ended() const { return ended_; }
  [[nodiscard]] std::uint64_t passed() const { return passed_; }
  /// How often it has looked at the node that begins there.
  [[nodiscard]] unsigned prefetch_address(const void* node) const {
    unsigned n = 0;
    for (const void* p : looks_) n += p == node ? 1 : 0;
    return n;
  }

  /// Passes so many points and stops at the next one. True: it has ended.
  bool run(std::uint64_t points) {
    left_ = points;
    go_on();
    return ended_;
  }
  /// To its end. False: it waits for another operation, for ever as far as it knows.
  bool finish() { return run(min_idle_buckets); }
  /// Stops at the first point, this one or a later one, where `there` holds. False: it has ended, or waits.
  bool until(const std::function<bool(const point&)>& there) {
    if (started_ && !ended_ && there(at_)) return true;
    there_ = &there;
    left_ = min_idle_buckets;
    go_on();
    there_ = nullptr;
    return !ended_ && left_ != 0;
  }

  /// Called by stepped_team before each step; outside of an operation it does nothing.
  static void move_right(const point& p) {
    if (running_ != nullptr) running_->stop_if_told(p);
  }

 private:
  static void start() {
    operation& self = *running_;
    self.fiber_.entered();
    try {
      self.work_();
    } catch (const std::exception& e) {
      ADD_FAILURE() << "an operation threw: " << e.what();
    }
    self.ended_ = true;
    self.fiber_.leave();
  }
  void go_on() {
    if (ended_) return;
    started_ = true;
    running_ = this;
    fiber_.enter();
    running_ = nullptr;
  }
  void stop_if_told(const point& p) {
    at_ = p;
    if (there_ != nullptr && (*there_)(p)) fiber_.leave();
    while (left_ == 0) fiber_.leave();
    --left_;
    ++passed_;
    if (p.what == point::kind::look) looks_.push_back(p.at);
  }

  std::function<void()> work_;
  fiber fiber_;
  point at_{};
  std::uint64_t left_ = 0, passed_ = 0;
  const std::function<bool(const point&)>* there_ = nullptr;
  std::vector<const void*> looks_;
  bool started_ = false, ended_ = false;
  inline static operation* running_ = nullptr;
};

}  // namespace espalier::test
