// cpu_executor.hpp - executes the radix tree's jobs on a CPU. cuda_executor.cuh is the GPU version.
#pragma once

#include <utility>

#include "espalier/radix_tree/run.hpp"
#include "espalier/team/scalar_team.hpp"
#include "radix_tree/factory.hpp"
#include "static_tree/cpu_executor.hpp"

namespace espalier::detail {

class radix_cpu_executor : public cpu_executor {
 public:
  using cpu_executor::cpu_executor;

  /// Sorts numbers by values below 2^bits; the values are not changed.
  template <class Word>
  void sort_numbers(const Word* values, buffer<std::uint32_t>& numbers, std::size_t n, unsigned bits) {
    buffer<Word> sorted(get_device(), n, order()), other(get_device(), n, order());
    buffer<std::uint32_t> alt(get_device(), n, order());
    copy(sorted.data(), values, n * sizeof(Word));
    if (cpu_backend(get_device()).sort_pairs(sorted.data(), other.data(), numbers.data(), alt.data(), 4, n, 0, bits))
      numbers = std::move(alt);
  }
  template <template <unsigned> class Job, unsigned V>
  void ask(const Job<V>& job, std::size_t n) {
    run<V>(job, n);
  }
  template <unsigned V, class Then>
  void ask(const radix_each_job<V, Then>& job, std::size_t n) {
    run<V>(job, n);
  }

 private:
  template <unsigned V, class Job>
  void run(const Job& job, std::size_t n) {
    cpu_backend(get_device()).for_each_chunk(n, radix_cpu_grain, [&job](std::size_t first, std::size_t last) {
      radix_runner<scalar_team, V>::run(scalar_team{}, job, first, last);
    });
  }
};

}  // namespace espalier::detail
