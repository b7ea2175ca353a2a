// parallel_for_pieces.cpp - see parallel_for_pieces.hpp. Declares to TSan the ordering made by the TBB library, which
// is not instrumented: everything before the loop is visible to all pieces, and everything in the pieces is visible
// after the loop.
#include "device/parallel_for_pieces.hpp"

#include <algorithm>
#include <atomic>

#include "device/stream_reentrancy.hpp"
#include "espalier/device/interruption.hpp"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#else
#define __tsan_acquire(p) ((void)(p))
#define __tsan_release(p) ((void)(p))
#endif

namespace espalier::detail {

namespace {

struct ordered_piece {
  range_function piece;
  void* context;
  const stream_reentrancy* scope;
  std::size_t grain;
  const std::function<void()>* check;  ///< of the thread that starts the loop; null: the loop is not interruptible
  std::atomic<bool> is_interrupted = false;
};

// A loop that can be interrupted is run in shorter pieces. Only the thread that started it calls the check (a thread of
// another loop that helps out has another one); when it or a piece throws, the other threads leave out what is left of
// their pieces, and the loop rethrows.
void run_interruptible(ordered_piece& ordered, std::size_t first, std::size_t last) {
  constexpr std::size_t checks = 64;
  const std::size_t grains = (last - first + ordered.grain - 1) / ordered.grain;
  const std::size_t step = (grains + checks - 1) / checks * ordered.grain;
  const std::function<void()>* const check = interruption_scope::current() == ordered.check ? ordered.check : nullptr;
  for (std::size_t from = first; from < last; from += step) {
    if (ordered.is_interrupted.load(std::memory_order_relaxed)) return;
    try {
      if (check != nullptr) (*check)();
      ordered.piece(ordered.context, from, std::min(last, from + step));
    } catch (...) {
      ordered.is_interrupted.store(true, std::memory_order_relaxed);
      throw;
    }
  }
}

void run_ordered(void* context, std::size_t first, std::size_t last) {
  __tsan_acquire(context);
  auto& ordered = *static_cast<ordered_piece*>(context);
  {
    const scope_guard guard(ordered.scope);
    if (ordered.check != nullptr) {
      run_interruptible(ordered, first, last);
    } else {
      ordered.piece(ordered.context, first, last);
    }
  }
  __tsan_release(context);
}

}  // namespace

void parallel_for_pieces::run(std::size_t n, std::size_t grain, range_function piece, void* context) {
  grain = std::max<std::size_t>(grain, 1);
  ordered_piece ordered{piece, context, current_scope(), grain, interruption_scope::current()};
  // An arena of one thread would hand the loop to another thread that is in it, which has a check of its own.
  if (threads_ == 1) return run_ordered(&ordered, 0, n);
  __tsan_release(&ordered);
  run_arena(n, grain, run_ordered, &ordered);
  __tsan_acquire(&ordered);
}

}  // namespace espalier::detail
