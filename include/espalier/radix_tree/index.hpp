// index.hpp - the radix tree without types: what the typed owner (radix_tree.hpp) calls. One is compiled per value slot (0, 4,
// 8, 16 bytes) and device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "espalier/radix_tree/key.hpp"
#include "espalier/radix_tree/options.hpp"
#include "espalier/static_tree/index.hpp"  // element_type, execution

namespace espalier::detail {

/// n keys, in host or device memory.
struct byte_keys {
  byte_batch batch;
  std::size_t n = 0;
  std::size_t bytes = 0;  ///< of all keys, if there are no offsets
};

enum class radix_question : std::uint8_t { lower_bound, upper_bound, prefix_begin, prefix_end };

/// Pointers may be host or device memory; null outputs are skipped.
class radix_index {
 public:
  virtual ~radix_index() = default;

  [[nodiscard]] virtual const device& where() const = 0;
  [[nodiscard]] virtual element_type elements() const = 0;
  [[nodiscard]] virtual radix_stats stats() const = 0;
  [[nodiscard]] virtual validation validate() const = 0;
  /// Address of the trivially copyable radix_view<ValueSlot> that refs are made from.
  [[nodiscard]] virtual const void* view() const = 0;

  virtual void find(const byte_keys& keys, void* values, std::uint8_t* found, const execution& ex) const = 0;
  /// How many keys are before each of these.
  virtual void rank(radix_question what, const byte_keys& keys, std::uint64_t* ranks, const execution& ex) const = 0;
  /// counts[i]: keys of the i-th range.
  virtual void count(const byte_keys& lo, const byte_keys& hi, interval ends, std::uint64_t* counts,
                     const execution& ex) const = 0;
  /// counts[i]: keys that begin with the i-th one.
  virtual void count_prefix(const byte_keys& prefixes, std::uint64_t* counts, const execution& ex) const = 0;
  /// lengths[i]: of the longest key that the i-th one begins with; found[i] = 0: there is none.
  virtual void longest_prefix(const byte_keys& keys, std::uint32_t* lengths, void* values, std::uint8_t* found,
                              const execution& ex) const = 0;
};

/// Keys in any order; of equal ones the last counts. Strong guarantee.
[[nodiscard]] std::unique_ptr<radix_index> build_radix_index(const device& where, element_type elements,
                                                             const byte_keys& keys, const void* values,
                                                             const radix_options& options, const stream& order);

}  // namespace espalier::detail
