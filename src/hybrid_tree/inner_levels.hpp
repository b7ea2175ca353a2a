// inner_levels.hpp - the levels above the lines, in the memory of one device and walked there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

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
  /// With pointers to the memory of this device.
  [[nodiscard]] virtual any_inner_levels_view image() const = 0;
  /// Orders the stream behind the copy: for those who read image() themselves.
  virtual void make_wait(const stream& order) const = 0;
  /// Are its bytes those of `of`, which is in host memory?
  [[nodiscard]] virtual bool is_copy_of(const any_inner_levels_view& of) const = 0;
  /// lines[i] for key i, in stream order; all memory is the device's or pinned. `groups` (may be null): what table()
  /// gave.
  virtual void walk(const void* keys, const std::uint32_t* groups, std::size_t n, std::uint32_t* lines,
                    const stream& order) const = 0;
  /// The first level alone.
  virtual void table(const void* keys, std::size_t n, std::uint32_t* groups, const stream& order) const = 0;
  /// A copy of `before` becomes one of `now`; both are in host memory, and nobody walks meanwhile. Only what differs is
  /// sent: so many bytes. Nothing: there is no room for it here, and nothing was changed. If it throws, this is a copy
  /// of neither.
  [[nodiscard]] virtual std::optional<std::size_t> follow(const any_inner_levels_view& before,
                                                          const any_inner_levels_view& now,
                                                          const cpu_backend& host) = 0;
};

/// How much memory a copy takes.
enum class inner_room : std::uint8_t {
  exact,
  growing,  ///< a quarter more, so that larger ones can follow()
};
[[nodiscard]] constexpr std::size_t bytes_with(inner_room room, std::size_t bytes) {
  return room == inner_room::exact ? bytes : bytes + bytes / 4;
}

/// A copy of them on a device.
[[nodiscard]] std::unique_ptr<inner_levels> copy_inner_levels(const device& dev, const any_inner_levels_view& image,
                                                              inner_room room);
/// Those of the host where they are.
[[nodiscard]] std::unique_ptr<inner_levels> borrow_inner_levels(const device& host, const any_inner_levels_view& image);

}  // namespace espalier::detail
