// cpu_kernels.hpp - the bulk operations compiled for the best SIMD target of this CPU
// (src/instantiate/static_tree_simd.ipp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <vector>

#include "espalier/static_tree/jobs.hpp"
#include "espalier/static_tree/options.hpp"

namespace espalier::detail {

template <class Job>
using cpu_piece = void (*)(const Job& job, std::size_t first, std::size_t last);

/// The compiled functions of a list of jobs.
template <class Jobs>
struct cpu_kernels;
template <class... Jobs>
struct cpu_kernels<type_list<Jobs...>> {
  std::tuple<cpu_piece<Jobs>...> pieces;
  /// Target that they were compiled for, in Highway's numbering; 0 for the reference team.
  std::int64_t simd_target = 0;

  template <class Job>
  static constexpr bool has = (std::is_same_v<Job, Jobs> || ...);
  template <class Job>
  [[nodiscard]] cpu_piece<Job> piece() const {
    return std::get<cpu_piece<Job>>(pieces);
  }
};

template <class Word, unsigned V>
using static_cpu_kernels = cpu_kernels<bulk_jobs<Word, V>>;

template <class Word, unsigned V>
[[nodiscard]] const static_cpu_kernels<Word, V>& best_cpu_kernels(node_search search);

/// The SIMD targets that both best_cpu_kernels and this CPU support, best first. best_cpu_kernels uses the first one.
template <class Word>
[[nodiscard]] std::vector<std::int64_t> simd_targets();

/// The kernels of the reference team (src/instantiate/static_tree_scalar.cpp).
template <class Word, unsigned V>
[[nodiscard]] const static_cpu_kernels<Word, V>& scalar_cpu_kernels();

/// The function that executes a job.
template <template <class, unsigned> class Job, class Word, unsigned V>
[[nodiscard]] cpu_piece<Job<Word, V>> cpu_kernel(const Job<Word, V>&, node_search search) {
  return best_cpu_kernels<Word, V>(search).template piece<Job<Word, V>>();
}
/// The same for jobs that read only inner levels, which do not depend on the values.
template <template <class> class Job, class Word>
[[nodiscard]] cpu_piece<Job<Word>> cpu_kernel(const Job<Word>&, node_search search) {
  return best_cpu_kernels<Word, 0>(search).template piece<Job<Word>>();
}

}  // namespace espalier::detail
