// ref.hpp - device-side and thread-side access to the static tree.
//
// A ref is trivially copyable and does not own the tree, which must outlive it. All its calls are made by one team; on
// a CPU the team is a thread (scalar_team or simd_thread), in a kernel a tile, most often tile<1>: one GPU thread per
// query.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "espalier/core/scalar.hpp"
#include "espalier/static_tree/index.hpp"
#include "espalier/static_tree/layout.hpp"
#include "espalier/static_tree/search.hpp"

namespace espalier {

template <KeyType Key, class Value = void>
class static_tree_ref {
  static constexpr bool is_set = std::is_void_v<Value>;
  using slot = std::conditional_t<is_set, unsigned char, Value>;
  static constexpr unsigned value_bytes = is_set ? 0 : detail::value_slot(sizeof(slot));
  using word = word_of<Key>;
  using view = tree_view<word, value_bytes>;

 public:
  using key_type = Key;
  using value_type = Value;

  /// Constructs from static_index::view(); user code calls static_tree::ref().
  explicit static_tree_ref(const void* untyped) : view_(*static_cast<const view*>(untyped)) {}

  [[nodiscard]] ESPALIER_HD std::uint64_t size() const { return view_.size; }
  /// The memory layout, for code that reads whole lines (layout.hpp).
  [[nodiscard]] ESPALIER_HD const view& layout() const { return view_; }

  /// Returns the number of elements with a smaller key or, with bound_type::upper, with a key that is not greater.
  template <class Team>
  [[nodiscard]] ESPALIER_HD std::uint64_t rank(Team team, Key key, bound_type bound = bound_type::lower) const {
    const word w = key_codec<Key>::encode(key);
    if (bound == bound_type::lower) return rank_of(team, w);
    const word next = static_cast<word>(w + 1);
    return next == 0 ? view_.size : rank_of(team, next);
  }
  /// Finds the first element with a key not less than `key`. For a set, `value` is not written.
  template <class Team>
  [[nodiscard]] ESPALIER_HD bool lower_bound(Team team, Key key, Key& out_key, slot& value) const {
    return element_at(rank(team, key), out_key, value);
  }
  /// Finds the first element with a greater key.
  template <class Team>
  [[nodiscard]] ESPALIER_HD bool successor(Team team, Key key, Key& out_key, slot& value) const {
    return element_at(rank(team, key, bound_type::upper), out_key, value);
  }
  /// Finds the last element with a smaller key.
  template <class Team>
  [[nodiscard]] ESPALIER_HD bool predecessor(Team team, Key key, Key& out_key, slot& value) const {
    return element_at(rank(team, key) - 1, out_key, value);  // wraps around before the first element
  }
  /// Returns whether there is an element with this key; if so, sets `value` to the value of the first one.
  template <class Team>
  [[nodiscard]] ESPALIER_HD bool find(Team team, Key key, slot& value) const requires(!is_set) {
    const std::uint64_t at = rank(team, key);
    if (at >= view_.size || view_.key_at(at) != key_codec<Key>::encode(key)) return false;
    value = value_at(at);
    return true;
  }
  template <class Team>
  [[nodiscard]] ESPALIER_HD bool contains(Team team, Key key) const {
    const std::uint64_t at = rank(team, key);
    return at < view_.size && view_.key_at(at) == key_codec<Key>::encode(key);
  }

  /// The element with this rank, which must be below size(). A range is iterated with rank() and these two.
  [[nodiscard]] ESPALIER_HD Key key_at(std::uint64_t rank) const { return key_codec<Key>::decode(view_.key_at(rank)); }
  [[nodiscard]] ESPALIER_HD slot value_at(std::uint64_t rank) const requires(!is_set) {
    const auto raw = view_.value_at(rank);
    slot value;
    memcpy(static_cast<void*>(&value), &raw, sizeof(slot));
    return value;
  }

 private:
  ESPALIER_INLINE bool element_at(std::uint64_t rank, Key& key, [[maybe_unused]] slot& value) const {
    if (rank >= view_.size) return false;
    key = key_at(rank);
    if constexpr (!is_set) value = value_at(rank);
    return true;
  }
  template <class Team>
  [[nodiscard]] ESPALIER_INLINE std::uint64_t rank_of(Team team, word w) const {
    if (view_.size == 0 || w > view_.last) return view_.size;
    using search = searcher<team_for_t<Team>, word, value_bytes>;
    const word x = search::clamp(view_, w);
    return search::rank_in(team, view_, search::descend(team, view_, x), x);
  }

  view view_;
};

}  // namespace espalier
