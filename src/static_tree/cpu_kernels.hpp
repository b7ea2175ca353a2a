// cpu_kernels.hpp - the bulk operations compiled for the best SIMD target of this CPU
// (src/instantiate/static_tree_simd.ipp).
#pragma once

#include <cstdint>
#include <vector>

#include "espalier/static_tree/jobs.hpp"
#include "espalier/static_tree/options.hpp"

namespace espalier::detail {

template <class Job>
using cpu_piece = void (*)(const Job& job, std::size_t first, std::size_t last);

template <class Word, unsigned ValueBytes>
struct cpu_kernels {
  cpu_piece<find_job<Word, ValueBytes>> find;
  cpu_piece<rank_job<Word, ValueBytes>> bound;
  cpu_piece<seek_job<Word, ValueBytes>> neighbour;
  cpu_piece<select_job<Word, ValueBytes>> at;
  cpu_piece<count_job<Word, ValueBytes>> count;
  cpu_piece<fill_job<Word, ValueBytes>> fill;
  cpu_piece<range_head_job<Word, ValueBytes>> rows;
  cpu_piece<aggregate_job<Word, ValueBytes>> aggregate;
  cpu_piece<find_line_job<Word>> walk;
  cpu_piece<top_table_job<Word>> table;
  /// Target that they were compiled for, in Highway's numbering; 0 for the reference team.
  std::int64_t simd_target = 0;
};

template <class Word, unsigned ValueBytes>
[[nodiscard]] const cpu_kernels<Word, ValueBytes>& best_cpu_kernels(node_search search);

/// The SIMD targets that both best_cpu_kernels and this CPU support, best first. best_cpu_kernels uses the first one.
template <class Word>
[[nodiscard]] std::vector<std::int64_t> simd_targets();

/// The kernels of the reference team (src/instantiate/static_tree_scalar.cpp).
template <class Word, unsigned ValueBytes>
[[nodiscard]] const cpu_kernels<Word, ValueBytes>& scalar_cpu_kernels();

template <class W, unsigned V>
auto cpu_kernel(const find_job<W, V>&, node_search s) {
  return best_cpu_kernels<W, V>(s).find;
}
template <class W, unsigned V>
auto cpu_kernel(const rank_job<W, V>&, node_search s) {
  return best_cpu_kernels<W, V>(s).bound;
}
template <class W, unsigned V>
auto cpu_kernel(const seek_job<W, V>&, node_search s) {
  return best_cpu_kernels<W, V>(s).neighbour;
}
template <class W, unsigned V>
auto cpu_kernel(const select_job<W, V>&, node_search s) {
  return best_cpu_kernels<W, V>(s).at;
}
template <class W, unsigned V>
auto cpu_kernel(const count_job<W, V>&, node_search s) {
  return best_cpu_kernels<W, V>(s).count;
}
template <class W, unsigned V>
auto cpu_kernel(const fill_job<W, V>&, node_search s) {
  return best_cpu_kernels<W, V>(s).fill;
}
template <class W, unsigned V>
auto cpu_kernel(const range_head_job<W, V>&, node_search s) {
  return best_cpu_kernels<W, V>(s).rows;
}
template <class W, unsigned V>
auto cpu_kernel(const aggregate_job<W, V>&, node_search s) {
  return best_cpu_kernels<W, V>(s).aggregate;
}

template <class W>
auto cpu_kernel(const find_line_job<W>&, node_search s) {
  return best_cpu_kernels<W, 0>(s).walk;
}
template <class W>
auto cpu_kernel(const top_table_job<W>&, node_search s) {
  return best_cpu_kernels<W, 0>(s).table;
}

}  // namespace espalier::detail
