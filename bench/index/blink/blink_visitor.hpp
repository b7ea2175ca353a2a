// blink_visitor.hpp - a B-link tree whose types and policy are compiled in, as visiting all elements wants it: the
// functor becomes part of the loop over the leaves.
//
// Values are held by size, not by type: the checksum is of their bits.
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
  /// Checksum over all elements (element_checksum.hpp).
  [[nodiscard]] virtual std::uint64_t visit() const = 0;
  [[nodiscard]] virtual blink_stats stats() const = 0;
};

/// What a tree is built of; keys and values are in the device's memory.
struct blink_pairs {
  const device& dev;
  blink_options options;
  const void* keys = nullptr;
  const void* values = nullptr;
  std::size_t size = 0;
};

/// For a shape that the library has with these types; null where visiting it is not compiled for this device.
[[nodiscard]] std::unique_ptr<blink_visitor> make_blink_visitor(const data_spec& spec, const blink_shape& shape,
                                                                const blink_pairs& pairs);
/// What is.
[[nodiscard]] std::string visited_blink_trees(device_kind dev);

}  // namespace espalier::bench
