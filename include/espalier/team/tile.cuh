// tile.cuh - the Team of 1, 2, 4, 8, 16 or 32 adjacent lanes of a warp, in CUDA.
//
// A tile of one lane is a plain thread with the node in its registers, without ballots and shuffles. All lanes of a
// tile make each call together; tile_slots.cuh describes which lane holds which slot.
//
// A tile of cooperative groups is a team, too: calls of a ref take cg::tiled_partition<4>(block) itself, and team_of()
// names its team.
#pragma once

#include <cooperative_groups.h>

#include "espalier/sync/concurrent_access.hpp"
#include "espalier/team/team.hpp"
#include "espalier/team/tile_slots.cuh"

namespace espalier {

namespace detail {

struct alignas(16) unit_16 {
  std::uint64_t low, high;
};

/// The warp primitives of a tile.
template <unsigned Lanes>
class tile_group {
 public:
  __device__ __forceinline__ tile_group()
      : group_(cooperative_groups::tiled_partition<Lanes>(cooperative_groups::this_thread_block())) {}
  template <class Parent>
  explicit __device__ __forceinline__ tile_group(const cooperative_groups::thread_block_tile<Lanes, Parent>& group)
      : group_(group) {}
  [[nodiscard]] __device__ __forceinline__ unsigned rank() const { return group_.thread_rank(); }
  [[nodiscard]] __device__ __forceinline__ unsigned ballot(bool x) const { return group_.ballot(x); }  ///< by rank
  [[nodiscard]] __device__ __forceinline__ unsigned count_lanes(bool x) const { return __popc(ballot(x)); }
  template <class X>
  [[nodiscard]] __device__ __forceinline__ X from(X x, unsigned lane) const {
    return group_.shfl(x, static_cast<int>(lane));
  }
  [[nodiscard]] __device__ __forceinline__ unsigned sum(unsigned n) const {
#pragma unroll
    for (unsigned d = Lanes / 2; d != 0; d /= 2) n += group_.shfl_xor(n, d);
    return n;
  }
  __device__ __forceinline__ void sync() const { group_.sync(); }

 private:
  cooperative_groups::thread_block_tile<Lanes> group_;
};

template <>
class tile_group<1> {
 public:
  tile_group() = default;
  template <class Parent>
  explicit __device__ __forceinline__ tile_group(const cooperative_groups::thread_block_tile<1, Parent>&) {}
  [[nodiscard]] __device__ __forceinline__ unsigned rank() const { return 0; }
  [[nodiscard]] __device__ __forceinline__ unsigned count_lanes(bool x) const { return x ? 1 : 0; }
  template <class X>
  [[nodiscard]] __device__ __forceinline__ X from(X x, unsigned) const {
    return x;
  }
  [[nodiscard]] __device__ __forceinline__ unsigned sum(unsigned n) const { return n; }
  __device__ __forceinline__ void sync() const {}
};

/// The tiles of a warp that run converged and have the same place. All of them make each call.
template <unsigned Lanes>
class tile_meeting {
 public:
  /// The meeting has one tile if there is no place, or if the lanes of the tile are not converged at the moment.
  explicit __device__ __forceinline__ tile_meeting(const void* place) {
    unsigned lane;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    first_ = lane & ~(Lanes - 1);
    const unsigned mine = lanes_of(first_);
    // All converged lanes get the same mask, so either all lanes of a tile or none see their tile complete.
    const unsigned active = __activemask();
    const bool single_lane_team = place == nullptr || (active & mine) != mine;
    const unsigned long long label = single_lane_team ? 2 * lane + 1 : reinterpret_cast<unsigned long long>(place);
    const unsigned same = __match_any_sync(active, label);
    lanes_ = single_lane_team ? mine : same;
    leader_ = static_cast<unsigned>(__ffs(static_cast<int>(lanes_))) - 1;
  }
  [[nodiscard]] __device__ __forceinline__ bool leads() const { return first_ == leader_; }
  /// Number of this tile in the meeting.
  [[nodiscard]] __device__ __forceinline__ unsigned number() const {
    return __popc(lanes_ & ((1u << first_) - 1)) / Lanes;
  }
  [[nodiscard]] __device__ __forceinline__ bool is_at(unsigned lane) const { return first_ == lane; }
  /// Calls f(number, lane) for each tile of the meeting; from(x, lane) is the x of that tile.
  template <class F>
  __device__ __forceinline__ void each(F&& f) const {
    unsigned i = 0;
    for (unsigned left = lanes_; left != 0; ++i) {
      const unsigned lane = static_cast<unsigned>(__ffs(static_cast<int>(left))) - 1;
      f(i, lane);
      left &= ~lanes_of(lane);
    }
  }
  template <class X>
  [[nodiscard]] __device__ __forceinline__ X from(const X& x, unsigned lane) const {
    if constexpr (std::is_empty_v<X>) {
      return x;
    } else {
      unsigned w[(sizeof(X) + 3) / 4] = {};
      memcpy(w, &x, sizeof(X));
#pragma unroll
      for (unsigned& one : w) one = __shfl_sync(lanes_, one, static_cast<int>(lane));
      X r;
      memcpy(&r, w, sizeof(X));
      return r;
    }
  }
  template <class X>
  [[nodiscard]] __device__ __forceinline__ X from_leader(const X& x) const {
    return from(x, leader_);
  }

