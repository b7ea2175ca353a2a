// update.hpp - what a write does to the inner levels, and what of them has to be sent to the device.
//
// The regular layout has two ways (docs/design/hybrid-tree.md, "Updates"); the implicit one is built anew.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "espalier/blink_tree/options.hpp"
#include "espalier/device/cpu.hpp"
#include "espalier/hybrid_tree/options.hpp"
#include "hybrid_tree/inner_levels.hpp"

namespace espalier::detail {

[[nodiscard]] inline std::size_t bytes_of_upper(const any_inner_levels_view& image) {
  return std::visit([](const auto& i) { return i.bytes(); }, image);
}

/// What a write did.
struct inner_update {
  update_mode way = update_mode::automatic;  ///< automatic: all was built anew
  bool anew = true;                          ///< upper() tells of other inner levels than before
  std::unique_ptr<inner_levels> before;      ///< a copy of those, if it is worth looking for what they have in common
  std::string reason;
};

/// The way for a batch, and why. `by_cost`: what both cost the host (blink_index::explain); `inner_bytes`: what the
/// asynchronous way sends besides.
struct way_choice {
  update_mode way = update_mode::automatic;
  std::string reason;
};
[[nodiscard]] way_choice choose_way(update_mode wish, const write_explanation& by_cost, std::size_t inner_bytes);

/// Bytes [first, last).
struct byte_range {
  std::size_t first = 0, last = 0;
  friend bool operator==(const byte_range&, const byte_range&) = default;
};
inline constexpr std::size_t update_block = std::size_t{1} << 16;
/// Where `now` differs from `before`, in whole blocks but for the end of `now`, neighbours joined.
[[nodiscard]] std::vector<byte_range> differing(const cpu_backend& host, const void* before, std::size_t before_bytes,
                                                const void* now, std::size_t bytes);

}  // namespace espalier::detail
