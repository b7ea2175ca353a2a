// version_latch.hpp - one word per node: odd while a writer has it, and a new even number after each change.
//
// A writer:  turn = latch(team, word) ... change ... release(team, word, turn)
// A reader:  v = read_begin(team, word); ... load_relaxed ...; keep what was read only if read_valid(team, word, v)
// Invariant: between read_begin and a read_valid that says yes, no change of the node became visible.
// A version repeats after 2^31 changes of one node within one read.
#pragma once

#include <cstdint>

#include "espalier/sync/concurrent_access.hpp"

namespace espalier {

/// Real latches: the protocols link and couple.
struct version_latch {
  /// One attempt. Even: the version before, the latch is ours. Odd: somebody else has it.
  template <class Team>
  [[nodiscard]] static ESPALIER_INLINE std::uint32_t try_latch(Team team, std::uint32_t* word) {
    const std::uint32_t before = team.once([=] { return atomic_word_ref{word}.fetch_or_acquire_no_fence(1u); });
    team.sync();
    return before;
  }
  /// Publishes what was changed under the latch.
  template <class Team>
  static ESPALIER_INLINE void release(Team team, std::uint32_t* word, std::uint32_t before) {
    team.sync();  // the releasing store is after the stores of all lanes
    team.once([=] { atomic_word_ref{word}.store_release(before + 2); });
  }
  /// Nothing was changed: readers of the old version stay valid.
  template <class Team>
  static ESPALIER_INLINE void release_unchanged(Team team, std::uint32_t* word, std::uint32_t before) {
    team.sync();  // what was read under the latch was read before it is free
    team.once([=] { atomic_word_ref{word}.store_release_reads_only(before); });
  }
  /// Of one node of several: all of them, a fence, their reads, a fence, then all of them again. Odd: a writer has it.
  [[nodiscard]] static ESPALIER_INLINE std::uint32_t peek_version(std::uint32_t* word) {
    return atomic_word_ref{word}.load_relaxed();
  }
  /// Waits until no writer has the node.
  template <class Team>
  [[nodiscard]] static ESPALIER_INLINE std::uint32_t read_begin(Team team, std::uint32_t* word) {
    for (unsigned turn = 0;; ++turn) {
      const std::uint32_t v = team.once([=] { return atomic_word_ref{word}.load_acquire(); });
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
    return team.once([=] { return atomic_word_ref{word}.load_relaxed(); }) == v;
  }
};

/// For one writer and nobody else, and for readers while nobody writes.
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
