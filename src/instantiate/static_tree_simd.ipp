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
template <class Job>
constexpr bool takes_node_search = false;
template <class W, unsigned V>
constexpr bool takes_node_search<find_job<W, V>> = true;
template <class W, unsigned V>
constexpr bool takes_node_search<rank_job<W, V>> = true;

template <class Team, class Job>
using team_of_job = std::conditional_t<takes_node_search<Job>, Team, simd_thread<linear_search>>;

template <class Team, class... Jobs>
constexpr detail::cpu_kernels<type_list<Jobs...>> table_of(type_list<Jobs...>) {
  return {{run_piece<team_of_job<Team, Jobs>, Jobs>...}, HWY_TARGET};
}

template <class Team, class W, unsigned V>
const void* kernels_of() {
  static constexpr detail::static_cpu_kernels<W, V> table = table_of<Team>(bulk_jobs<W, V>{});
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

// Returns a pointer to static_cpu_kernels<ESPALIER_WORD, value_bytes>, because dispatch supports only plain functions.
const void* ESPALIER_TABLE(unsigned value_bytes, node_search search) {
  return search == node_search::linear ? kernels_for<simd_thread<linear_search>, ESPALIER_WORD>(value_bytes)
                                       : kernels_for<simd_thread<hierarchical_search>, ESPALIER_WORD>(value_bytes);
}

ESPALIER_END_TARGET_NAMESPACE

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(ESPALIER_TABLE);

namespace detail {

template <class Word, unsigned V>
const static_cpu_kernels<Word, V>& best_cpu_kernels(node_search search) {
  if (search == node_search::sequential) return scalar_cpu_kernels<Word, V>();
  const void* table = HWY_DYNAMIC_DISPATCH(ESPALIER_TABLE)(V, search);
  return *static_cast<const static_cpu_kernels<Word, V>*>(table);
}

template <class Word>
std::vector<std::int64_t> simd_targets() {
  return hwy::SupportedAndGeneratedTargets();
}

template std::vector<std::int64_t> simd_targets<ESPALIER_WORD>();
template const static_cpu_kernels<ESPALIER_WORD, 0>& best_cpu_kernels<ESPALIER_WORD, 0>(node_search);
template const static_cpu_kernels<ESPALIER_WORD, 4>& best_cpu_kernels<ESPALIER_WORD, 4>(node_search);
template const static_cpu_kernels<ESPALIER_WORD, 8>& best_cpu_kernels<ESPALIER_WORD, 8>(node_search);
template const static_cpu_kernels<ESPALIER_WORD, 16>& best_cpu_kernels<ESPALIER_WORD, 16>(node_search);

}  // namespace detail
}  // namespace espalier
#endif
