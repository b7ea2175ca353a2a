// update.cpp - see update.hpp.
#include "hybrid_tree/update.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace espalier {

std::string to_string(update_mode w) {
  return w == update_mode::automatic ? "automatic" : w == update_mode::asynchronous ? "asynchronous" : "synchronised";
}

namespace detail {

way_choice choose_way(update_mode wish, const write_explanation& by_cost, std::size_t inner_bytes) {
  if (wish != update_mode::automatic) return {wish, "asked for."};
  // In batch order, including the share of a new lane that each new leaf costs, key by key takes 1.1 to 2.7 times as
  // long on two cores as predicted by the tree's model, which is for keys in any order; where both ways cost the same,
  // about 1.4. On 16 cores both estimates are too low, by 2 for large batches and more for small ones (probably because
  // of waking threads); the choice is the same except for 2^20 new keys in 2^26, where it costs a tenth
  // (docs/design/hybrid-tree.md).
  constexpr double in_order = 1.4;
  constexpr double bytes_per_second = 20e9;  // to a GPU from memory that is not pinned
  const double by_key = by_cost.per_key_seconds * in_order;
  const double whole = by_cost.bulk_seconds + static_cast<double>(inner_bytes) / bytes_per_second;
  char text[160];
  std::snprintf(text, sizeof(text), "key by key about %.3g s, merged and sent as a whole about %.3g s.", by_key, whole);
  return {by_key < whole ? update_mode::synchronised : update_mode::asynchronous, text};
}

std::vector<byte_range> differing(const cpu_backend& host, const void* before, std::size_t before_bytes,
                                  const void* now, std::size_t bytes) {
  const std::size_t blocks = (bytes + update_block - 1) / update_block;
  std::vector<unsigned char> differs(blocks);
  host.for_each(
      blocks,
      [&](std::size_t b) {
        const std::size_t first = b * update_block, last = std::min(bytes, first + update_block);
        differs[b] = last > before_bytes || std::memcmp(static_cast<const char*>(before) + first,
                                                        static_cast<const char*>(now) + first, last - first) != 0;
      },
      8);
  std::vector<byte_range> ranges;
  for (std::size_t b = 0; b < blocks; ++b) {
    if (differs[b] == 0) continue;
    const std::size_t first = b * update_block, last = std::min(bytes, first + update_block);
    if (!ranges.empty() && ranges.back().last == first) {
      ranges.back().last = last;
    } else {
      ranges.push_back({first, last});
    }
  }
  return ranges;
}

}  // namespace detail
}  // namespace espalier
