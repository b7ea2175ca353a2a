// static_tree_simd.ipp - bulk operations of the static tree for every SIMD target, for one word type.
//
// Included by static_tree_simd_u32.cpp and _u64.cpp, which are multi-target units (team/multi_target.hpp) and define
// ESPALIER_WORD and ESPALIER_TABLE.

#include "hwy/foreach_target.h"

#include "espalier/static_tree/run.hpp"
#include "espalier/team/simd_thread.hpp"
#include "static_tree/cpu_kernels.hpp"

ESPALIER_BEGIN_TARGET_NAMESPACE

template <class Team, class Job>
void run_piece(const Job& job, std::size_t first, std::size_t last) {
  runner<Team>::run(Team{}, job, first, last);
}

// The node search applies to point queries; the rest is compiled once.
template <class Team, class W, unsigned V>
const void* kernels_of() {
  using plain = simd_thread<linear_search>;
  static constexpr detail::cpu_kernels<W, V> table{run_piece<Team, find_job<W, V>>,
                                                   run_piece<Team, rank_job<W, V>>,
                                                   run_piece<plain, seek_job<W, V>>,
                                                   run_piece<plain, select_job<W, V>>,
                                                   run_piece<plain, count_job<W, V>>,
                                                   run_piece<plain, fill_job<W, V>>,
                                                   run_piece<plain, range_head_job<W, V>>,
                                                   run_piece<plain, aggregate_job<W, V>>,
                                                   run_piece<plain, find_line_job<W>>,
                                                   run_piece<plain, top_table_job<W>>,
                                                   HWY_TARGET};
  return &table;
}

// W is an argument because two files compile this text: a name without it would be one function for the linker.
template <class Team, class W>
const void* kernels_for(unsigned value_bytes) {
  switch (value_bytes) {
    case 0:
      return kernels_of<Team, W, 0>();
    case 4:
      return kernels_of<Team, W, 4>();
    case 8:
      return kernels_of<Team, W, 8>();
    default:
      return kernels_of<Team, W, 16>();
  }
}

// Returns a pointer to cpu_kernels<ESPALIER_WORD, value_bytes>, because dispatch supports only plain functions.
const void* ESPALIER_TABLE(unsigned value_bytes, node_search search) {
  return search == node_search::linear ? kernels_for<simd_thread<linear_search>, ESPALIER_WORD>(value_bytes)
                                       : kernels_for<simd_thread<hierarchical_search>, ESPALIER_WORD>(value_bytes);
}

ESPALIER_END_TARGET_NAMESPACE

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(ESPALIER_TABLE);

namespace detail {

template <class Word, unsigned ValueBytes>
const cpu_kernels<Word, ValueBytes>& best_cpu_kernels(node_search search) {
  if (search == node_search::sequential) return scalar_cpu_kernels<Word, ValueBytes>();
  const void* table = HWY_DYNAMIC_DISPATCH(ESPALIER_TABLE)(ValueBytes, search);
  return *static_cast<const cpu_kernels<Word, ValueBytes>*>(table);
}

template <class Word>
std::vector<std::int64_t> simd_targets() {
  return hwy::SupportedAndGeneratedTargets();
}

template std::vector<std::int64_t> simd_targets<ESPALIER_WORD>();
template const cpu_kernels<ESPALIER_WORD, 0>& best_cpu_kernels(node_search);
template const cpu_kernels<ESPALIER_WORD, 4>& best_cpu_kernels(node_search);
template const cpu_kernels<ESPALIER_WORD, 8>& best_cpu_kernels(node_search);
template const cpu_kernels<ESPALIER_WORD, 16>& best_cpu_kernels(node_search);

}  // namespace detail
}  // namespace espalier
#endif
