// leaf_cache.hpp - a cache of the host's lines in the device's memory.
//
// The cache is direct-mapped: each line has one place where its copy may be. A word per place holds the line and the
// last bucket that used it; it changes only by compare-and-swap, and a thread whose swap fails does without the cache.
// Buckets are numbered; a bucket requests places and makes copies after the previous buckets have made theirs; up to
// device_leaves::slots buckets read copies concurrently.
//
// Invariants:
// (1) Bucket b assigns a place to another line only if its last user is at or before b - min_idle_buckets: that bucket
//     is finished, so a copy that is replaced is not being read.
// (2) An existing copy was made by an earlier bucket, or by an earlier part of this one: it is complete.
#pragma once

#include <cstddef>
#include <cstdint>

#include "espalier/core/config.hpp"
#include "espalier/sync/concurrent_access.hpp"

namespace espalier::detail {

struct leaf_cache {
  /// Lines that were used in one of the last min_idle_buckets buckets keep their place. Not tuned.
  static constexpr std::uint32_t min_idle_buckets = 32;
  static constexpr std::uint32_t last_bucket = 0x7fffffff;  ///< then all words are cleared
  static constexpr std::uint32_t no_place = 0xffffffff;

  std::uint64_t* words = nullptr;  ///< line + 1, or 0 (32 bits); bucket (31 bits)
  std::uint32_t places = 0;

  struct claim {
    std::uint32_t place = no_place;
    bool is_empty = false;  ///< the copy has to be made
  };

  /// Requests the place of one line of bucket `now`; each line is requested once.
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
  /// Flag in the result of place_or: the copy has to be made.
  static constexpr std::uint32_t to_fetch = 0x80000000u;
  /// Returns the line's place, or `staged` if another line has it.
  [[nodiscard]] ESPALIER_INLINE std::uint32_t place_or(std::uint32_t staged, std::uint32_t line,
                                                       std::uint32_t now) const {
    const claim c = place_of(line, now);
    return c.place == no_place ? staged | to_fetch : c.is_empty ? c.place | to_fetch : c.place;
  }
};

}  // namespace espalier::detail
