// radix_tree.hpp - an ordered map from byte strings, on CPU threads or a GPU, in nodes that adapt to how many children they
// have (an adaptive radix tree, flat in one buffer per kind of node).
//
// Keys are strings of any bytes and any length: empty ones, with zeros in them, one the beginning of another. They are ordered
// byte by byte, unsigned; byte_key.hpp turns numbers, dates and tuples into such keys. A batch of keys is given as strings in
// host memory, or as bytes and offsets (or keys of one length) in host or device memory. All calls are for batches; on a GPU
// they run in the order of a stream, the _async ones without waiting.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "espalier/core/scalar.hpp"
#include "espalier/radix_tree/index.hpp"
#include "espalier/static_tree/result.hpp"

namespace espalier {

/// A batch of keys that belong to somebody else.
class keys_of_bytes {
 public:
  /// Key i is bytes [offsets[i], offsets[i + 1]): one offset more than there are keys. Both in host memory, or both in the
  /// tree's device memory.
  keys_of_bytes(std::span<const char> bytes, std::span<const std::uint64_t> offsets) {
    if (offsets.empty()) throw error("keys_of_bytes: n keys have n + 1 offsets; give one at least.");
    keys_.batch = {reinterpret_cast<const std::uint8_t*>(bytes.data()), offsets.data(), 0};
    keys_.n = offsets.size() - 1;
    keys_.bytes = bytes.size();
  }
  /// Keys of `length` bytes each, one behind the other.
  keys_of_bytes(std::span<const char> bytes, std::size_t length) {
    if (length == 0 || bytes.size() % length != 0)
      throw error("keys_of_bytes: " + std::to_string(bytes.size()) + " bytes are no whole number of keys of " +
                  std::to_string(length) + ".");
    keys_.batch = {reinterpret_cast<const std::uint8_t*>(bytes.data()), nullptr, length};
    keys_.n = bytes.size() / length;
    keys_.bytes = bytes.size();
  }
  /// Strings in host memory; copied.
  template <class String>
    requires(std::is_convertible_v<const String&, std::string_view>)
  keys_of_bytes(std::span<const String> strings) : own_(std::make_shared<memory>()) {
    own_->offsets.reserve(strings.size() + 1);
    own_->offsets.push_back(0);
    for (const std::string_view s : strings) {
      own_->bytes.insert(own_->bytes.end(), s.begin(), s.end());
      own_->offsets.push_back(own_->bytes.size());
    }
    keys_.batch = {reinterpret_cast<const std::uint8_t*>(own_->bytes.data()), own_->offsets.data(), 0};
    keys_.n = strings.size();
    keys_.bytes = own_->bytes.size();
  }
  template <class String>
    requires(std::is_convertible_v<const String&, std::string_view>)
  keys_of_bytes(const std::vector<String>& strings) : keys_of_bytes(std::span<const String>(strings)) {}

  [[nodiscard]] std::size_t size() const { return keys_.n; }
  [[nodiscard]] const detail::byte_keys& raw() const { return keys_; }

 private:
  struct memory {
    std::vector<char> bytes;
    std::vector<std::uint64_t> offsets;
  };
  detail::byte_keys keys_;
  std::shared_ptr<memory> own_;
};

/// Value: any trivially copyable type of at most 16 bytes; void makes it a set.
template <class Value = void>
class radix_tree {
  static constexpr bool is_set = std::is_void_v<Value>;
  using slot = std::conditional_t<is_set, unsigned char, Value>;
  static_assert(std::is_trivially_copyable_v<slot> && sizeof(slot) <= 16);
  using keys_in = const keys_of_bytes&;
  template <class T>
  using in = std::span<const T>;
  template <class T>
  using out = std::span<T>;
  using mask_out = std::span<std::uint8_t>;

 public:
  using value_type = Value;

  /// From keys in any order; of equal ones the last counts.
  [[nodiscard]] static radix_tree build(keys_in keys, in<slot> values, const radix_options& options = {},
                                        const device& where = device::best(), const stream& s = {})
    requires(!is_set)
  {
    detail::require_equal("build", keys.size(), values.size());
    return radix_tree(detail::build_radix_index(where, elements(), keys.raw(), values.data(), options, where.resolve(s)));
  }
  [[nodiscard]] static radix_tree build(keys_in keys, const radix_options& options = {},
                                        const device& where = device::best(), const stream& s = {})
    requires(is_set)
  {
    return radix_tree(detail::build_radix_index(where, elements(), keys.raw(), nullptr, options, where.resolve(s)));
  }

