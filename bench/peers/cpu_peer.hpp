// cpu_peer.hpp - code that the peers on a CPU share: threads and sample limits.
#pragma once

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "bench/peers/peer.hpp"

namespace espalier::bench {

/// The maximum number of point queries of a peer, enough for its rate, as queries are drawn independently.
inline constexpr std::size_t most_peer_queries = std::size_t{1} << 22;

/// Runs f(first, last) over pieces of [0, n): in the calling thread if there is one thread, otherwise on that many.
class worker_threads {
 public:
  explicit worker_threads(unsigned threads) : arena_(static_cast<int>(std::max(threads, 1u))), threads_(threads) {}
  template <class F>
  void for_pieces(std::size_t n, const F& f) {
    if (threads_ <= 1) {
      f(std::size_t{0}, n);
      return;
    }
    arena_.execute([&] {
      tbb::parallel_for(tbb::blocked_range<std::size_t>(0, n), [&](const auto& r) { f(r.begin(), r.end()); });
    });
  }
  template <class F>
  void execute(const F& f) {
    arena_.execute(f);
  }

 private:
  tbb::task_arena arena_;
  unsigned threads_;
};

/// Limits the sample to `elements` elements over all queries, and at least one query.
[[nodiscard]] inline std::size_t limited_sample(std::size_t queries, double mean_length, double elements) {
  const double most = std::max(1.0, elements / std::max(mean_length, 1.0));
  return std::min(queries, static_cast<std::size_t>(std::min(most, 1e18)));
}

}  // namespace espalier::bench
