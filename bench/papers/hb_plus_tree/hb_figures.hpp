// hb_figures.hpp - figures of paper 003 (HB+-tree, an index larger than the GPU's memory): what each one shows, and the
// measurements that it takes. Where the paper does not say which points it has, they are ours.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"
#include "bench/harness/runner.hpp"

namespace espalier::bench {

/// What the points of a panel lie over.
enum class hb_axis : std::uint8_t { keys, bucket, batch, range_length, requests, pipeline };
/// What they show: operations per second, the same beside that of uniform requests, seconds of one call, those of
/// them in which inner levels were sent, seconds from the first to the last step of one query, TLB misses of a query.
enum class hb_value : std::uint8_t { rate, share_of_uniform, seconds, send_seconds, pipeline_seconds, tlb_misses };

/// One of the plots of a figure.
struct hb_panel {
  std::string letter;  ///< empty: the figure has one
  std::string title;
  hb_axis x = hb_axis::keys;
  hb_value y = hb_value::rate;
};

/// Measurements for one panel or more.
struct hb_run {
  options what;
  std::string label;  ///< of its curves, before what curve() says
  std::vector<std::size_t> panels{0};
  report (*measure)(const options&) = run_benchmarks;
};

struct hb_figure {
  unsigned number = 0;
  std::string title;
  std::string paper;  ///< what the paper has there
  std::string ours;   ///< what is different here
  std::vector<hb_panel> panels;
  std::vector<hb_run> runs;
  std::string (*curve)(const row&);  ///< which of a run's curves a row belongs to
};

/// All of them, with at most `most_keys` keys. `devices`: as of suite_devices(); threads of the CPU stand in for a GPU
/// where there is none.
[[nodiscard]] std::vector<hb_figure> hb_figures(const options& base, std::uint64_t most_keys,
                                                const std::vector<device_choice>& devices);

/// The largest tree of the paper.
inline constexpr std::uint64_t most_hb_keys = std::uint64_t{1} << 30;

}  // namespace espalier::bench