 private:
  [[nodiscard]] static __device__ __forceinline__ unsigned lanes_of(unsigned first) {
    return (Lanes == 32 ? ~0u : (1u << Lanes % 32) - 1) << first;
  }
  unsigned first_, lanes_, leader_;
};

}  // namespace detail

template <unsigned Lanes>
struct tile {
  static_assert(Lanes != 0 && Lanes <= 32 && (Lanes & (Lanes - 1)) == 0,
                "a team has 1, 2, 4, 8, 16 or 32 lanes: use cooperative_groups::tiled_partition<32> or less");
  static constexpr unsigned batch = 1;  // the other warps of the multiprocessor hide latency

  template <class X, unsigned N>
  using slots = detail::tile_slots<X, N, Lanes, 1>;
  template <class X, unsigned N>
  using node_view = detail::tile_slots<X, N, Lanes, detail::slots_per_load<X, N, Lanes>()>;
  template <class X, unsigned N, unsigned Each>
  using node = detail::tile_slots<X, N, Lanes, Each>;  // slots or a view

  tile() = default;
  /// The lanes of a tile of cooperative groups. Implicit, so that calls of a ref take that tile.
  template <class Parent>
  __device__ __forceinline__ tile(const cooperative_groups::thread_block_tile<Lanes, Parent>& group)  // NOLINT
      : group_(group) {}

  [[nodiscard]] __host__ __device__ static constexpr unsigned lanes() { return Lanes; }

