// inner_levels.hpp - the levels above the lines, in the memory of one device and walked there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "espalier/device/device.hpp"
#include "espalier/static_tree/index.hpp"

namespace espalier::detail {

class inner_levels {
 public:
  virtual ~inner_levels() = default;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
  /// lines[i] for key i, in stream order; all memory is the device's. `groups` (may be null): what table() gave.
  virtual void walk(const void* keys, const std::uint32_t* groups, std::size_t n, std::uint32_t* lines,
                    const stream& order) const = 0;
  /// The first level alone.
  virtual void table(const void* keys, std::size_t n, std::uint32_t* groups, const stream& order) const = 0;
};

/// A copy of them on a device.
[[nodiscard]] std::unique_ptr<inner_levels> copy_inner_levels(const device& where, const any_upper_image& image);
/// Those of the host where they are.
[[nodiscard]] std::unique_ptr<inner_levels> borrow_inner_levels(const device& host, const any_upper_image& image);

}  // namespace espalier::detail
