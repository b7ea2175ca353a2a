// ref.hpp - the radix tree inside a user's kernel or a user's thread.
//
// A ref is trivially copyable and borrows from its owner, which must outlive it and must not be written meanwhile. All
// its calls are for one team; in a kernel that is most often tile<1>: one GPU thread per question.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

#include "espalier/radix_tree/descend.hpp"
#include "espalier/static_tree/index.hpp"  // value_slot

namespace espalier {

template <class Value = void>
class radix_tree_ref {
  static constexpr bool is_set = std::is_void_v<Value>;
  using slot = std::conditional_t<is_set, unsigned char, Value>;
  using view = radix_view<is_set ? 0 : detail::value_slot(sizeof(slot))>;
  template <class Team>
  using search = radix_searcher<Team, view>;

 public:
  using value_type = Value;
  using view_type = view;
  struct ranks {
    std::uint64_t first, last;  ///< [first, last)
  };

  /// From radix_index::view(); use radix_tree::ref().
  explicit radix_tree_ref(const void* untyped) : view_(*static_cast<const view*>(untyped)) {}

  [[nodiscard]] static ESPALIER_HD byte_key_view key(const void* bytes, std::uint32_t size) {
    return {static_cast<const std::uint8_t*>(bytes), size};
  }
  [[nodiscard]] static byte_key_view key(std::string_view s) {
    return key(s.data(), static_cast<std::uint32_t>(s.size()));
  }

  [[nodiscard]] ESPALIER_HD std::uint64_t size() const { return view_.size; }
  /// The memory itself (view.hpp).
  [[nodiscard]] ESPALIER_HD const view& layout() const { return view_; }

  /// Is the key there? If so, `value` is its value.
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
  /// How many keys are less than this one.
  template <class Team>
  [[nodiscard]] ESPALIER_HD std::uint64_t lower_bound(Team team, const byte_key_view& k) const {
    bool found;
    return search<Team>::rank(team, view_, k, found);
  }
  /// The keys that begin with this one.
  template <class Team>
  [[nodiscard]] ESPALIER_HD ranks prefix(Team team, const byte_key_view& k) const {
    const auto slice = search<Team>::prefix(team, view_, k);
    return {slice.first, slice.last};
  }
  /// Is there a key that this one begins with? If so, `length` is that of the longest one.
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
  /// Byte `i` of the key.
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
