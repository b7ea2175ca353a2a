// tbb_arena.cpp - the part of parallel_for_pieces that runs TBB's templates, and nothing else.
//
// It is built without TSan when the rest is built with it: the TBB library is not instrumented, so TSan would report
// its templates. The ordering of fork and join is declared to TSan in parallel_for_pieces.cpp, which is instrumented.
#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <optional>

#include "device/parallel_for_pieces.hpp"

namespace espalier::detail {

struct parallel_for_pieces::arena {
  // TBB starts one worker per core by default; more must be requested.
  std::optional<tbb::global_control> more_workers;
  tbb::task_arena threads;
};

parallel_for_pieces::parallel_for_pieces(unsigned threads)
    : threads_(threads), arena_(new arena{std::nullopt, tbb::task_arena(static_cast<int>(threads))}) {
  if (threads > tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism)) {
    arena_->more_workers.emplace(tbb::global_control::max_allowed_parallelism, threads);
  }
}

parallel_for_pieces::~parallel_for_pieces() = default;

void parallel_for_pieces::run_arena(std::size_t n, std::size_t grain, range_function piece, void* context) {
  const std::size_t grains = (n + grain - 1) / grain;
  arena_->threads.execute([=] {
    // Isolated: a thread that waits for a loop inside a piece must not execute another piece of the outer loop
    // meanwhile, which might wait for something that the thread itself holds in an outer frame.
    tbb::this_task_arena::isolate([=] {
      tbb::parallel_for(tbb::blocked_range<std::size_t>(0, grains), [=](const tbb::blocked_range<std::size_t>& range) {
        piece(context, range.begin() * grain, std::min(n, range.end() * grain));
      });
    });
  });
}

}  // namespace espalier::detail
