// ref.hpp - device-side and thread-side access to the B-link tree: many teams read and write concurrently.
//
// A ref is trivially copyable and does not own the tree. All its calls are made by one team: on a CPU a thread
// (scalar_team), in a kernel a tile (tile.cuh) or a tile of cooperative groups, called by all its lanes. An insert that
// finds no free node returns out_of_nodes and changes nothing: the owner's ref(inserts) reserves more nodes. Tiles of a
// warp may use refs of different trees.
//
// Concurrently with other writers, insert, update, erase, find and contains are linearizable. lower_bound, successor,
// predecessor and range are not: each leaf is read atomically, but different leaves at different times. If the leaf of
// the key has no result and the neighbour is read, one key may be inserted into the first leaf and another erased from
// the second in between, and the result is then one that was correct at no single time. These calls guarantee that an
// element they return was present at some time during the call, and that no key that was present throughout is skipped.
#pragma once

#include <cstring>
#include <type_traits>

#include "espalier/blink_tree/options.hpp"
#include "espalier/blink_tree/policy.hpp"
#include "espalier/index/elements.hpp"

namespace espalier {

template <KeyType Key, class Value = void, class Policy = blink_policy<>>
class blink_tree_ref {
  static constexpr bool is_set = std::is_void_v<Value>;
  using slot = std::conditional_t<is_set, unsigned char, Value>;
  using word = word_of<Key>;
  static constexpr unsigned value_bytes = is_set ? 0 : detail::value_slot(sizeof(slot));
  using view = blink_view<word, value_bytes, detail::node_slots<word>(Policy::slots)>;
  using raw = typename value_raw<value_bytes>::type;
  template <class Team>
  using ops = detail::blink_ops<Policy::protocol, Policy::inner, team_for_t<Team>, view>;

 public:
  using key_type = Key;
  using value_type = Value;
  using view_type = view;

  /// Constructs from blink_index::view(); user code calls blink_tree::ref().
  explicit blink_tree_ref(const void* untyped) : view_(*static_cast<const view*>(untyped)) {}

  // Writes. They return write_result::out_of_nodes, with the tree unchanged, if ref(inserts) reserved too few nodes.

  /// Returns inserted or exists.
  template <class Team>
  [[nodiscard]] ESPALIER_HD write_result insert(Team team, Key key, const slot& value) const requires(!is_set) {
    return result(ops<Team>::insert(team, view_, key_codec<Key>::encode(key), pack(value), false),
                  write_result::inserted, write_result::exists);
  }
  template <class Team>
  [[nodiscard]] ESPALIER_HD write_result insert(Team team, Key key) const requires(is_set) {
    return result(ops<Team>::insert(team, view_, key_codec<Key>::encode(key), raw{}, false), write_result::inserted,
                  write_result::exists);
  }
  /// Returns inserted or assigned.
  template <class Team>
  [[nodiscard]] ESPALIER_HD write_result insert_or_assign(Team team, Key key, const slot& value) const
      requires(!is_set) {
    return result(ops<Team>::insert(team, view_, key_codec<Key>::encode(key), pack(value), true),
                  write_result::inserted, write_result::assigned);
  }
  /// Inserts (key, value), or replaces the value `current` of an existing key by f(current, value). The value is read
  /// and written under the latch of its leaf, so that concurrent calls lose no update: a minimum, a sum, a counter.
  /// Every lane of the team calls f; f must be the same function in all of them and must not access this tree. Returns
  /// inserted or assigned.
  template <class Team, class F>
  [[nodiscard]] ESPALIER_HD write_result insert_or_apply(Team team, Key key, const slot& value, F f) const
      requires(!is_set) {
    const auto apply = [&](const raw& current) { return pack(f(unpack(current), value)); };
    return result(ops<Team>::insert_or_apply(team, view_, key_codec<Key>::encode(key), pack(value), apply),
                  write_result::inserted, write_result::assigned);
  }
  /// Returns assigned or not_found.
  template <class Team>
  [[nodiscard]] ESPALIER_HD write_result update(Team team, Key key, const slot& value) const requires(!is_set) {
    return result(ops<Team>::update(team, view_, key_codec<Key>::encode(key), pack(value)), write_result::assigned,
                  write_result::not_found);
  }
  /// Returns erased or not_found.
  template <class Team>
  [[nodiscard]] ESPALIER_HD write_result erase(Team team, Key key) const {
    return result(ops<Team>::erase(team, view_, key_codec<Key>::encode(key)), write_result::erased,
                  write_result::not_found);
  }

