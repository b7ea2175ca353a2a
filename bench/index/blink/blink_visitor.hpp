// blink_visitor.hpp - a B-link tree whose types and policy are compiled in, for visits of all elements: the functor is
// inlined into the loop over the leaves.
//
// Values are represented by size, not by type, since the checksum covers their bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "bench/data/workload.hpp"
#include "espalier/blink_tree/options.hpp"
#include "espalier/device/device.hpp"

namespace espalier::bench {

class blink_visitor {
 public:
  virtual ~blink_visitor() = default;
  /// Returns the checksum of all elements (element_checksum.hpp).
  [[nodiscard]] virtual std::uint64_t visit() const = 0;
  [[nodiscard]] virtual blink_stats stats() const = 0;
};

/// The input of a build; keys and values are in the device's memory.
struct blink_pairs {
  const device& dev;
  blink_options options;
  const void* keys = nullptr;
  const void* values = nullptr;
  std::size_t size = 0;
};

/// Returns a visitor for a shape that the library has with these types, or null if it is not compiled for this device.
[[nodiscard]] std::unique_ptr<blink_visitor> make_blink_visitor(const data_spec& spec, const blink_shape& shape,
                                                                const blink_pairs& pairs);
/// Lists the compiled ones.
[[nodiscard]] std::string visited_blink_trees(device_kind dev);

}  // namespace espalier::bench
