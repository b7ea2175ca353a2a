// leaf_cache.hpp - which lines of the host's leaves have a copy in the device's memory, and where.
//
// Each line has one place where its copy may lie. A word per place says whose copy it is and which bucket used it last;
// it changes by compare-and-exchange alone, so whoever fails to change it does without the cache. Buckets have numbers;
// bucket b starts when bucket b - in_flight has ended, so that those up to b - in_flight are over, and the kernels of
// the others may run at any time.
//
// Invariants:
// (1) A place is given to another line by bucket b only if its last user is at or before b - patience: that one is
// over.
//     A use is in the word before the copy is looked at, so nobody looks at a copy that is replaced.
// (2) A copy that a bucket has put there (`fresh`) is used by a later one only if that bucket is over: it is whole.
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/core/config.hpp"
#include "espalier/sync/shared_memory.hpp"

namespace espalier::detail {

struct leaf_cache {
  static constexpr unsigned in_flight = 2;
  /// Lines that were used in one of so many buckets keep their place. Not tuned.
  static constexpr std::uint32_t patience = 32;
  static constexpr std::uint32_t last_bucket = 0x7fffffff;  ///< then all words are cleared
  static constexpr std::uint32_t no_place = 0xffffffff;
  static_assert(patience > in_flight);

  std::uint64_t* words = nullptr;  ///< line + 1, or 0 (32 bits); bucket (31 bits); fresh
  std::uint32_t places = 0;

  struct claim {
    std::uint32_t place = no_place;
    bool is_empty = false;  ///< the copy has to be made
  };

  /// For one line of bucket `now`; each line asks once.
  [[nodiscard]] ESPALIER_INLINE claim place_of(std::uint32_t line, std::uint32_t now) const {
    if (places == 0) return {};
    const std::uint32_t mixed = (line ^ line >> 15) * 0x9e3779b1u;
    const auto place = static_cast<std::uint32_t>(std::uint64_t{mixed} * places >> 32);
    const shared_word word{words + place};
    std::uint64_t seen = word.load_relaxed();
    const auto owner = static_cast<std::uint32_t>(seen);
    const std::uint32_t used = static_cast<std::uint32_t>(seen >> 32) & last_bucket;
    const bool fresh = seen >> 63 != 0;
    if (owner == line + 1) {
      if (fresh && used + in_flight > now) return {};
      const std::uint32_t latest = used > now ? used : now;
      if (!word.exchange(seen, std::uint64_t{latest} << 32 | owner)) return {};
      return {place, false};
    }
    if (owner != 0 && used + patience > now) return {};
    if (!word.exchange(seen, std::uint64_t{1} << 63 | std::uint64_t{now} << 32 | (line + 1))) return {};
    return {place, true};
  }
};

}  // namespace espalier::detail
