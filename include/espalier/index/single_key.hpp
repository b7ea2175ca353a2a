// single_key.hpp - calls for one key, as a std::map has them, over the bulk calls of an owner.
//
// Each call is a batch of one element on the default stream. On a GPU it costs a launch and a copy in each direction,
// so loops over many keys should use the bulk calls, and kernels a ref.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>

namespace espalier {

/// A key, not a batch. Its type is deduced, so that a braced list is always a batch.
template <class K, class Key>
concept OneKey = std::convertible_to<const K&, Key>;

/// Base of owners that answer point queries. `Batch` is the type of the owner's batches of keys.
template <class Tree, class Key, class Value, class Batch = std::span<const Key>>
class single_key_reads {
 protected:
  static constexpr bool has_values = !std::is_void_v<Value>;
  using element_value = std::conditional_t<has_values, Value, unsigned char>;

  /// call(owner, batch, mask) with a batch of this key; returns whether the mask was set.
  template <class Owner, class K, class Call>
  static bool with_one(Owner& owner, const K& key, Call call) {
    const Key one = static_cast<Key>(key);
    std::uint8_t mask = 0;
    call(owner, Batch(std::span<const Key>(&one, 1)), std::span(&mask, 1));
    return mask != 0;
  }
  [[nodiscard]] const Tree& owner() const { return static_cast<const Tree&>(*this); }
  [[nodiscard]] Tree& owner() { return static_cast<Tree&>(*this); }

 public:
  /// The value of the first element with this key, or nothing.
  template <OneKey<Key> K>
  [[nodiscard]] std::optional<element_value> find(const K& key) const requires(has_values) {
    element_value value{};
    const bool found = with_one(owner(), key, [&](const Tree& tree, const Batch& keys, std::span<std::uint8_t> mask) {
      tree.find(keys, std::span(&value, 1), mask);
    });
    return found ? std::optional<element_value>(value) : std::nullopt;
  }
  template <OneKey<Key> K>
  [[nodiscard]] bool contains(const K& key) const {
    return with_one(owner(), key, [](const Tree& tree, const Batch& keys, std::span<std::uint8_t> mask) {
      tree.contains(keys, mask);
    });
  }
};

/// Base of owners whose elements change.
template <class Tree, class Key, class Value, class Batch = std::span<const Key>>
class single_key_writes : public single_key_reads<Tree, Key, Value, Batch> {
 protected:
  using reads = single_key_reads<Tree, Key, Value, Batch>;
  using typename reads::element_value;
  using mask_span = std::span<std::uint8_t>;

 public:
  /// Inserts (key, value) or assigns the value of an existing key. Returns true if the key is new.
  template <OneKey<Key> K>
  bool insert_or_assign(const K& key, const element_value& value) requires(reads::has_values) {
    return reads::with_one(this->owner(), key, [&](Tree& tree, const Batch& keys, mask_span done) {
      tree.insert_or_assign(keys, std::span(&value, 1), done);
    });
  }
  /// Inserts a key into a set. Returns true if the key is new.
  template <OneKey<Key> K>
  bool insert(const K& key) requires(!reads::has_values) {
    return reads::with_one(this->owner(), key,
                           [](Tree& tree, const Batch& keys, mask_span done) { tree.insert(keys, done); });
  }
  /// Removes a key. Returns true if it existed.
  template <OneKey<Key> K>
  bool erase(const K& key) {
    return reads::with_one(this->owner(), key,
                           [](Tree& tree, const Batch& keys, mask_span done) { tree.erase(keys, done); });
  }
};

/// Base of owners that also insert without assigning and assign without inserting.
template <class Tree, class Key, class Value, class Batch = std::span<const Key>>
class single_key_map_writes : public single_key_writes<Tree, Key, Value, Batch> {
  using writes = single_key_writes<Tree, Key, Value, Batch>;
  using typename writes::element_value;
  using typename writes::mask_span;

 public:
  using writes::insert;
  /// Inserts (key, value) if the key does not exist. Returns true if it was inserted.
  template <OneKey<Key> K>
  bool insert(const K& key, const element_value& value) requires(writes::has_values) {
    return writes::with_one(this->owner(), key, [&](Tree& tree, const Batch& keys, mask_span done) {
      tree.insert(keys, std::span(&value, 1), done);
    });
  }
  /// Assigns the value of an existing key. Returns true if the key exists.
  template <OneKey<Key> K>
  bool update(const K& key, const element_value& value) requires(writes::has_values) {
    return writes::with_one(this->owner(), key, [&](Tree& tree, const Batch& keys, mask_span done) {
      tree.update(keys, std::span(&value, 1), done);
    });
  }
};

}  // namespace espalier
