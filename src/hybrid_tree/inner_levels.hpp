// inner_levels.hpp - the levels above the lines, in the memory of one device and searched there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "espalier/device/device.hpp"
#include "espalier/static_tree/index.hpp"

namespace espalier {
class cpu_backend;
}

namespace espalier::detail {

class inner_levels {
 public:
  virtual ~inner_levels() = default;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  /// Its pointers refer to memory of this device.
  [[nodiscard]] virtual any_inner_levels_view image() const = 0;
  /// Orders the stream after the copy, for direct readers of image().
  virtual void make_wait(const stream& order) const = 0;
  /// Returns whether its bytes equal those of `of`, which is in host memory.
  [[nodiscard]] virtual bool is_copy_of(const any_inner_levels_view& of) const = 0;
  /// Writes lines[i] for key i, in stream order; all memory is the device's or pinned. `groups` (may be null) is the
  /// result of table().
  virtual void walk(const void* keys, const std::uint32_t* groups, std::size_t n, std::uint32_t* lines,
                    const stream& order) const = 0;
  /// Searches the first level only.
  virtual void table(const void* keys, std::size_t n, std::uint32_t* groups, const stream& order) const = 0;
  /// Updates a copy of `before` to a copy of `now`; both are in host memory, and no search may run concurrently. Only
  /// the differences are sent; returns their number of bytes. Returns nothing, with nothing changed, if there is no
  /// room for it. If it throws, this is a copy of neither.
  [[nodiscard]] virtual std::optional<std::size_t> follow(const any_inner_levels_view& before,
                                                          const any_inner_levels_view& now,
                                                          const cpu_backend& host) = 0;
};

[[nodiscard]] inline std::size_t bytes_of_upper(const any_inner_levels_view& image) {
  return std::visit([](const auto& i) { return i.bytes(); }, image);
}

/// Bytes [first, last).
struct byte_range {
  std::size_t first = 0, last = 0;
  friend bool operator==(const byte_range&, const byte_range&) = default;
};
inline constexpr std::size_t update_block = std::size_t{1} << 16;
/// Returns where `now` differs from `before`, in whole blocks except for the end of `now`; adjacent ranges are merged.
[[nodiscard]] std::vector<byte_range> differing(const cpu_backend& host, const void* before, std::size_t before_bytes,
                                                const void* now, std::size_t bytes);

/// Capacity of a copy.
enum class inner_room : std::uint8_t {
  exact,
  growing,  ///< a quarter more, so that larger ones can follow()
};
[[nodiscard]] constexpr std::size_t bytes_with(inner_room room, std::size_t bytes) {
  return room == inner_room::exact ? bytes : bytes + bytes / 4;
}

/// Makes a copy on a device.
[[nodiscard]] std::unique_ptr<inner_levels> copy_inner_levels(const device& dev, const any_inner_levels_view& image,
                                                              inner_room room);
/// Refers to the host's inner levels without a copy.
[[nodiscard]] std::unique_ptr<inner_levels> borrow_inner_levels(const device& host, const any_inner_levels_view& image);

}  // namespace espalier::detail
