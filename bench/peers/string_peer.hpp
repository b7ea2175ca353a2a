// string_peer.hpp - what the radix tree is measured against: another map of byte strings to u64, filled with the same
// data, asked in the same batches.
#pragma once

#include <cstdint>

#include "espalier/radix_tree/index.hpp"

namespace espalier::bench {

class string_peer {
 public:
  virtual ~string_peer() = default;
  /// Pointers are as of the tree that it stands beside. On a GPU the work is enqueued.
  virtual void find(const espalier::detail::byte_keys& keys, std::uint64_t* values, std::uint8_t* found,
                    const stream& order) = 0;
  /// Whether of equal keys of a batch the last one's value stays; else any may.
  [[nodiscard]] virtual bool last_wins() const { return false; }
  /// Whether it can update so many keys at once.
  [[nodiscard]] virtual bool takes(std::uint64_t elements) const {
    (void)elements;
    return true;
  }
  virtual void update(const espalier::detail::byte_keys& keys, const std::uint64_t* values, std::uint8_t* done,
                      const stream& order) = 0;
};

}  // namespace espalier::bench
