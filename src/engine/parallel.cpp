#include "engine/parallel.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>

#include "engine/memory_budget.hpp"
#include "engine/stop.hpp"

namespace espalier::engine {

void parallel_for(std::size_t n, const std::function<void(std::size_t)>& body) {
  const cancellation_token* const question = cancellation_scope::current();
  memory_budget* const budget = memory_budget::current();
  const auto checked = [&](std::size_t i) {
    const cancellation_scope scope(question);
    const memory_scope memory(budget);
    check_cancelled();
    body(i);
  };
  if (n == 1) return checked(0);
  tbb::parallel_for(std::size_t{0}, n, checked);
}

void parallel_pieces(std::size_t n, const std::function<void(std::size_t begin, std::size_t end)>& body,
                     std::size_t least_piece) {
  const cancellation_token* const question = cancellation_scope::current();
  memory_budget* const budget = memory_budget::current();
  const std::size_t most = std::max(rows_between_checks, least_piece);
  const auto checked = [&](std::size_t begin, std::size_t end) {
    const cancellation_scope scope(question);
    const memory_scope memory(budget);
    for (std::size_t from = begin; from < end; from += most) {
      check_cancelled();
      body(from, std::min(end, from + most));
    }
  };
  if (n <= least_piece) return checked(0, n);
  tbb::parallel_for(tbb::blocked_range<std::size_t>(0, n, least_piece),
                    [&](const auto& piece) { checked(piece.begin(), piece.end()); });
}

std::size_t parallel_width() { return static_cast<std::size_t>(tbb::this_task_arena::max_concurrency()); }

}  // namespace espalier::engine
