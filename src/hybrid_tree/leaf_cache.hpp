// leaf_cache.hpp - which lines of the host's leaves have a copy in the device's memory, and where.
//
// Each line has one place where its copy may lie. A word per place says whose
// copy it is and which bucket used it last; it changes by compare-and-exchange alone, so whoever fails to change it
// does without the cache. Buckets have numbers, and one asks for places and makes copies after those before it have
// made theirs; up to device_leaves::slots of them look at copies at any time.
//
// Invariants:
// (1) A place is given to another line by bucket b only if its last user is at or before b - patience: that one is
//     over, so nobody looks at a copy that is replaced.
// (2) A copy that is there was made by an earlier bucket, or by an earlier part of this one: it is whole.
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/core/config.hpp"
#include "espalier/sync/concurrent_access.hpp"

namespace espalier::detail {

struct leaf_cache {
  /// Lines that were used in one of so many buckets keep their place. Not tuned.
  static constexpr std::uint32_t min_idle_buckets = 32;
  static constexpr std::uint32_t last_bucket = 0x7fffffff;  ///< then all words are cleared
  static constexpr std::uint32_t no_place = 0xffffffff;

  std::uint64_t* words = nullptr;  ///< line + 1, or 0 (32 bits); bucket (31 bits)
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
    const atomic_word_ref word{words + place};
    std::uint64_t seen = word.load_relaxed();
    const auto owner = static_cast<std::uint32_t>(seen);
    const auto used = static_cast<std::uint32_t>(seen >> 32);
    if (owner != line + 1 && owner != 0 && used + min_idle_buckets > now) return {};
    if (!word.exchange(seen, std::uint64_t{now} << 32 | (line + 1))) return {};
    return {place, owner != line + 1};
  }
  /// In what place_or gives: the copy has to be made.
  static constexpr std::uint32_t to_fetch = 0x80000000u;
  /// The line's place, or if others have that, `staged`.
  [[nodiscard]] ESPALIER_INLINE std::uint32_t place_or(std::uint32_t staged, std::uint32_t line,
                                                       std::uint32_t now) const {
    const claim c = place_of(line, now);
    return c.place == no_place ? staged | to_fetch : c.is_empty ? c.place | to_fetch : c.place;
  }
};

}  // namespace espalier::detail
