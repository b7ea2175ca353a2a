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

template <class... Jobs>
constexpr cpu_kernels<type_list<Jobs...>> table_of(type_list<Jobs...>) {
  return {{run_piece<Jobs>...}};
}

}  // namespace

template <class W, unsigned V>
const static_cpu_kernels<W, V>& scalar_cpu_kernels() {
  static constexpr static_cpu_kernels<W, V> table = table_of(bulk_jobs<W, V>{});
  return table;
}

template const static_cpu_kernels<std::uint32_t, 0>& scalar_cpu_kernels<std::uint32_t, 0>();
template const static_cpu_kernels<std::uint32_t, 4>& scalar_cpu_kernels<std::uint32_t, 4>();
template const static_cpu_kernels<std::uint32_t, 8>& scalar_cpu_kernels<std::uint32_t, 8>();
template const static_cpu_kernels<std::uint32_t, 16>& scalar_cpu_kernels<std::uint32_t, 16>();
template const static_cpu_kernels<std::uint64_t, 0>& scalar_cpu_kernels<std::uint64_t, 0>();
template const static_cpu_kernels<std::uint64_t, 4>& scalar_cpu_kernels<std::uint64_t, 4>();
template const static_cpu_kernels<std::uint64_t, 8>& scalar_cpu_kernels<std::uint64_t, 8>();
template const static_cpu_kernels<std::uint64_t, 16>& scalar_cpu_kernels<std::uint64_t, 16>();

}  // namespace espalier::detail
