// reads.hpp - how a search reads nodes: concurrently with writers, as their only writer, or while nothing is written.
#pragma once

#include "espalier/core/config.hpp"
#include "espalier/sync/version_latch.hpp"

namespace espalier {

/// Reads concurrent with writers: they bypass caches that are not coherent, and are valid only if the version did not
/// change.
struct racing_reads {
  using latch = version_latch;
  /// Whether kernels also descend through the inner nodes where the lane is stale. Kernels of the library do not: the
  /// owner rebuilds the lane in time, and registers are scarce.
  static constexpr bool kernels_ask = false;
  using plain = racing_reads;
  template <unsigned N, class Team, class X>
  [[nodiscard]] static ESPALIER_INLINE auto view(Team team, const X* p) {
    return team.template view_relaxed<N>(p);
  }
  template <unsigned N, class Team, class X>
  [[nodiscard]] static ESPALIER_INLINE auto slots(Team team, const X* p) {
    return team.template load_relaxed<N>(p);
  }
  template <class X>
  [[nodiscard]] static ESPALIER_INLINE X one(const X* p) {
    return load_relaxed(p);
  }
};
/// Reads of the only writer.
struct own_reads : racing_reads {
  using latch = no_latch;
  using plain = own_reads;
};
/// Reads in a kernel of a user, whose ref may have added many leaves that the lane does not name.
template <class Reads>
struct asking : Reads {
  static constexpr bool kernels_ask = true;
};
/// Reads without concurrent writers, which may use every cache.
struct stable_reads {
  using latch = no_latch;
  static constexpr bool kernels_ask = false;
  using plain = stable_reads;
  template <unsigned N, class Team, class X>
  [[nodiscard]] static ESPALIER_INLINE auto view(Team team, const X* p) {
    return team.template view<N>(p);
  }
  template <unsigned N, class Team, class X>
  [[nodiscard]] static ESPALIER_INLINE auto slots(Team team, const X* p) {
    return team.template load<N>(p);
  }
  template <class X>
  [[nodiscard]] static ESPALIER_INLINE X one(const X* p) {
    return *p;
  }
};

}  // namespace espalier