  // ---- points: found is 0 where the key is not there, and its value then has zero bytes ----------------------
  void find(keys_in keys, out<slot> values, mask_out found = {}, const stream& s = {}) const requires(!is_set) {
    find_on(keys, values, found, wait(s));
  }
  void find_async(keys_in keys, out<slot> values, mask_out found, const stream& s) const requires(!is_set) {
    find_on(keys, values, found, enqueue(s));
  }
  void contains(keys_in keys, mask_out found, const stream& s = {}) const { find_on(keys, {}, found, wait(s)); }
  void contains_async(keys_in keys, mask_out found, const stream& s) const { find_on(keys, {}, found, enqueue(s)); }

  // ---- ranks: how many keys are before it --------------------------------------------------------------------
  void lower_bound(keys_in keys, out<std::uint64_t> ranks, const stream& s = {}) const {
    rank_on(detail::radix_question::lower_bound, keys, ranks, wait(s));
  }
  void upper_bound(keys_in keys, out<std::uint64_t> ranks, const stream& s = {}) const {
    rank_on(detail::radix_question::upper_bound, keys, ranks, wait(s));
  }
  /// Keys of each range.
  void count(keys_in lo, keys_in hi, out<std::uint64_t> counts, interval ends = interval::closed,
             const stream& s = {}) const {
    detail::require_equal("count", lo.size(), hi.size());
    detail::require_equal("count", lo.size(), counts.size());
    index_->count(lo.raw(), hi.raw(), ends, counts.data(), wait(s));
  }
  /// Keys that begin with each of these.
  void count_prefix(keys_in prefixes, out<std::uint64_t> counts, const stream& s = {}) const {
    detail::require_equal("count_prefix", prefixes.size(), counts.size());
    index_->count_prefix(prefixes.raw(), counts.data(), wait(s));
  }
  /// The longest key of the tree that each of these begins with: its length and value.
  void longest_prefix(keys_in keys, out<std::uint32_t> lengths, out<slot> values, mask_out found, const stream& s = {}) const {
    detail::require_optional("longest_prefix lengths", keys.size(), lengths.size());
    detail::require_optional("longest_prefix values", keys.size(), values.size());
    detail::require_optional("longest_prefix mask", keys.size(), found.size());
    index_->longest_prefix(keys.raw(), lengths.data(), is_set ? nullptr : values.data(), found.data(), wait(s));
  }

  [[nodiscard]] std::size_t size() const { return index_->stats().size; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  [[nodiscard]] const device& where() const { return index_->where(); }
  [[nodiscard]] radix_stats stats() const { return index_->stats(); }
  /// Checks order, branches, kinds, ranks, the table, and that nothing is lost.
  [[nodiscard]] validation validate() const { return index_->validate(); }

 private:
  explicit radix_tree(std::unique_ptr<detail::radix_index> index) : index_(std::move(index)) {}
  static constexpr detail::element_type elements() {
    if constexpr (is_set) {
      return {scalar_kind::opaque, scalar_kind::opaque, 0};
    } else {
      return {scalar_kind::opaque, scalar_kind_of<Value>, sizeof(slot)};
    }
  }
  [[nodiscard]] detail::execution wait(const stream& s) const { return {where().resolve(s), true}; }
  [[nodiscard]] detail::execution enqueue(const stream& s) const { return {where().resolve(s), false}; }
  void find_on(keys_in keys, out<slot> values, mask_out found, const detail::execution& ex) const {
    detail::require_optional("find values", keys.size(), values.size());
    detail::require_optional("find mask", keys.size(), found.size());
    index_->find(keys.raw(), values.data(), found.data(), ex);
  }
  void rank_on(detail::radix_question what, keys_in keys, out<std::uint64_t> ranks, const detail::execution& ex) const {
    detail::require_equal("ranks", keys.size(), ranks.size());
    index_->rank(what, keys.raw(), ranks.data(), ex);
  }

  std::unique_ptr<detail::radix_index> index_;
};

}  // namespace espalier
