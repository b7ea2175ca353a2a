// cuda_executor.cuh - executes the radix tree's jobs on a GPU, one thread per query. cpu_executor.hpp is the CPU
// version.
#pragma once

#include <utility>

#include "espalier/radix_tree/run.hpp"
#include "espalier/team/tile.cuh"
#include "static_tree/cuda_executor.cuh"

namespace espalier::detail {

template <class Job, unsigned V>
struct radix_run_one {
  Job job;
  template <class Team>
  __device__ __forceinline__ void operator()(Team team, std::size_t i) const {
    radix_runner<Team, V>::run(team, job, i, i + 1);
  }
};

class radix_cuda_executor : public cuda_executor {
 public:
  using cuda_executor::cuda_executor;

  /// Sorts numbers by values below 2^bits; the values are not changed.
  template <class Word>
  void sort_numbers(const Word* values, buffer<std::uint32_t>& numbers, std::size_t n, unsigned bits) {
    buffer<Word> sorted(get_device(), n, order());
    buffer<std::uint32_t> result(get_device(), n, order());
    const cuda_backend backend(get_device());
    bool moved = true;
    if (n < copied_before_sort) {
      backend.sort_pairs_from(order(), values, sorted.data(), numbers.data(), result.data(), 4, n, 0, bits);
    } else {  // as in sort_from()
      const buffer<Word> other(get_device(), n, order());
      copy(sorted.data(), values, n * sizeof(Word));
      moved = backend.sort_pairs(order(), sorted.data(), other.data(), numbers.data(), result.data(), 4, n, 0, bits);
    }
    if (moved) numbers = std::move(result);
  }
  template <template <unsigned> class Job, unsigned V>
  void ask(const Job<V>& job, std::size_t n) {
    cuda_backend(get_device()).for_each_team<tile<1>>(order(), n, radix_run_one<Job<V>, V>{job});
  }
  template <unsigned V, class Then>
  void ask(const radix_each_job<V, Then>& job, std::size_t n) {
    cuda_backend(get_device()).for_each_team<tile<1>>(order(), n, radix_run_one<radix_each_job<V, Then>, V>{job});
  }
};

}  // namespace espalier::detail
