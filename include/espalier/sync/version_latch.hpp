// version_latch.hpp - a version word per node: odd while the node is latched, and a new even number after each change.
//
// Writer:    before = try_latch(team, word); if it is even: change the node; release(team, word, before)
// Reader:    v = read_begin(team, word); load_relaxed ...; the values are valid only if read_valid(team, word, v)
// Invariant: no change of the node became visible between read_begin and a read_valid that returns true.
// Limit:     a version repeats after 2^31 changes of one node within one read.
#pragma once

#include <cstdint>

#include "espalier/sync/concurrent_access.hpp"

namespace espalier {

/// Calls f by one lane of a team. A thread whose functions are compiled for more instructions than those of this file
/// (simd_thread in team/multi_target.hpp) calls it here: its own function could not be inlined.
template <class Team, class F>
ESPALIER_INLINE auto by_one_lane([[maybe_unused]] const Team& team, F&& f) {
  if constexpr (requires { Team::is_of_target; }) {
    return f();
  } else {
    return team.once(f);
  }
}

/// Latch for concurrent writers, used by the blink and latch_coupling protocols.
struct version_latch {
  /// Makes one attempt. An even result is the version before the latch, which this team now holds. An odd result means
  /// that another team holds the latch.
  template <class Team>
  [[nodiscard]] static ESPALIER_INLINE std::uint32_t try_latch(Team team, std::uint32_t* word) {
    const std::uint32_t before = team.once([=] { return atomic_word_ref{word}.fetch_or_acquire_no_fence(1u); });
    team.sync();
    return before;
  }
  /// Releases the latch and publishes the changes made under it.
  template <class Team>
  static ESPALIER_INLINE void release(Team team, std::uint32_t* word, std::uint32_t before) {
    team.sync();  // the releasing store follows the stores of all lanes
    team.once([=] { atomic_word_ref{word}.store_release(before + 2); });
  }
  /// Releases the latch of an unchanged node: readers of the old version stay valid.
  template <class Team>
  static ESPALIER_INLINE void release_unchanged(Team team, std::uint32_t* word, std::uint32_t before) {
    team.sync();  // the reads of all lanes complete before the latch is released
    team.once([=] { atomic_word_ref{word}.store_release_reads_only(before); });
  }
  /// Relaxed version read for batched validation: read all versions, fence_acquire(), read all nodes, fence_acquire(),
  /// re-read all versions. An odd value means that the node is latched.
  [[nodiscard]] static ESPALIER_INLINE std::uint32_t peek_version(std::uint32_t* word) {
    return atomic_word_ref{word}.load_relaxed();
  }
  /// Waits until the node is not latched and returns its version.
  template <class Team>
  [[nodiscard]] static ESPALIER_INLINE std::uint32_t read_begin(Team team, std::uint32_t* word) {
    for (unsigned turn = 0;; ++turn) {
      const std::uint32_t v = by_one_lane(team, [=] { return atomic_word_ref{word}.load_acquire(); });
      if ((v & 1) == 0) {
        team.sync();
        return v;
      }
      backoff(turn);
    }
  }
  template <class Team>
  [[nodiscard]] static ESPALIER_INLINE bool read_valid(Team team, std::uint32_t* word, std::uint32_t v) {
    fence_acquire();
    team.sync();
    return by_one_lane(team, [=] { return atomic_word_ref{word}.load_relaxed(); }) == v;
  }
};

/// Latch that does nothing: for a single writer without concurrent readers, and for readers without concurrent writers.
struct no_latch {
  template <class Team>
  [[nodiscard]] static ESPALIER_INLINE std::uint32_t try_latch(Team, std::uint32_t*) {
    return 0;
  }
  template <class Team>
  static ESPALIER_INLINE void release(Team team, std::uint32_t*, std::uint32_t) {
    team.sync();
  }
  template <class Team>
  static ESPALIER_INLINE void release_unchanged(Team team, std::uint32_t*, std::uint32_t) {
    team.sync();
  }
  [[nodiscard]] static ESPALIER_INLINE std::uint32_t peek_version(std::uint32_t*) { return 0; }
  template <class Team>
  [[nodiscard]] static ESPALIER_INLINE std::uint32_t read_begin(Team, std::uint32_t*) {
    return 0;
  }
  template <class Team>
  [[nodiscard]] static ESPALIER_INLINE bool read_valid(Team, std::uint32_t*, std::uint32_t) {
    return true;
  }
};

}  // namespace espalier
