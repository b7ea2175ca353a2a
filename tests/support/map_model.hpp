// map_model.hpp - the expected content of a dynamic tree: a std::map with the oracle's order of keys, one operation at
// a time.
//
// It does not use the library's key codec. Ranges and aggregates are checked by an `oracle` of the content.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <type_traits>
#include <utility>

#include "espalier/blink_tree/options.hpp"
#include "support/array.hpp"
#include "support/families.hpp"
#include "support/oracle.hpp"

namespace espalier::test {

/// Returns the least and the greatest key in this order; NaN is above all other keys.
template <class Key>
[[nodiscard]] Key lowest_key() {
  if constexpr (std::is_floating_point_v<Key>) {
    return -std::numeric_limits<Key>::infinity();
  } else {
    return from_word<Key>(0);
  }
}
template <class Key>
[[nodiscard]] Key highest_key() {
  if constexpr (std::is_floating_point_v<Key>) {
    return std::numeric_limits<Key>::quiet_NaN();
  } else {
    return from_word<Key>(largest_word<Key>());
  }
}

template <class Key, class Value>
class map_model {
 public:
  static constexpr bool is_set = std::is_void_v<Value>;
  using slot = std::conditional_t<is_set, unsigned char, Value>;
  struct in_order {
    [[nodiscard]] bool operator()(const Key& a, const Key& b) const { return precedes(a, b); }
  };
  using map = std::map<Key, slot, in_order>;

  map_model() = default;
  /// The last of several equal keys wins. `values` are empty for a set.
  map_model(const array<Key>& keys, const array<slot>& values) {
    for (std::size_t i = 0; i < keys.size(); ++i) map_.insert_or_assign(keys[i], is_set ? slot{} : values[i]);
  }

  /// Returns the expected `done`. A find writes the value to `out`, or zero bytes if there is none.
  bool apply(blink_op op, Key key, const slot& value, slot& out) {
    const auto at = map_.find(key);
    const bool there = at != map_.end();
    switch (op) {
      case blink_op::find:
        out = there ? at->second : zero_bytes<slot>();
        return there;
      case blink_op::insert:
        if (!there) map_.emplace(key, value);
        return !there;
      case blink_op::insert_or_assign:
        map_.insert_or_assign(key, value);
        return !there;
      case blink_op::update:
        if (there) at->second = value;
        return there;
      case blink_op::erase:
        if (there) map_.erase(at);
        return there;
    }
    return false;
  }
  bool apply(blink_op op, Key key, const slot& value = {}) {
    slot unused{};
    return apply(op, key, value, unused);
  }

  [[nodiscard]] const map& elements() const { return map_; }
  [[nodiscard]] map& elements() { return map_; }
  [[nodiscard]] std::size_t size() const { return map_.size(); }
  [[nodiscard]] bool contains(Key key) const { return map_.find(key) != map_.end(); }
  void clear() { map_.clear(); }

  [[nodiscard]] array<Key> keys() const {
    array<Key> all(map_.size());
    std::size_t i = 0;
    for (const auto& element : map_) all[i++] = element.first;
    return all;
  }
  /// Returns an empty array for a set.
  [[nodiscard]] array<slot> values() const {
    array<slot> all(is_set ? 0 : map_.size());
    if constexpr (!is_set) {
      std::size_t i = 0;
      for (const auto& element : map_) all[i++] = element.second;
    }
    return all;
  }
  [[nodiscard]] oracle<Key, Value> expected() const { return oracle<Key, Value>(keys(), values()); }

 private:
  map map_;
};

[[nodiscard]] inline blink_op op_of(write_op op) {
  switch (op) {
    case write_op::insert:
      return blink_op::insert;
    case write_op::insert_or_assign:
      return blink_op::insert_or_assign;
    case write_op::update:
      return blink_op::update;
    case write_op::erase:
      return blink_op::erase;
  }
  return blink_op::find;
}

}  // namespace espalier::test