  template <unsigned N, class X>
  [[nodiscard]] __device__ __forceinline__ slots<X, N> load(const X* p) const {
    slots<X, N> s;
#pragma unroll
    for (unsigned j = 0; j < s.rows; ++j) {
      if (has_slot<N>(j)) s.w[j] = p[slot(j)];
    }
    return s;
  }
  template <class X, unsigned N>
  __device__ __forceinline__ void store(X* p, const slots<X, N>& s) const {
#pragma unroll
    for (unsigned j = 0; j < s.rows; ++j) {
      if (has_slot<N>(j)) p[slot(j)] = s.w[j];
    }
  }
  template <unsigned N, class X>
  [[nodiscard]] __device__ __forceinline__ node_view<X, N> view(const X* p) const {
    using held = node_view<X, N>;
    held v;
    constexpr unsigned each = held::words_per_row * held::slots_per_word;
    constexpr unsigned bytes = each * sizeof(X);
#pragma unroll
    for (unsigned r = 0; r < held::rows; ++r) {
      const unsigned first = (r * Lanes + group_.rank()) * each;
      if constexpr ((bytes & (bytes - 1)) == 0 && (N * sizeof(X)) % bytes == 0) {
        if (!held::ragged || first < N) detail::load_read_only<bytes>(v.w + r * held::words_per_row, p + first);
      } else {
        if (first < N) v.w[r] = p[first];  // no load instruction has this size
      }
    }
    return v;
  }
  template <unsigned N, class X>
  [[nodiscard]] __device__ __forceinline__ slots<X, N> load_relaxed(const X* p) const {
    slots<X, N> s;
#pragma unroll
    for (unsigned j = 0; j < s.rows; ++j) {
      if (has_slot<N>(j)) s.w[j] = espalier::load_relaxed(p + slot(j));
    }
    return s;
  }
  template <class X, unsigned N>
  __device__ __forceinline__ void store_relaxed(X* p, const slots<X, N>& s) const {
#pragma unroll
    for (unsigned j = 0; j < s.rows; ++j) {
      if (has_slot<N>(j)) espalier::store_relaxed(p + slot(j), s.w[j]);
    }
  }
  /// Stores the slots of a view from `from` on, in the units in which they were loaded, so some slots in front of
  /// `from` may be stored as well.
  template <class X, unsigned N, unsigned Each>
  __device__ __forceinline__ void store_shared_from(X* p, const node<X, N, Each>& v, unsigned from) const {
    using held = node<X, N, Each>;
    constexpr unsigned bytes = Each * sizeof(X);
    static_assert(!held::packed);
#pragma unroll
    for (unsigned j = 0; j < held::rows; ++j) {
      const unsigned first = held::slot_of(j * Each, group_.rank());
      if (first + Each > from && first < N) detail::store_bytes<bytes>(p + first, v.w + j * Each);
    }
  }
  template <class X, unsigned N, unsigned Each, class F>
  __device__ __forceinline__ void for_slots(const node<X, N, Each>& s, unsigned from, unsigned to, F&& f) const {
    static_assert(!node<X, N, Each>::packed);
#pragma unroll
    for (unsigned k = 0; k < node<X, N, Each>::words; ++k) {
      const unsigned i = node<X, N, Each>::slot_of(k, group_.rank());
      if (i >= from && i < to) f(i, s.w[k]);
    }
  }
  template <class X, unsigned N>
  [[nodiscard]] __device__ __forceinline__ X own(const slots<X, N>& s, unsigned i) const {
    return detail::pick<slots<X, N>::rows>(s.w, i / Lanes);
  }
  template <unsigned N, class X>
  [[nodiscard]] __device__ __forceinline__ node_view<X, N> view_relaxed(const X* p) const {
    using held = node_view<X, N>;
    held v;
    constexpr unsigned each = held::words_per_row * held::slots_per_word;
    constexpr unsigned bytes = each * sizeof(X);
#pragma unroll
    for (unsigned r = 0; r < held::rows; ++r) {
      const unsigned first = (r * Lanes + group_.rank()) * each;
      if (held::ragged && first >= N) continue;
      if constexpr (bytes == 16 || bytes == 8 || bytes == 4) {
        using unit = std::conditional_t<bytes == 16, detail::unit_16,
                                        std::conditional_t<bytes == 8, std::uint64_t, std::uint32_t>>;
        const unit u = espalier::load_relaxed(reinterpret_cast<const unit*>(p + first));
        memcpy(v.w + r * held::words_per_row, &u, bytes);
      } else {
        v.w[r] = espalier::load_relaxed(p + first);
      }
    }
    return v;
  }
  __device__ __forceinline__ void prefetch(const void*) const {}

  template <unsigned First, class X, unsigned N, unsigned Each, class Pred>
  [[nodiscard]] __device__ __forceinline__ unsigned count_from(const node<X, N, Each>& v, Pred pred) const {
    using held = node<X, N, Each>;
    if constexpr (held::words == 1 && !held::packed) {
      const unsigned i = group_.rank();
      return group_.count_lanes(i + 1 > First && i < N && pred(v.w[0]));
    } else {
      return group_.sum(detail::count_in_lane<First>(v, group_.rank(), pred));
    }
  }
  template <class X, unsigned N, unsigned Each, class Pred>
  [[nodiscard]] __device__ __forceinline__ unsigned count(const node<X, N, Each>& v, Pred pred) const {
    return count_from<0>(v, pred);
  }
  template <unsigned First, class X, unsigned N, unsigned Each>
  [[nodiscard]] __device__ __forceinline__ unsigned rank(const node<X, N, Each>& v,
                                                         std::type_identity_t<X> bound) const {
    return count_from<First>(v, less_than<X>{bound});
  }

