// parallel_for_pieces.cpp - see parallel_for_pieces.hpp. Declares to TSan the ordering made by the TBB library, which
// is not instrumented: everything before the loop is visible to all pieces, and everything in the pieces is visible
// after the loop.
#include "device/parallel_for_pieces.hpp"

#include <algorithm>

#include "device/stream_reentrancy.hpp"

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
};

void run_ordered(void* context, std::size_t first, std::size_t last) {
  __tsan_acquire(context);
  const auto& ordered = *static_cast<const ordered_piece*>(context);
  {
    const scope_guard guard(ordered.scope);
    ordered.piece(ordered.context, first, last);
  }
  __tsan_release(context);
}

}  // namespace

void parallel_for_pieces::run(std::size_t n, std::size_t grain, range_function piece, void* context) {
  ordered_piece ordered{piece, context, current_scope()};
  __tsan_release(&ordered);
  run_arena(n, std::max<std::size_t>(grain, 1), run_ordered, &ordered);
  __tsan_acquire(&ordered);
}

}  // namespace espalier::detail
