// hb_figures.hpp - figures of paper 003 (HB+-tree, an index larger than the GPU's memory): what each one shows, and the
// measurements for it. Points that the paper does not specify are our choice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"
#include "bench/harness/runner.hpp"

namespace espalier::bench {

/// The x axis of a panel.
enum class hb_axis : std::uint8_t { keys, bucket, batch, range_length, requests, pipeline };
/// The y axis: operations per second, the same relative to uniform requests, seconds of one call, the part of it in
/// which inner levels were sent, seconds from the first to the last step of one query, TLB misses per query.
enum class hb_value : std::uint8_t { rate, share_of_uniform, seconds, send_seconds, pipeline_seconds, tlb_misses };

/// One of the plots of a figure.
struct hb_panel {
  std::string letter;  ///< empty if the figure has one panel
  std::string title;
  hb_axis x = hb_axis::keys;
  hb_value y = hb_value::rate;
};

/// Measurements for one or several panels.
struct hb_run {
  options what;
  std::string label;  ///< label of its curves, before the result of curve()
  std::vector<std::size_t> panels{0};
  report (*measure)(const options&) = run_benchmarks;
};

struct hb_figure {
  unsigned number = 0;
  std::string title;
  std::string paper;  ///< the paper's content of the figure
  std::string ours;   ///< the differences here
  std::vector<hb_panel> panels;
  std::vector<hb_run> runs;
  std::string (*curve)(const row&);  ///< returns the curve of a row
};

/// Returns all figures, with at most `most_keys` keys. `devices` is the result of suite_devices(); CPU threads replace
/// the GPU if there is none.
[[nodiscard]] std::vector<hb_figure> hb_figures(const options& base, std::uint64_t most_keys,
                                                const std::vector<device_choice>& devices);

/// The size of the largest tree of the paper.
inline constexpr std::uint64_t most_hb_keys = std::uint64_t{1} << 30;

}  // namespace espalier::bench
