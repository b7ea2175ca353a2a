// batch_descent.hpp - start leaves of the searches of a batch. A CPU thread finds the leaves of 32 keys at once, so
// that its memory accesses overlap; in a tile each lane searches for a different element.
#if defined(ESPALIER_BLINK_TREE_BATCH_DESCENT_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef ESPALIER_BLINK_TREE_BATCH_DESCENT_HPP
#undef ESPALIER_BLINK_TREE_BATCH_DESCENT_HPP
#else
#define ESPALIER_BLINK_TREE_BATCH_DESCENT_HPP
#endif

#include "espalier/blink_tree/descend.hpp"
#include "espalier/blink_tree/jobs.hpp"
#include "espalier/static_tree/run.hpp"
#include "espalier/team/multi_target.hpp"

ESPALIER_BEGIN_TARGET_NAMESPACE

template <class Team, class Reads, class View>
struct leaf_locator;

template <class Team, class Reads, class Word, unsigned V, unsigned N>
struct leaf_locator<Team, Reads, blink_view<Word, V, N>> {
  using view = blink_view<Word, V, N>;
  using shape = typename view::leaf_shape;
  using lane_search = searcher<Team, Word, external_keys>;
  using descent = descender<Team, Reads, view>;
  /// Number of elements that descend through the inner levels together.
  static constexpr unsigned batch = Team::batch > 1 ? 32 : Team::lanes();

  /// Keys and leaves of a batch: in arrays on a CPU, one per lane in a tile.
  struct starts {
    Word key[Team::batch > 1 ? batch : 1];
    node_id id[Team::batch > 1 ? batch : 1];
    std::uint64_t line[Team::batch > 1 ? batch : 1];  ///< line of the lane that names the leaf; in arrays only

    ESPALIER_INLINE Word key_of(Team team, unsigned j) const {
      if constexpr (Team::batch > 1) return key[j];
      return team.broadcast(key[0], j);
    }
    ESPALIER_INLINE node_id id_of(Team team, unsigned j) const {
      if constexpr (Team::batch > 1) return id[j];
      return team.broadcast(id[0], j);
    }
  };

  static ESPALIER_INLINE void prefetch_leaf(Team team, const view& t, node_id id) {
    const std::byte* p = t.leaf(id).p;
    team.prefetch(p);
    if constexpr (shape::chunk == N && shape::bytes > 64) {
      for (unsigned b = 64; b < shape::bytes; b += 64) team.prefetch(p + b);
    }
  }
  /// Prefetches a leaf for one key. The line that holds only the last values of a leaf filled as a build fills it is
  /// not prefetched: prefetching it made finds of u64 a tenth slower (one CPU thread, 2^24 keys).
  static ESPALIER_INLINE void prefetch_most_of(Team team, const view& t, node_id id) {
    const std::byte* p = t.leaf(id).p;
    team.prefetch(p);
    if constexpr (shape::chunk == N) {
      for (unsigned b = 64; b < shape::values_at + (shape::merged - 1) * V; b += 64) team.prefetch(p + b);
    }
  }
  /// Converts lines to leaves, which have not been prefetched yet.
  static ESPALIER_INLINE void enter(Team team, const view& t, starts& s, unsigned n) {
    if (t.lane_leaves != nullptr) {
      for (unsigned j = 0; j < n; ++j) team.prefetch(t.lane_leaves + s.line[j]);
    }
    for (unsigned j = 0; j < n; ++j) s.id[j] = descent::leaf_of_line(t, s.line[j]);
  }
  static ESPALIER_PER_BATCH void land(Team team, const view& t, starts& s, unsigned n) {
    if constexpr (Team::batch > 1) {
      if (t.lane.size == 0) {
        for (unsigned j = 0; j < n; ++j) s.id[j] = descent::by_nodes(team, t, s.key[j], 0).id;
        return;
      }
      Word x[batch]{};  // zeros: g++ 12 does not see that all n are assigned
      for (unsigned j = 0; j < n; ++j) x[j] = s.key[j] < t.lane.first ? t.lane.first : s.key[j];
      lane_search::descend(team, t.lane, x, n, s.line);
      enter(team, t, s, n);
    } else {
      using alone = typename Team::single_lane_team;
      s.id[0] = team.lane() < n ? descender<alone, Reads, view>::leaf(alone{}, t, s.key[0]) : node_id{0};
    }
  }
  /// Finds the start leaves of n elements; key_at(j) is the word of element j. `lines` are the lines of the lane that
  /// name their leaves, if these are known; CPU only.
  template <class KeyAt>
  static ESPALIER_INLINE starts start(Team team, const view& t, unsigned n, KeyAt key_at,
                                      [[maybe_unused]] const std::uint32_t* lines = nullptr) {
    starts s;
    if constexpr (Team::batch > 1) {
      for (unsigned j = 0; j < n; ++j) s.key[j] = key_at(j);
    } else {
      s.key[0] = team.lane() < n ? key_at(team.lane()) : Word{0};
    }
    locate(team, t, s, n, lines);
    return s;
  }
  /// The same for keys that are in `s` already.
  static ESPALIER_INLINE void locate(Team team, const view& t, starts& s, unsigned n,
                                     [[maybe_unused]] const std::uint32_t* lines = nullptr) {
    if constexpr (Team::batch > 1) {
      if (lines != nullptr) {
        for (unsigned j = 0; j < n; ++j) s.line[j] = lines[j];
        return enter(team, t, s, n);
      }
    }
    land(team, t, s, n);
  }
  static ESPALIER_INLINE unsigned batch_size(std::size_t first, std::size_t last) {
    return last - first < batch ? static_cast<unsigned>(last - first) : batch;
  }
  /// Called before element j of n: a CPU thread prefetches the leaf of an element that follows a little later. If all
  /// prefetches were issued at once, many would be dropped: an update of 2^22 keys of u64 then took 94 ns instead of 75
  /// ns (Neoverse V1).
  static ESPALIER_INLINE void prefetch_ahead([[maybe_unused]] Team team, [[maybe_unused]] const view& t,
                                             [[maybe_unused]] const starts& s, [[maybe_unused]] unsigned n,
                                             [[maybe_unused]] unsigned j) {
    if constexpr (Team::batch > 1) {
      constexpr unsigned ahead = 8;
      if (j == 0) {
        for (unsigned k = 0; k < ahead && k < n; ++k) prefetch_most_of(team, t, s.id[k]);
      }
      if (j + ahead < n) prefetch_most_of(team, t, s.id[j + ahead]);
    }
  }
  static ESPALIER_INLINE Word word_at(const view& t, const void* keys, std::size_t i) {
    return encode_bits(t.key, load_bits<Word>(t.key, keys, i));
  }
};

ESPALIER_END_TARGET_NAMESPACE

#endif  // ESPALIER_BLINK_TREE_BATCH_DESCENT_HPP
