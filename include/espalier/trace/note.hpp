// note.hpp - recording as a property of the team: traced_team<Team> is that team with an event buffer.
//
// Algorithms call note(team, event). For every other team the call generates no code, so a tree contains hooks only if
// it is called with a traced team (tests/trace/cost_test.cpp).
//
// One atomic addition gives an event its slot and its rank in the order of all events. A change of a node is recorded
// while its latch is held, taking the latch after it was taken, its release before it is released. The order of the
// events of a node is therefore the order in which the changes of the node took place, whatever the clocks say.
#pragma once

#include <chrono>
#include <type_traits>

#include "espalier/sync/version_latch.hpp"
#include "espalier/trace/event.hpp"

namespace espalier {

/// The event buffer, borrowed from a trace_recorder (recorder.hpp). Events beyond its capacity are counted and lost.
/// Thread-safe.
struct event_log {
  trace_event* events = nullptr;
  std::uint64_t capacity = 0;
  std::uint64_t* next = nullptr;

  [[nodiscard]] static ESPALIER_INLINE std::uint64_t now() {
#if defined(__CUDA_ARCH__)
    std::uint64_t ns;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
#else
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
            .count());
#endif
  }
  /// Records an event. Called by one lane.
  ESPALIER_INLINE void put(trace_event e) const {
    const std::uint64_t place = atomic_word_ref{next}.fetch_add(1);
    if (place >= capacity) return;
    e.time = now();
    events[place] = e;
  }
};

/// A team that records events into `ring` under its number.
template <class Base>
struct traced_team : Base {
  using alone = traced_team<typename Base::single_lane_team>;
  event_log ring;
  std::uint32_t number;
  bool quiet = false;  ///< record changes and latches, but not `reach` and `retry`

  ESPALIER_INLINE traced_team(Base base, const event_log& to, std::uint32_t who) : Base(base), ring(to), number(who) {}
  ESPALIER_INLINE void put(trace_event e) const {
    if (quiet && (e.kind == trace_kind::reach || e.kind == trace_kind::retry)) return;
    this->once([&] {
      e.team = number;
      ring.put(e);
    });
  }
};

template <class Team>
inline constexpr bool is_traced = false;
template <class Base>
inline constexpr bool is_traced<traced_team<Base>> = true;

/// Records an event if the team is traced; otherwise generates no code.
template <class Team>
ESPALIER_INLINE void note([[maybe_unused]] const Team& team, [[maybe_unused]] const trace_event& e) {
  if constexpr (is_traced<Team>) team.put(e);
}

/// The team for attempt number `turn` of an operation. A team that waits for a latch repeats its path thousands of
/// times and would fill the buffer, so only attempts 0, 1, 2, 4, 8, ... are recorded.
template <class Team>
[[nodiscard]] ESPALIER_INLINE Team on_attempt(Team team, [[maybe_unused]] unsigned turn) {
  if constexpr (is_traced<Team>) team.quiet = (turn & (turn - 1)) != 0;
  return team;
}

/// A latch that records its operations with the name of the node.
template <class Latch>
struct traced_latch {
  static constexpr bool is_real = std::is_same_v<Latch, version_latch>;

  template <class Team>
  [[nodiscard]] static ESPALIER_INLINE std::uint32_t try_latch(Team team, trace_node n, std::uint32_t* word) {
    const std::uint32_t before = Latch::try_latch(team, word);
    if constexpr (is_traced<Team> && is_real) {
      if ((before & 1) == 0) note(team, trace::latch(n, before));
    }
    return before;
  }
  template <class Team>
  static ESPALIER_INLINE void release(Team team, trace_node n, std::uint32_t* word, std::uint32_t before) {
    if constexpr (is_real) note(team, trace::unlatch(n, before + 2));
    Latch::release(team, word, before);
  }
  template <class Team>
  static ESPALIER_INLINE void release_unchanged(Team team, trace_node n, std::uint32_t* word, std::uint32_t before) {
    if constexpr (is_real && is_traced<Team>) {
      note(team, trace::unlatch(n, before));
      fence_acq_rel();  // this release orders reads only; the event must have its slot before another team takes the
                        // latch
    }
    Latch::release_unchanged(team, word, before);
  }
  template <class Team>
  [[nodiscard]] static ESPALIER_INLINE std::uint32_t read_begin(Team team, std::uint32_t* word) {
    return Latch::read_begin(team, word);
  }
  /// Records a retry if the result is false.
  template <class Team>
  [[nodiscard]] static ESPALIER_INLINE bool read_valid(Team team, trace_node n, std::uint32_t* word, std::uint32_t v) {
    const bool stood_still = Latch::read_valid(team, word, v);
    if constexpr (is_traced<Team>) {
      if (!stood_still) note(team, trace::retry(n, trace_why::changed));
    }
    return stood_still;
  }
};

}  // namespace espalier
