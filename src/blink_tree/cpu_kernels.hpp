// cpu_kernels.hpp - point queries and counts of the B-link tree, compiled for more instructions than the compiler's
// baseline (src/instantiate/blink_tree_simd.ipp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "espalier/blink_tree/jobs.hpp"
#include "espalier/blink_tree/reads.hpp"
#include "static_tree/cpu_kernels.hpp"

namespace espalier::detail {

/// Reads that are compiled for them; they allow for concurrent writers.
template <class View>
using blink_simd_jobs = type_list<blink_find_job<View>, blink_seek_job<View>, blink_count_job<View>>;

/// Trees of the default width, for which there are such kernels.
template <class Word, unsigned V>
using default_blink_view = blink_view<Word, V, node_slots<Word>(0)>;

/// Returns null if this CPU has no target of them; the caller's own code, for the baseline, then takes their place.
template <class Word, unsigned V>
[[nodiscard]] const cpu_kernels<blink_simd_jobs<default_blink_view<Word, V>>>* blink_simd_kernels();

/// The SIMD targets that both blink_simd_kernels and this CPU support, best first; it uses the first one.
template <class Word>
[[nodiscard]] std::vector<std::int64_t> blink_simd_targets();

/// The kernel of a job for this CPU; null if there is none.
template <class Reads, class Job>
[[nodiscard]] cpu_piece<Job> blink_simd_kernel([[maybe_unused]] const Job& job) {
  using view = std::remove_cvref_t<decltype(job.tree)>;
  using shape = typename view::leaf_shape;
  if constexpr (std::is_same_v<view, default_blink_view<typename shape::word, shape::value_bytes>> &&
                std::is_same_v<Reads, racing_reads> && cpu_kernels<blink_simd_jobs<view>>::template has<Job>) {
    const auto* table = blink_simd_kernels<typename shape::word, shape::value_bytes>();
    if (table != nullptr) return table->template piece<Job>();
  }
  return nullptr;
}

}  // namespace espalier::detail