  template <class X, unsigned N, unsigned Each>
  [[nodiscard]] __device__ __forceinline__ X get(const node<X, N, Each>& v, unsigned i) const {
    using held = node<X, N, Each>;
    const unsigned k = i / (Lanes * Each) * held::words_per_row + i % Each / held::slots_per_word;
    const auto w = group_.from(detail::pick<held::words>(v.w, k), i / Each % Lanes);
    if constexpr (held::packed) {
      return static_cast<X>(w >> (8 * (i % 4)));
    } else {
      return w;
    }
  }
  template <unsigned I, class X, unsigned N, unsigned Each>
  [[nodiscard]] __device__ __forceinline__ X get(const node<X, N, Each>& v) const {
    static_assert(I < N);
    return get(v, I);
  }
  template <class X, unsigned Byte, unsigned N, unsigned Each>
  [[nodiscard]] __device__ __forceinline__ X word(const node<std::uint8_t, N, Each>& v) const {
    static_assert(Byte % sizeof(X) == 0 && Byte + sizeof(X) <= N);
    return word_at<X, Byte>(v);
  }

  template <unsigned N, class F>
  [[nodiscard]] __device__ __forceinline__ slots<std::invoke_result_t<F, unsigned>, N> make(F&& f) const {
    slots<std::invoke_result_t<F, unsigned>, N> r{};
#pragma unroll
    for (unsigned j = 0; j < r.rows; ++j) {
      if (has_slot<N>(j)) r.w[j] = f(slot(j));
    }
    return r;
  }
  template <class X, unsigned N, class F>
  [[nodiscard]] __device__ __forceinline__ slots<std::invoke_result_t<F, X>, N> map(const slots<X, N>& s, F&& f) const {
    slots<std::invoke_result_t<F, X>, N> r{};
#pragma unroll
    for (unsigned j = 0; j < s.rows; ++j) {
      if (has_slot<N>(j)) r.w[j] = f(s.w[j]);
    }
    return r;
  }
  template <class X, unsigned N, unsigned Each>
  [[nodiscard]] __device__ __forceinline__ node<X, N, Each> insert_at(const node<X, N, Each>& s, unsigned at,
                                                                      std::type_identity_t<X> x) const {
    using held = node<X, N, Each>;
    static_assert(!held::packed);
    held r;
    const unsigned lane = group_.rank();
#pragma unroll
    for (unsigned j = 0; j < held::rows; ++j) {
      // The previous lane holds the slot in front of this lane's first slot. Lane 0 follows the last lane of the
      // previous row.
      const unsigned last = j * Each + Each - 1;
      const X in_front = lane == Lanes - 1 && j != 0 ? s.w[j == 0 ? 0 : last - Each] : s.w[last];
      const X moved = group_.from(in_front, (lane + Lanes - 1) % Lanes);
#pragma unroll
      for (unsigned e = 0; e < Each; ++e) {
        const unsigned k = j * Each + e, i = held::slot_of(k, lane);
        r.w[k] = i < at ? s.w[k] : i == at ? x : e == 0 ? moved : s.w[e == 0 ? 0 : k - 1];
      }
    }
    return r;
  }
  template <class X, unsigned N, unsigned Each>
  [[nodiscard]] __device__ __forceinline__ node<X, N, Each> erase_at(const node<X, N, Each>& s, unsigned at,
                                                                     std::type_identity_t<X> fill) const {
    using held = node<X, N, Each>;
    static_assert(!held::packed);
    held r;
    const unsigned lane = group_.rank();
#pragma unroll
    for (unsigned j = 0; j < held::rows; ++j) {
      const X behind = lane == 0 && j + 1 < held::rows ? s.w[j + 1 < held::rows ? (j + 1) * Each : 0] : s.w[j * Each];
      const X moved = group_.from(behind, (lane + 1) % Lanes);
#pragma unroll
      for (unsigned e = 0; e < Each; ++e) {
        const unsigned k = j * Each + e, i = held::slot_of(k, lane);
        r.w[k] = i < at ? s.w[k] : i + 1 >= N ? fill : e + 1 == Each ? moved : s.w[e + 1 == Each ? 0 : k + 1];
      }
    }
    return r;
  }
  template <class X, unsigned N>
  [[nodiscard]] __device__ __forceinline__ slots<X, N> head(slots<X, N> s, unsigned to,
                                                            std::type_identity_t<X> fill) const {
#pragma unroll
    for (unsigned j = 0; j < s.rows; ++j) {
      if (slot(j) >= to) s.w[j] = fill;
    }
    return s;
  }
  /// Moves whole rows first, one bit of the distance per step, and then moves within rows: rows + 1 shuffles.
  template <class X, unsigned N>
  [[nodiscard]] __device__ __forceinline__ slots<X, N> tail(slots<X, N> s, unsigned from,
                                                            std::type_identity_t<X> fill) const {
    s = head(s, N, fill);
#pragma unroll
    for (unsigned step = 1; step <= s.rows; step *= 2) {
#pragma unroll
      for (unsigned j = 0; j < s.rows; ++j) {
        const X behind = j + step < s.rows ? s.w[j + step < s.rows ? j + step : j] : fill;
        if ((from / Lanes & step) != 0) s.w[j] = behind;
      }
    }
    const unsigned source = group_.rank() + from % Lanes;
    X here = group_.from(s.w[0], source % Lanes);
#pragma unroll
    for (unsigned j = 0; j < s.rows; ++j) {
      const X next = j + 1 < s.rows ? group_.from(s.w[j + 1 < s.rows ? j + 1 : j], source % Lanes) : fill;
      s.w[j] = source < Lanes ? here : next;
      here = next;
    }
    return s;
  }