  template <class Team>
  [[nodiscard]] ESPALIER_HD bool find(Team team, Key key, slot& value) const requires(!is_set) {
    raw v{};
    if (!ops<Team>::find(team, view_, key_codec<Key>::encode(key), v)) return false;
    value = unpack(v);
    return true;
  }
  template <class Team>
  [[nodiscard]] ESPALIER_HD bool contains(Team team, Key key) const {
    raw v{};
    return ops<Team>::find(team, view_, key_codec<Key>::encode(key), v);
  }
  /// Finds the first element with a key not less than `key`. For a set, `value` is not written.
  template <class Team>
  [[nodiscard]] ESPALIER_HD bool lower_bound(Team team, Key key, Key& out_key, slot& value) const {
    return after(team, key_codec<Key>::encode(key), out_key, value);
  }
  /// Finds the first element with a greater key.
  template <class Team>
  [[nodiscard]] ESPALIER_HD bool successor(Team team, Key key, Key& out_key, slot& value) const {
    const word w = key_codec<Key>::encode(key);
    return static_cast<word>(w + 1) != 0 && after(team, static_cast<word>(w + 1), out_key, value);
  }
  /// Finds the last element with a smaller key.
  template <class Team>
  [[nodiscard]] ESPALIER_HD bool predecessor(Team team, Key key, Key& out_key, slot& value) const {
    const word w = key_codec<Key>::encode(key);
    typename ops<Team>::element e;
    if (w == 0 || !ops<Team>::at_or_before(team, view_, static_cast<word>(w - 1), e)) return false;
    deliver(e, out_key, value);
    return true;
  }
  /// Calls f(key, value), or f(key) for a set, for each element of [lo, hi] in key order until it returns false. Every
  /// lane calls f.
  template <class Team, class F>
  ESPALIER_HD void range(Team team, Key lo, Key hi, F f) const {
    ops<Team>::scan(team, view_, key_codec<Key>::encode(lo), key_codec<Key>::encode(hi),
                    [&](word w, const raw& v) -> bool {
                      if constexpr (is_set) {
                        return f(key_codec<Key>::decode(w));
                      } else {
                        return f(key_codec<Key>::decode(w), unpack(v));
                      }
                    });
  }

  /// The memory layout (node.hpp).
  [[nodiscard]] ESPALIER_HD const view& layout() const { return view_; }

 private:
  static ESPALIER_INLINE write_result result(blink_outcome outcome, write_result done, write_result unchanged) {
    return outcome == blink_outcome::done       ? done
           : outcome == blink_outcome::not_done ? unchanged
                                                : write_result::out_of_nodes;
  }
  template <class Team>
  ESPALIER_INLINE bool after(Team team, word w, Key& out_key, slot& value) const {
    typename ops<Team>::element e;
    if (!ops<Team>::at_or_after(team, view_, w, e)) return false;
    deliver(e, out_key, value);
    return true;
  }
  template <class Element>
  static ESPALIER_INLINE void deliver(const Element& e, Key& key, [[maybe_unused]] slot& value) {
    key = key_codec<Key>::decode(e.key);
    if constexpr (!is_set) value = unpack(e.v);
  }
  static ESPALIER_INLINE raw pack(const slot& value) {
    raw v{};
    if constexpr (!is_set) memcpy(static_cast<void*>(&v), &value, sizeof(slot));
    return v;
  }
  static ESPALIER_INLINE slot unpack(const raw& v) {
    slot value;
    memcpy(static_cast<void*>(&value), &v, sizeof(slot));
    return value;
  }

  view view_;
};

}  // namespace espalier
