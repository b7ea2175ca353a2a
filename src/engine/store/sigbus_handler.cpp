#include "engine/store/sigbus_handler.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <mutex>

namespace espalier::engine {

// The handler reads slots without a lock, so they are reused and never freed. `end` is written last when a slot is
// taken and first when it is released; 0 means that the slot is free.
struct guarded_range::slot {
  std::atomic<std::uintptr_t> begin = 0;
  std::atomic<std::uintptr_t> end = 0;
  std::atomic<bool> has_lost_pages = false;
  slot* next = nullptr;       // of all slots; constant once the slot is in the list
  slot* next_free = nullptr;  // guarded by the mutex
};

struct registered_ranges {
  std::atomic<guarded_range::slot*> all = nullptr;
  guarded_range::slot* free = nullptr;
  std::mutex changing;
  std::uintptr_t page = 0;  // the size of a page; written before the handler is installed
  struct sigaction before {};

  /// Replaces the page of `address` and all behind it by zeros. Returns false if the address is in no range. Called
  /// by the signal handler.
  bool replace_lost_pages(std::uintptr_t address) noexcept {
    for (auto* range = all.load(std::memory_order_acquire); range; range = range->next) {
      const auto end = range->end.load(std::memory_order_acquire);
      const auto begin = range->begin.load(std::memory_order_acquire);
      if (address < begin || address >= end || range->end.load(std::memory_order_acquire) != end) continue;
      const auto from = address - address % page;
      void* const zeros = ::mmap(reinterpret_cast<void*>(from), end - from, PROT_READ,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
      if (zeros == MAP_FAILED) return false;
      range->has_lost_pages.store(true, std::memory_order_release);
      return true;
    }
    return false;
  }
};

namespace {

registered_ranges mapped_ranges;

extern "C" void espalier_on_sigbus(int signal, siginfo_t* info, void* context) {
  const int error_before = errno;
  const bool is_fault = info->si_code == BUS_ADRERR;
  if (is_fault && mapped_ranges.replace_lost_pages(reinterpret_cast<std::uintptr_t>(info->si_addr))) {
    errno = error_before;
    return;
  }
  errno = error_before;
  const auto& before = mapped_ranges.before;
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  } else {
    // The instruction is executed again and ends the process as it would have without this handler; a signal that
    // another process sent is sent again.
    ::sigaction(signal, &before, nullptr);
    if (info->si_code <= 0) ::raise(signal);
  }
}

}  // namespace

void install_sigbus_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    mapped_ranges.page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    struct sigaction action {};
    action.sa_sigaction = espalier_on_sigbus;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, nullptr, &mapped_ranges.before);
    ::sigaction(SIGBUS, &action, nullptr);
  });
}

guarded_range::guarded_range(const std::byte* data, std::size_t bytes) {
  const std::scoped_lock lock(mapped_ranges.changing);
  if (mapped_ranges.free) {
    slot_ = mapped_ranges.free;
    mapped_ranges.free = slot_->next_free;
  } else {
    slot_ = new slot;
    slot_->next = mapped_ranges.all.load(std::memory_order_relaxed);
    mapped_ranges.all.store(slot_, std::memory_order_release);
  }
  slot_->has_lost_pages.store(false, std::memory_order_relaxed);
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  slot_->begin.store(begin, std::memory_order_release);
  slot_->end.store(begin + bytes, std::memory_order_release);
}

guarded_range::~guarded_range() {
  const std::scoped_lock lock(mapped_ranges.changing);
  slot_->end.store(0, std::memory_order_release);
  slot_->next_free = mapped_ranges.free;
  mapped_ranges.free = slot_;
}

bool guarded_range::has_lost_pages() const noexcept { return slot_->has_lost_pages.load(std::memory_order_acquire); }

}  // namespace espalier::engine
