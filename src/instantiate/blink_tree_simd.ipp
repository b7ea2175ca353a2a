// blink_tree_simd.ipp - point queries and counts of the B-link tree for the SIMD targets that are faster than the
// baseline, for one word type.
//
// Included by blink_tree_simd_u32.cpp and _u64.cpp, which are multi-target units (team/multi_target.hpp) and define
// ESPALIER_WORD and ESPALIER_TABLE. Targets other than AVX2 have an empty table: on arm64 the baseline has NEON.

#include "hwy/foreach_target.h"

#include "blink_tree/cpu_kernels.hpp"
#include "espalier/blink_tree/run_reads.hpp"
#include "espalier/team/simd_thread.hpp"

// ThreadSanitizer needs atomic accesses, which vector loads are not.
#undef ESPALIER_COMPILES_KERNELS
#define ESPALIER_COMPILES_KERNELS (HWY_TARGET == HWY_AVX2 && !ESPALIER_SHARED_ATOMIC)

ESPALIER_BEGIN_TARGET_NAMESPACE

#if ESPALIER_COMPILES_KERNELS
template <class View>
using blink_simd_runner = blink_read_runner<simd_thread<linear_search>, racing_reads, View>;

template <class View, class Job>
void run_blink_piece(const Job& job, std::size_t first, std::size_t last) {
  blink_simd_runner<View>::run(simd_thread<linear_search>{}, job, first, last);
}

// Random finds take 71 to 75 ns if each leaf is prefetched eight keys ahead and searched with branches, and 89 to 114
// ns in the way of run_reads.hpp, which is the faster one for ascending keys (24 and 30 ns; u64, 2^20 keys).
template <class View>
void find_blink_piece(const blink_find_job<View>& job, std::size_t first, std::size_t last) {
  using run = blink_simd_runner<View>;
  const simd_thread<linear_search> team;
  const View& t = job.tree;
  bool ascends = true;
  for (std::size_t i = first + 1; i < last && i < first + 8; ++i)
    ascends = ascends && run::word_at(t, job.keys, i - 1) <= run::word_at(t, job.keys, i);
  if (ascends) return run::run(team, job, first, last);
  typename run::starts s;
  for (std::size_t i = first; i < last; i += run::batch) {
    const unsigned n = run::batch_size(i, last);
    run::starts_of(team, job, i, n, s);
    for (unsigned j = 0; j < n; ++j) {
      run::prefetch_ahead(team, t, s, n, j);
      typename run::value v{};
      const bool found = run::reader::find_from(team, t, s.id[j], s.key[j], v);
      run::answer(team, job, i + j, found, v);
    }
  }
}

template <class W, unsigned V>
const void* blink_kernels_of() {
  using view = detail::default_blink_view<W, V>;
  static constexpr detail::cpu_kernels<detail::blink_simd_jobs<view>> table{
      {find_blink_piece<view>, run_blink_piece<view, blink_seek_job<view>>,
       run_blink_piece<view, blink_count_job<view>>},
      HWY_TARGET};
  return &table;
}
#endif

// Returns a pointer to cpu_kernels<blink_simd_jobs<...>>, because dispatch supports only plain functions.
const void* ESPALIER_TABLE([[maybe_unused]] unsigned value_bytes) {
#if ESPALIER_COMPILES_KERNELS
  switch (value_bytes) {
    case 0:
      return blink_kernels_of<ESPALIER_WORD, 0>();
    case 4:
      return blink_kernels_of<ESPALIER_WORD, 4>();
    case 8:
      return blink_kernels_of<ESPALIER_WORD, 8>();
    default:
      return blink_kernels_of<ESPALIER_WORD, 16>();
  }
#else
  return nullptr;
#endif
}

ESPALIER_END_TARGET_NAMESPACE

#if HWY_ONCE
namespace espalier {

HWY_EXPORT(ESPALIER_TABLE);

namespace detail {

template <class Word, unsigned V>
const cpu_kernels<blink_simd_jobs<default_blink_view<Word, V>>>* blink_simd_kernels() {
  using table = cpu_kernels<blink_simd_jobs<default_blink_view<Word, V>>>;
  return static_cast<const table*>(HWY_DYNAMIC_DISPATCH(ESPALIER_TABLE)(V));
}

template <class Word>
std::vector<std::int64_t> blink_simd_targets() {
  return hwy::SupportedAndGeneratedTargets();
}

template std::vector<std::int64_t> blink_simd_targets<ESPALIER_WORD>();
template const cpu_kernels<blink_simd_jobs<default_blink_view<ESPALIER_WORD, 0>>>*
blink_simd_kernels<ESPALIER_WORD, 0>();
template const cpu_kernels<blink_simd_jobs<default_blink_view<ESPALIER_WORD, 4>>>*
blink_simd_kernels<ESPALIER_WORD, 4>();
template const cpu_kernels<blink_simd_jobs<default_blink_view<ESPALIER_WORD, 8>>>*
blink_simd_kernels<ESPALIER_WORD, 8>();
template const cpu_kernels<blink_simd_jobs<default_blink_view<ESPALIER_WORD, 16>>>*
blink_simd_kernels<ESPALIER_WORD, 16>();

}  // namespace detail
}  // namespace espalier
#endif
