#include "engine/parallel.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

namespace espalier::engine {

void parallel_for(std::size_t n, const std::function<void(std::size_t)>& body) {
  if (n == 1) return body(0);
  tbb::parallel_for(std::size_t{0}, n, body);
}

void parallel_pieces(std::size_t n, const std::function<void(std::size_t begin, std::size_t end)>& body) {
  constexpr std::size_t least_piece = 1 << 14;
  if (n <= least_piece) return body(0, n);
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, n, least_piece),
                    [&](const auto& piece) { body(piece.begin(), piece.end()); });
}

std::size_t parallel_width() { return static_cast<std::size_t>(tbb::this_task_arena::max_concurrency()); }

}  // namespace espalier::engine
