// team.hpp - the Team concept: the execution unit of one tree operation, a CPU thread with SIMD or a GPU tile.
//
// A team holds one node. Values come in two kinds:
//   uniform  plain C++ scalars, equal in every lane (key, node id, slot number)
//   slots    one value per node slot, distributed over the lanes
// Algorithms above this file never mention a lane, a shuffle or an intrinsic. Every operation is called by all lanes of
// a team together and with equal uniform arguments.
//
// Implementations are scalar_team.hpp (the reference: plain loops, host and device), simd_thread.hpp (Highway) and
// tile.cuh (CUDA). A new one is correct when tests/team passes for it.
//
// A team T provides, with X an unsigned integer or any trivially copyable type of up to 16 bytes:
//
//   T::batch                     constexpr unsigned: number of independent queries that one team keeps in flight to
//                                hide memory latency. It is 1 where the hardware's own threads do that.
//   T::slots<X, N>               N slots, owned.
//   team.lanes()                 constexpr unsigned: number of hardware threads of the team.
//
//   -- memory --
//   team.load<N>(p)              slots p[0], ..., p[N-1].
//   team.store(p, s)             the reverse.
//   team.view<N>(p)              the same slots, read-only, of a node that is not written concurrently: on a CPU the
//                                view refers to memory, on a GPU it is loaded through the read-only path with 16-byte
//                                loads. p is aligned to min(32, N * sizeof(X)) bytes.
//   team.prefetch(p)             prefetches the line at p. Never faults, may do nothing.
//   team.stream(to, from, n)     if T::batch > 1: copies n bytes with non-temporal stores, for memory that is not read
//                                soon. `to` and n are multiples of 32. Other threads see the bytes after
//                                team.fence_nontemporal().
//   team.load_relaxed<N>(p), team.store_relaxed(p, s), team.view_relaxed<N>(p)
//                                the same for memory that other teams may write concurrently
//                                (sync/concurrent_access.hpp): each slot is atomic, the set of slots is not.
//   team.for_slots(s, from, to, f)   calls f(i, x) for slots i of [from, to), each in the lane that holds it. to <= N.
//                                If T::view_is_register_copy, s may be a view, which then is a copy in registers.
//   team.own(s, i)               inside f: slot i of other slots of the same N.
//   team.store_shared_from(p, v, from)   if T::view_is_register_copy: stores slots [from, N) of a view; it may also
//                                store some slots in front of `from`.
//
//   -- search: v is slots or a view; results are uniform --
//   team.count(v, pred)          number of slots that satisfy pred. pred is less_than, at_most, equals (fast), or any
//                                callable.
//   team.count_from<First>(v, pred)  the same over slots [First, N).
//   team.rank<First>(v, bound)   number of slots in [First, N), which ascend, that are < bound. X is u8, u32 or u64.
//   team.get(v, i)               slot i < N.
//   team.get<I>(v)               slot I, a compile-time constant.
//   team.word<X, Byte>(v)        for slots of u8: the X that starts at that byte, a multiple of sizeof(X).
//
//   -- changes: return new slots --
//   team.make<N>(f)              slot i is f(i), called by the lane that holds it.
//   team.map(s, f)               slot i is f(slot i of s), called by the lane that holds it.
//   team.insert_at(s, at, x)     slot at becomes x; slots [at, N-1) move up by one; the last one is lost. at < N.
//   team.erase_at(s, at, fill)   slots (at, N) move down by one; the last one becomes fill. at < N.
//                                For both: if T::view_is_register_copy, s may be a view.
//   team.head(s, to, fill)       slots [to, N) become fill. to <= N.
//   team.tail(s, from, fill)     slots [from, N) move to the front; the rest becomes fill. from <= N.
//
//   -- collective operations --
//   team.once(f)                 one lane calls f; its result, if there is one, is uniform.
//   team.sync()                  memory written by a lane before the call is visible to all lanes after it.
//   T::single_lane_team, team.lane()   the team of one lane alone, and the number of the lane: for work in which each
//                                lane handles a different element. Such values are not uniform.
//   team.broadcast(x, i)         the x of lane i < lanes(), uniform.
//   team.count_lanes(x)          number of lanes in which x is true.
//   team.meet(place)             if T::view_is_register_copy: the teams of a warp that run converged and have the same
//                                place, an address; with null, this team alone. It returns a meeting m, whose calls
//                                are made by all its teams: m.leads() is true for one team; m.number() counts from 0;
//                                m.each(f) calls f(number, lane) for each team; m.is_at(lane); m.from(x, lane) and
//                                m.from_leader(x) return the x of another team.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "espalier/core/config.hpp"

