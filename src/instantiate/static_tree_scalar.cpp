// static_tree_scalar.cpp - bulk operations of the static tree by the reference team, the baseline of SIMD measurements
// and tests.
#include "espalier/static_tree/run.hpp"
#include "espalier/team/scalar_team.hpp"
#include "static_tree/cpu_kernels.hpp"

namespace espalier::detail {
namespace {

template <class Job>
void run_piece(const Job& job, std::size_t first, std::size_t last) {
  runner<scalar_team>::run(scalar_team{}, job, first, last);
}

}  // namespace

template <class W, unsigned V>
const cpu_kernels<W, V>& scalar_cpu_kernels() {
  static constexpr cpu_kernels<W, V> table{run_piece<find_job<W, V>>,       run_piece<rank_job<W, V>>,
                                           run_piece<seek_job<W, V>>,       run_piece<select_job<W, V>>,
                                           run_piece<count_job<W, V>>,      run_piece<fill_job<W, V>>,
                                           run_piece<range_head_job<W, V>>, run_piece<aggregate_job<W, V>>,
                                           run_piece<find_line_job<W>>,     run_piece<top_table_job<W>>};
  return table;
}

template const cpu_kernels<std::uint32_t, 0>& scalar_cpu_kernels();
template const cpu_kernels<std::uint32_t, 4>& scalar_cpu_kernels();
template const cpu_kernels<std::uint32_t, 8>& scalar_cpu_kernels();
template const cpu_kernels<std::uint32_t, 16>& scalar_cpu_kernels();
template const cpu_kernels<std::uint64_t, 0>& scalar_cpu_kernels();
template const cpu_kernels<std::uint64_t, 4>& scalar_cpu_kernels();
template const cpu_kernels<std::uint64_t, 8>& scalar_cpu_kernels();
template const cpu_kernels<std::uint64_t, 16>& scalar_cpu_kernels();

}  // namespace espalier::detail
