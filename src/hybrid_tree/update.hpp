// update.hpp - the effect of a write on the inner levels, and what has to be sent to the device.
//
// The regular layout has two methods (docs/design/hybrid-tree.md, "Updates"); the implicit one is rebuilt.
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

/// Result of a write.
struct inner_update {
  update_mode way = update_mode::automatic;  ///< automatic if everything was rebuilt
  bool anew = true;                          ///< upper() has different inner levels than before
  std::unique_ptr<inner_levels> before;      ///< a copy of the previous ones, if a search for differences is worthwhile
  std::string reason;
};

/// The method for a batch, and the reason. `by_cost` is the host's cost of both (blink_index::explain); `inner_bytes`
/// is what the asynchronous method sends in addition.
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
/// Returns where `now` differs from `before`, in whole blocks except for the end of `now`; adjacent ranges are merged.
[[nodiscard]] std::vector<byte_range> differing(const cpu_backend& host, const void* before, std::size_t before_bytes,
                                                const void* now, std::size_t bytes);

}  // namespace espalier::detail