namespace espalier {

// Predicates are types, not lambdas, so that a team can recognise them and compare many slots at once.

/// x < bound
template <class X>
struct less_than {
  X bound;
  [[nodiscard]] ESPALIER_INLINE constexpr bool operator()(X x) const { return x < bound; }
};
/// x <= bound
template <class X>
struct at_most {
  X bound;
  [[nodiscard]] ESPALIER_INLINE constexpr bool operator()(X x) const { return x <= bound; }
};
/// x == bound
template <class X>
struct equals {
  X bound;
  [[nodiscard]] ESPALIER_INLINE constexpr bool operator()(X x) const { return x == bound; }
};
template <class X>
less_than(X) -> less_than<X>;
template <class X>
at_most(X) -> at_most<X>;
template <class X>
equals(X) -> equals<X>;

/// The team that runs a call of a ref whose argument has type T: T itself. tile.cuh adds tiles of cooperative groups.
template <class T>
struct team_for {
  using type = T;
};
template <class T>
using team_for_t = typename team_for<T>::type;

template <class T>
concept Team = requires(const T team, std::uint64_t* p, const std::uint8_t* bytes, std::uint64_t x, unsigned i,
                        typename T::template slots<std::uint64_t, 4> s, std::uint64_t (*thunk)(),
                        void (*each)(unsigned, const std::uint64_t&), std::uint64_t (*of)(unsigned),
                        std::uint64_t (*to)(std::uint64_t)) {
  { T::batch } -> std::convertible_to<unsigned>;
  { team.lanes() } -> std::same_as<unsigned>;
  { team.template load<4>(p) } -> std::same_as<typename T::template slots<std::uint64_t, 4>>;
  {team.store(p, s)};
  {team.template view<4>(p)};
  {team.prefetch(p)};
  { team.template load_relaxed<4>(p) } -> std::same_as<typename T::template slots<std::uint64_t, 4>>;
  {team.store_relaxed(p, s)};
  {team.template view_relaxed<4>(p)};
  {team.for_slots(s, i, i, each)};
  { team.count(s, less_than{x}) } -> std::same_as<unsigned>;
  { team.template count_from<1>(team.template view<4>(p), at_most{x}) } -> std::same_as<unsigned>;
  { team.template rank<0>(team.template view<4>(p), x) } -> std::same_as<unsigned>;
  { team.get(s, i) } -> std::same_as<std::uint64_t>;
  { team.template get<3>(team.template view<4>(p)) } -> std::same_as<std::uint64_t>;
  { team.template word<std::uint32_t, 4>(team.template view<32>(bytes)) } -> std::same_as<std::uint32_t>;
  { team.template make<4>(of) } -> std::same_as<decltype(s)>;
  { team.map(s, to) } -> std::same_as<decltype(s)>;
  { team.insert_at(s, i, x) } -> std::same_as<decltype(s)>;
  { team.erase_at(s, i, x) } -> std::same_as<decltype(s)>;
  { team.head(s, i, x) } -> std::same_as<decltype(s)>;
  { team.tail(s, i, x) } -> std::same_as<decltype(s)>;
  { team.once(thunk) } -> std::same_as<std::uint64_t>;
  {team.sync()};
  typename T::single_lane_team;
  { team.lane() } -> std::same_as<unsigned>;
  { team.broadcast(x, i) } -> std::same_as<std::uint64_t>;
  { team.count_lanes(true) } -> std::same_as<unsigned>;
};

}  // namespace espalier