  template <class F>
  __device__ __forceinline__ auto once(F&& f) const -> decltype(f()) {
    using result = decltype(f());
    if constexpr (std::is_void_v<result>) {
      if (group_.rank() == 0) f();
    } else if constexpr (Lanes == 1) {
      return f();
    } else {
      result x{};
      if (group_.rank() == 0) x = f();
      return group_.from(x, 0);
    }
  }
  __device__ __forceinline__ void sync() const { group_.sync(); }

  using single_lane_team = tile<1>;
  static constexpr bool view_is_register_copy = true;
  [[nodiscard]] __device__ __forceinline__ unsigned lane() const { return group_.rank(); }
  template <class X>
  [[nodiscard]] __device__ __forceinline__ X broadcast(const X& x, unsigned i) const {
    return group_.from(x, i);
  }
  [[nodiscard]] __device__ __forceinline__ unsigned count_lanes(bool x) const { return group_.count_lanes(x); }
  [[nodiscard]] __device__ __forceinline__ detail::tile_meeting<Lanes> meet(const void* place) const {
    group_.sync();  // makes it more likely that the lanes of the tile are converged
    return detail::tile_meeting<Lanes>(place);
  }

 private:
  /// The slot of this lane in row j, for Each == 1.
  [[nodiscard]] __device__ __forceinline__ unsigned slot(unsigned j) const { return j * Lanes + group_.rank(); }
  template <unsigned N>
  [[nodiscard]] __device__ __forceinline__ bool has_slot(unsigned j) const {
    return N % Lanes == 0 || slot(j) < N;
  }

  template <class X, unsigned Byte, class Bytes>
  [[nodiscard]] __device__ __forceinline__ X word_at(const Bytes& v) const {
    if constexpr (Bytes::packed && sizeof(X) >= 4) {
      std::uint32_t w[sizeof(X) / 4];
#pragma unroll
      for (unsigned k = 0; k < sizeof(X) / 4; ++k) w[k] = word32<Bytes>(v, Byte + 4 * k);
      X x;
      memcpy(&x, w, sizeof(X));
      return x;
    } else {
      std::uint8_t b[sizeof(X)];
#pragma unroll
      for (unsigned k = 0; k < sizeof(X); ++k) b[k] = get(v, Byte + k);
      X x;
      memcpy(&x, b, sizeof(X));
      return x;
    }
  }
  template <class Bytes>
  [[nodiscard]] __device__ __forceinline__ std::uint32_t word32(const Bytes& v, unsigned byte) const {
    constexpr unsigned each = Bytes::words_per_row * 4;
    return group_.from(detail::pick<Bytes::words>(v.w, byte / (Lanes * each) * Bytes::words_per_row + byte % each / 4),
                       byte / each % Lanes);
  }

  detail::tile_group<Lanes> group_;
};

template <unsigned Lanes, class Parent>
struct team_for<cooperative_groups::thread_block_tile<Lanes, Parent>> {
  using type = tile<Lanes>;
};

/// Returns the team of a tile of cooperative groups of up to 32 threads, whatever it is a part of. Preconditions: all
/// its threads make the call, and all later calls with the team.
template <unsigned Lanes, class Parent>
[[nodiscard]] __device__ __forceinline__ tile<Lanes> team_of(
    const cooperative_groups::thread_block_tile<Lanes, Parent>& group) {
  return tile<Lanes>(group);
}

}  // namespace espalier
