// radix_tree.hpp - an ordered map from byte strings, on CPU threads or a GPU, in nodes that adapt to how many children
// they have (an adaptive radix tree, flat in one buffer per kind of node).
//
// Keys are strings of any bytes and any length: empty ones, with zeros in them, one the beginning of another. They are
// ordered byte by byte, unsigned; byte_key.hpp turns numbers, dates and tuples into such keys. A batch of keys is given
// as strings in host memory, or as bytes and offsets (or keys of one length) in host or device memory. All calls are
// for batches; on a GPU they run in the order of a stream, the _async ones without waiting.
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
#include "espalier/radix_tree/ref.hpp"
#include "espalier/static_tree/result.hpp"

namespace espalier {

/// A batch of keys that belong to somebody else.
class keys_of_bytes {
 public:
  /// Key i is bytes [offsets[i], offsets[i + 1]): one offset more than there are keys. They ascend: builds and writes
  /// check that, and on a CPU questions, too. Both in host memory, or both in the tree's device memory.
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
  requires(std::is_convertible_v<const String&, std::string_view>) keys_of_bytes(std::span<const String> strings)
      : own_(std::make_shared<memory>()) {
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
  requires(std::is_convertible_v<const String&, std::string_view>) keys_of_bytes(const std::vector<String>& strings)
      : keys_of_bytes(std::span<const String>(strings)) {}

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

/// Answers with keys: query i owns elements [offsets[i], offsets[i + 1]), in key order; element e has the bytes
/// [key_offsets[e], key_offsets[e + 1]) of key_bytes. All of it is on the tree's device.
template <class Value>
struct byte_range_result {
  using value_element = std::conditional_t<std::is_void_v<Value>, unsigned char, Value>;
  buffer<std::uint64_t> offsets;
  buffer<std::uint64_t> key_offsets;
  buffer<char> key_bytes;
  buffer<value_element> values;  ///< empty for a set

  explicit byte_range_result(detail::byte_range_buffers&& raw)
      : offsets(std::move(raw.offsets)),
        key_offsets(std::move(raw.key_offsets)),
        key_bytes(std::move(raw.key_bytes), raw.total_bytes),
        values(std::move(raw.values), raw.total) {}
  /// All keys, as strings in host memory.
  [[nodiscard]] std::vector<std::string> keys() const {
    const auto at = key_offsets.to_vector();
    const auto bytes = key_bytes.to_vector();
    std::vector<std::string> strings;
    for (std::size_t e = 0; e + 1 < at.size(); ++e)
      strings.emplace_back(bytes.data() + at[e], static_cast<std::size_t>(at[e + 1] - at[e]));
    return strings;
  }
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
                                        const device& where = device::best(), const stream& s = {}) requires(!is_set) {
    detail::require_equal("build", keys.size(), values.size());
    return radix_tree(
        detail::build_radix_index(where, elements(), keys.raw(), values.data(), options, where.resolve(s)));
  }
  [[nodiscard]] static radix_tree build(keys_in keys, const radix_options& options = {},
                                        const device& where = device::best(), const stream& s = {}) requires(is_set) {
    return radix_tree(detail::build_radix_index(where, elements(), keys.raw(), nullptr, options, where.resolve(s)));
  }

  // ---- points: found is 0 where the key is not there, and its value then has zero bytes ----------------------
  // On a GPU the _async ones do wait for the CPU's part, if radix_options::long_keys gives it one.
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
    rank_on(detail::radix_bound::lower, keys, ranks, wait(s));
  }
  void upper_bound(keys_in keys, out<std::uint64_t> ranks, const stream& s = {}) const {
    rank_on(detail::radix_bound::upper, keys, ranks, wait(s));
  }
  /// Keys of each range.
  void count(keys_in lo, keys_in hi, out<std::uint64_t> counts, const range_options& options = {},
             const stream& s = {}) const {
    detail::require_equal("count", lo.size(), hi.size());
    detail::require_equal("count", lo.size(), counts.size());
    index_->count(detail::radix_slice::range, lo.raw(), hi.raw(), options, counts.data(), wait(s));
  }
  /// Keys that begin with each of these.
  void count_prefix(keys_in prefixes, out<std::uint64_t> counts, const range_options& options = {},
                    const stream& s = {}) const {
    detail::require_equal("count_prefix", prefixes.size(), counts.size());
    index_->count(detail::radix_slice::prefix, prefixes.raw(), prefixes.raw(), options, counts.data(), wait(s));
  }

