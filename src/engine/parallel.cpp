#include "engine/parallel.hpp"

#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

namespace espalier::engine {

void parallel_for(std::size_t n, const std::function<void(std::size_t)>& body) {
  if (n == 1) return body(0);
  tbb::parallel_for(std::size_t{0}, n, body);
}

std::size_t parallel_width() { return static_cast<std::size_t>(tbb::this_task_arena::max_concurrency()); }

}  // namespace espalier::engine
