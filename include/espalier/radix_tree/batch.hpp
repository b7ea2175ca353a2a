// batch.hpp - batches of keys as input of a radix tree, and keys in its results.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "espalier/core/error.hpp"
#include "espalier/radix_tree/index.hpp"

namespace espalier {

/// A non-owning batch of keys.
class byte_string_batch {
 public:
  /// Key i is bytes [offsets[i], offsets[i + 1]); there is one offset more than there are keys. Offsets must not
  /// descend: builds and writes check that, and on a CPU queries check it too. Both spans are in host memory, or both
  /// in the memory of the tree's device.
  byte_string_batch(std::span<const char> bytes, std::span<const std::uint64_t> offsets) {
    if (offsets.empty()) throw error("keys_of_bytes: n keys have n + 1 offsets; give one at least.");
    keys_.batch = {reinterpret_cast<const std::uint8_t*>(bytes.data()), offsets.data(), 0};
    keys_.n = offsets.size() - 1;
    keys_.bytes = bytes.size();
  }
  /// Contiguous keys of `length` bytes each.
  byte_string_batch(std::span<const char> bytes, std::size_t length) {
    if (length == 0 || bytes.size() % length != 0)
      throw error("keys_of_bytes: " + std::to_string(bytes.size()) + " bytes are no whole number of keys of " +
                  std::to_string(length) + ".");
    keys_.batch = {reinterpret_cast<const std::uint8_t*>(bytes.data()), nullptr, length};
    keys_.n = bytes.size() / length;
    keys_.bytes = bytes.size();
  }
  /// Strings in host memory. They are copied and need not outlive the call, not even an _async call.
  template <class String>
  requires(std::is_convertible_v<const String&, std::string_view>) byte_string_batch(std::span<const String> strings)
      : byte_string_batch(copied(strings)) {}
  template <class String>
  requires(std::is_convertible_v<const String&, std::string_view>) byte_string_batch(const std::vector<String>& strings)
      : byte_string_batch(std::span<const String>(strings)) {}

  /// {"a", "bc"}
  byte_string_batch(std::initializer_list<std::string_view> strings)
      : byte_string_batch(std::span<const std::string_view>(strings.begin(), strings.size())) {}

  /// Keys that own their memory, which copies of the batch share.
  struct memory {
    std::string bytes;
    std::vector<std::uint64_t> offsets{0};
    std::size_t length = 0;  ///< if not 0, the length of every key; offsets are then ignored
    void add(std::string_view key) {
      bytes += key;
      offsets.push_back(bytes.size());
    }
  };
  explicit byte_string_batch(memory&& own) {
    const auto hold = std::make_shared<const memory>(std::move(own));
    *this = hold->length != 0 ? byte_string_batch(hold->bytes, hold->length)
                              : byte_string_batch(hold->bytes, hold->offsets);
    keys_.copy = hold;
  }

  [[nodiscard]] std::size_t size() const { return keys_.n; }
  [[nodiscard]] const detail::byte_keys& raw() const { return keys_; }

 private:
  template <class String>
  static memory copied(std::span<const String> strings) {
    memory own;
    own.offsets.reserve(strings.size() + 1);
    for (const std::string_view s : strings) own.add(s);
    return own;
  }
  detail::byte_keys keys_;
};

/// Result with keys: query i owns elements [offsets[i], offsets[i + 1]), in key order; element e has the bytes
/// [key_offsets[e], key_offsets[e + 1]) of key_bytes. All buffers are on the tree's device.
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
  /// Returns all keys as strings in host memory.
  [[nodiscard]] std::vector<std::string> keys() const {
    const auto at = key_offsets.to_vector();
    const auto bytes = key_bytes.to_vector();
    std::vector<std::string> strings;
    for (std::size_t e = 0; e + 1 < at.size(); ++e)
      strings.emplace_back(bytes.data() + at[e], static_cast<std::size_t>(at[e + 1] - at[e]));
    return strings;
  }
};

}  // namespace espalier
