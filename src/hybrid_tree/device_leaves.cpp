// device_leaves.cpp - selects the compiled code that reads leaves on a device.
#include <algorithm>
#include <limits>

#include "hybrid_tree/device_leaves_impl.hpp"
#include "static_tree/cpu_executor.hpp"

namespace espalier::detail {

#ifdef ESPALIER_HAS_CUDA
[[nodiscard]] std::unique_ptr<device_leaves> make_device_leaves_on_gpu(const device& dev, const device& host,
                                                                       const static_index& tree, std::size_t part,
                                                                       std::size_t cache);
#endif

std::unique_ptr<device_leaves> make_device_leaves(const device& dev, const device& host, const static_index& tree,
                                                  std::size_t part, std::size_t cache) {
#ifdef ESPALIER_HAS_CUDA
  if (dev.kind() == device_kind::cuda) return make_device_leaves_on_gpu(dev, host, tree, part, cache);
#endif
  return make_leaves<cpu_executor>(dev, host, tree, part, cache);
}

std::size_t window_bytes_per_query(element_type elements) {
  return bytes_of(elements.key) + elements.value_bytes + 1 + 5 * 4;  // lines and numbers twice, places
}
std::size_t window_bytes(element_type elements, std::size_t window) {
  const std::size_t word = bytes_of(elements.key) <= 4 ? 4 : 8, per_line = 32 / word;
  const std::size_t line = 32 + per_line * value_slot(elements.value_bytes);
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  const std::size_t each = device_leaves::slots * window_bytes_per_query(elements);
  if (window > most / 2 / each) return most;  // fits no device
  return window * each +
         device_leaves::areas * std::min(window, largest_part) * (line + 4);  // and the place of each line of rows
}

std::size_t row_window_bytes(element_type elements, std::uint64_t limit) {
  const std::size_t key = bytes_of(elements.key);
  // Upper ends, counts, places of lines, and the row.
  const std::size_t fixed = key + 8 + 8, element = key + elements.value_bytes;
  constexpr std::size_t most = std::size_t{1} << 40;  // a row of this size fits no device; no product below overflows
  return device_leaves::slots * (fixed + (limit < most ? limit * element : most * element));
}

}  // namespace espalier::detail
