// parallel.hpp - parallel loops of the engine. Each piece starts with a check_cancelled (stop.hpp) and claims memory
// for the statement of the thread that started the loop (memory_budget.hpp).
#pragma once

#include <cstddef>
#include <functional>

namespace espalier::engine {

/// Calls body(i) for every i below n, in any order and concurrently. Rethrows the first exception.
void parallel_for(std::size_t n, const std::function<void(std::size_t)>& body);

/// Calls body(begin, end) for pieces of [0, n) in the same way; up to `least_piece` elements are one piece.
void parallel_pieces(std::size_t n, const std::function<void(std::size_t begin, std::size_t end)>& body,
                     std::size_t least_piece = std::size_t{1} << 14);

/// Returns the number of concurrent calls of a parallel loop.
[[nodiscard]] std::size_t parallel_width();

}  // namespace espalier::engine
