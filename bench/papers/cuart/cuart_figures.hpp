// cuart_figures.hpp - figures 7 to 12 and 15 to 17 of paper 004 (CuART, a radix tree on GPUs): what each one shows, and
// the measurements for it. Points that the paper does not specify are our choice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"

namespace espalier::bench {

/// The x axis of a figure.
enum class figure_axis : std::uint8_t { keys, batch, streams, key_length, data_set };

struct cuart_figure {
  unsigned number = 0;
  std::string title;
  std::string paper;  ///< the paper's content of the figure
  figure_axis x = figure_axis::keys;
  std::vector<options> runs;
};

/// Returns all figures, with at most `most_keys` keys. `devices` is the result of suite_devices(); figures of a GPU are
/// measured on the CPU if there is none.
[[nodiscard]] std::vector<cuart_figure> cuart_figures(const options& base, std::uint64_t most_keys,
                                                      const std::vector<device_choice>& devices);

/// The largest tree of the paper has 144 Mi keys.
inline constexpr std::uint64_t most_cuart_keys = std::uint64_t{144} << 20;

}  // namespace espalier::bench
