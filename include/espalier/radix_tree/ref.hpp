// ref.hpp - device-side and thread-side access to the radix tree.
//
// A ref is trivially copyable and does not own the tree, which must outlive it and must not be written while the ref is
// in use. All its calls are made by one team; in a kernel the team is most often tile<1>: one GPU thread per query.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "espalier/index/elements.hpp"
#include "espalier/radix_tree/descend.hpp"

namespace espalier {

template <class Value = void>
class radix_tree_ref {
  static constexpr bool is_set = std::is_void_v<Value>;
  using slot = std::conditional_t<is_set, unsigned char, Value>;
  using view = radix_view<is_set ? 0 : detail::value_slot(sizeof(slot))>;
  template <class Team>
  using search = radix_searcher<team_for_t<Team>, view>;

 public:
  using value_type = Value;
  using view_type = view;
  struct ranks {
    std::uint64_t first, last;  ///< [first, last)
  };

  /// Constructs from radix_index::view(); user code calls radix_tree::ref().
  explicit radix_tree_ref(const void* untyped) : view_(*static_cast<const view*>(untyped)) {}

  [[nodiscard]] static ESPALIER_HD byte_key_view key(const void* bytes, std::uint32_t size) {
    return {static_cast<const std::uint8_t*>(bytes), size};
  }
  [[nodiscard]] static byte_key_view key(std::string_view s) {
    return key(s.data(), static_cast<std::uint32_t>(s.size()));
  }

  [[nodiscard]] ESPALIER_HD std::uint64_t size() const { return view_.size; }
  /// The memory layout (view.hpp).
  [[nodiscard]] ESPALIER_HD const view& layout() const { return view_; }

  /// Returns whether the key is present; if so, sets `value` to its value.
  template <class Team>
  [[nodiscard]] ESPALIER_HD bool find(Team team, const byte_key_view& k, slot& value) const requires(!is_set) {
    const radix_link l = search<Team>::find(team, view_, k);
    if (l.is_nothing()) return false;
    memcpy(static_cast<void*>(&value), view_.value_of(l), sizeof(slot));
    return true;
  }
  template <class Team>
  [[nodiscard]] ESPALIER_HD bool contains(Team team, const byte_key_view& k) const {
    return !search<Team>::find(team, view_, k).is_nothing();
  }
  /// Returns the number of keys less than this one.
  template <class Team>
  [[nodiscard]] ESPALIER_HD std::uint64_t rank(Team team, const byte_key_view& k) const {
    bool found;
    return search<Team>::rank(team, view_, k, found);
  }
  /// Returns the ranks of the keys that begin with this one.
  template <class Team>
  [[nodiscard]] ESPALIER_HD ranks prefix(Team team, const byte_key_view& k) const {
    const auto slice = search<Team>::prefix(team, view_, k);
    return {slice.first, slice.last};
  }
  /// Returns whether a key is a prefix of this one; if so, sets `length` to the length of the longest such key.
  template <class Team>
  [[nodiscard]] ESPALIER_HD bool longest_prefix(Team team, const byte_key_view& k, std::uint32_t& length) const {
    const radix_link l = search<Team>::longest_prefix(team, view_, k);
    if (l.is_nothing()) return false;
    length = view_.key_of(l).size;
    return true;
  }

  // ---- elements by rank < size() -----------------------------------------------------------------------------
  [[nodiscard]] ESPALIER_HD std::uint32_t key_size_at(std::uint64_t rank) const {
    return view_.key_of(view_.leaf_at(rank)).size;
  }
  /// Returns byte `i` of the key.
  [[nodiscard]] ESPALIER_HD std::uint8_t key_byte_at(std::uint64_t rank, std::uint32_t i) const {
    return static_cast<std::uint8_t>(symbol_at(view_.key_of(view_.leaf_at(rank)), i) - 1);
  }
  [[nodiscard]] ESPALIER_HD slot value_at(std::uint64_t rank) const requires(!is_set) {
    slot value;
    memcpy(static_cast<void*>(&value), view_.value_of(view_.leaf_at(rank)), sizeof(slot));
    return value;
  }

 private:
  view view_;
};

}  // namespace espalier
