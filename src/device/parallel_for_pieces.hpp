// parallel_for_pieces.hpp - a parallel loop over a fixed number of threads: the only interface to oneTBB.
#pragma once

#include <cstddef>
#include <memory>

namespace espalier::detail {

using range_function = void (*)(void* context, std::size_t first, std::size_t last);

class parallel_for_pieces {
 public:
  explicit parallel_for_pieces(unsigned threads);
  ~parallel_for_pieces();
  parallel_for_pieces(const parallel_for_pieces&) = delete;
  parallel_for_pieces& operator=(const parallel_for_pieces&) = delete;

  /// Calls piece(context, first, last) for pieces of [0, n), in the calling thread and the others; returns when all are
  /// done. Lengths of pieces are multiples of `grain`, except for the last one. Rethrows the exception of a piece,
  /// or of the check of this thread's interruption_scope.
  void run(std::size_t n, std::size_t grain, range_function piece, void* context);

 private:
  void run_arena(std::size_t n, std::size_t grain, range_function piece, void* context);

  unsigned threads_;
  struct arena;
  std::unique_ptr<arena> arena_;
};

}  // namespace espalier::detail