  // ---- elements, keys and values: exact and compact ----------------------------------------------------------
  [[nodiscard]] byte_range_result<Value> range(keys_in lo, keys_in hi, const range_options& options = {},
                                               const stream& s = {}) const {
    detail::require_equal("range", lo.size(), hi.size());
    return list(detail::radix_slice::range, lo, hi, options, s);
  }
  /// All elements whose keys begin with each of these.
  [[nodiscard]] byte_range_result<Value> prefix(keys_in prefixes, const range_options& options = {},
                                                const stream& s = {}) const {
    return list(detail::radix_slice::prefix, prefixes, prefixes, options, s);
  }
  /// The first element not less than, the first greater than, the last less than each key; none where there is none.
  [[nodiscard]] byte_range_result<Value> at_or_after(keys_in keys, const stream& s = {}) const {
    return list(detail::radix_slice::at_or_after, keys, keys, {}, s);
  }
  [[nodiscard]] byte_range_result<Value> successor(keys_in keys, const stream& s = {}) const {
    return list(detail::radix_slice::successor, keys, keys, {}, s);
  }
  [[nodiscard]] byte_range_result<Value> predecessor(keys_in keys, const stream& s = {}) const {
    return list(detail::radix_slice::predecessor, keys, keys, {}, s);
  }

  /// The longest key of the tree that each of these begins with: its length and value.
  void longest_prefix(keys_in keys, out<std::uint32_t> lengths, out<slot> values, mask_out found,
                      const stream& s = {}) const {
    detail::require_optional("longest_prefix lengths", keys.size(), lengths.size());
    detail::require_optional("longest_prefix values", keys.size(), values.size());
    detail::require_optional("longest_prefix mask", keys.size(), found.size());
    index_->longest_prefix(keys.raw(), lengths.data(), is_set ? nullptr : values.data(), found.data(), wait(s));
  }

  // ---- writes ------------------------------------------------------------------------------------------------
  // done (may be empty): 1 where insert and insert_or_assign brought a new key, and where update and erase found it; of
  // equal keys of a batch the first one does that, but every update finds its key. Of equal keys that are inserted the
  // first one's value stays, of those that are assigned or updated the last one's. A call that throws has changed
  // nothing.

  void insert(keys_in keys, in<slot> values, mask_out done = {}, radix_path path = radix_path::automatic,
              const stream& s = {}) requires(!is_set) {
    write_on(detail::radix_write::insert, keys, values, done, path, s);
  }
  void insert(keys_in keys, mask_out done = {}, radix_path path = radix_path::automatic,
              const stream& s = {}) requires(is_set) {
    write_on(detail::radix_write::insert, keys, {}, done, path, s);
  }
  void insert_or_assign(keys_in keys, in<slot> values, mask_out done = {}, radix_path path = radix_path::automatic,
                        const stream& s = {}) requires(!is_set) {
    write_on(detail::radix_write::insert_or_assign, keys, values, done, path, s);
  }
  void update(keys_in keys, in<slot> values, mask_out done = {}, const stream& s = {}) requires(!is_set) {
    write_on(detail::radix_write::update, keys, values, done, radix_path::automatic, s);
  }
  void erase(keys_in keys, mask_out done = {}, radix_path path = radix_path::automatic, const stream& s = {}) {
    write_on(detail::radix_write::erase, keys, {}, done, path, s);
  }

  /// For use inside a kernel or CPU threads, until the next write.
  [[nodiscard]] radix_tree_ref<Value> ref() const { return radix_tree_ref<Value>(index_->view()); }

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
  [[nodiscard]] byte_range_result<Value> list(detail::radix_slice what, keys_in lo, keys_in hi,
                                              const range_options& options, const stream& s) const {
    return byte_range_result<Value>(index_->list(what, lo.raw(), hi.raw(), options, where().resolve(s)));
  }
  void write_on(detail::radix_write op, keys_in keys, in<slot> values, mask_out done, radix_path path,
                const stream& s) {
    if (!is_set && op != detail::radix_write::erase) detail::require_equal("write", keys.size(), values.size());
    detail::require_optional("write mask", keys.size(), done.size());
    index_->write(op, keys.raw(), values.data(), done.data(), path, where().resolve(s));
  }
  void rank_on(detail::radix_bound what, keys_in keys, out<std::uint64_t> ranks, const detail::execution& ex) const {
    detail::require_equal("ranks", keys.size(), ranks.size());
    index_->rank(what, keys.raw(), ranks.data(), ex);
  }

  std::unique_ptr<detail::radix_index> index_;
};

}  // namespace espalier
