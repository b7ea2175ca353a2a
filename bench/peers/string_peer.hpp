// string_peer.hpp - a peer of the radix tree: another map of byte strings to u64, filled with the same data and queried
// in the same batches.
#pragma once

#include <cstdint>

#include "espalier/radix_tree/index.hpp"

namespace espalier::bench {

class string_peer {
 public:
  virtual ~string_peer() = default;
  /// Pointers are accessible as for the tree it is compared with. On a GPU the work is enqueued.
  virtual void find(const espalier::detail::byte_keys& keys, std::uint64_t* values, std::uint8_t* found,
                    const stream& order) = 0;
  /// Returns whether the last value of equal keys in a batch remains; otherwise it may be any of them.
  [[nodiscard]] virtual bool last_wins() const { return false; }
  /// Returns whether it supports updates of that many keys at once.
  [[nodiscard]] virtual bool takes(std::uint64_t elements) const {
    (void)elements;
    return true;
  }
  virtual void update(const espalier::detail::byte_keys& keys, const std::uint64_t* values, std::uint8_t* done,
                      const stream& order) = 0;
};

}  // namespace espalier::bench
