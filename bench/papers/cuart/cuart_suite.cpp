// cuart_suite.cpp - see cuart_suite.hpp.
#include "bench/papers/cuart/cuart_suite.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "bench/harness/figure_curves.hpp"
#include "bench/harness/figure_parts.hpp"
#include "bench/harness/runner.hpp"
#include "bench/papers/cuart/cuart_figures.hpp"

namespace espalier::bench {
namespace {

constexpr const char* cuart_introduction =
    "# Radix trees: figures of the CuART paper\n\nMillions of operations per second: on a GPU end to end from "
    "page-locked host memory, or with keys and answers in device memory; on a CPU from and to host memory. The paper's "
    "machines are not this one, and figure 18, which compares them, is left out, as are 13 and 14. `pointer-art` and "
    "`grt-like` are our own trees of the kinds that the paper compares with, not their authors' code; answers of all "
    "are checked.\n\n";

class cuart_suite {
 public:
  cuart_suite(const suite_options& what, std::ostream& out)
      : what_(what),
        devices_(suite_devices(what.base)),
        figures_(cuart_figures(what.base, what.most_keys, devices_)),
        chosen_(chosen_parts(what, part_names(figures_))),
        folder_(what.folder, cuart_introduction, part_names(figures_), out) {}

  void run() const {
    save_parts(figures_, chosen_, folder_, [this](const cuart_figure& figure) { return measure(figure); });
  }

 private:
  [[nodiscard]] suite_part measure(const cuart_figure& figure) const {
    suite_part part;
    figure_curves measured;
    for (const auto& run : figure.runs) {
      const timed_log log(
          fmt::format("figure {} on the {}", figure.number, run.dev == device_choice::gpu ? "GPU" : "CPU"));
      const report& result = part.reports[run.dev] = run_benchmarks(run);
      for (const auto& r : result.rows) collect(figure, r, measured);
    }
    const std::string file = fmt::format("figure-{}.svg", figure.number);
    const std::string x = x_label(figure.x);
    const bool named = figure.x == figure_axis::data_set;
    part.plots.emplace_back(file, to_svg(measured.plot(figure.title, x, "operations per second", named)));
    part.tables = fmt::format("## {}\n\nThe paper: {}\n\n", figure.title, figure.paper) + measured.table(x, 1e6) +
                  markdown_image(figure.title, file) + conditions(figure);
    return part;
  }

  [[nodiscard]] std::string conditions(const cuart_figure& figure) const {
    const bool instead = devices_.back() == device_choice::cpu && figure.number != 7;
    return fmt::format("{}Sizes up to {} keys. ",
                       instead ? "No GPU was measured: this is the CPU, unlike the paper. " : "",
                       size_text(what_.most_keys)) +
           provenance(what_.base);
  }

  /// Returns the x position of a row as a number and its label. Data sets are ordered by name.
  [[nodiscard]] static std::pair<double, std::string> place(figure_axis x, const row& r) {
    const auto number = [](std::uint64_t n) { return std::pair{static_cast<double>(n), size_text(n)}; };
    switch (x) {
      case figure_axis::keys:
        return number(r.keys);
      case figure_axis::batch:
        return number(r.radix->batch);
      case figure_axis::streams:
        return number(r.radix->streams);
      case figure_axis::key_length:
        return number(r.radix->key_length);
      default:
        break;
    }
    double at = 1;
    for (const auto& data : byte_data_names) {
      if (data.name == r.distribution) break;
      ++at;
    }
    return {at, r.distribution};
  }

  static void collect(const cuart_figure& figure, const row& r, figure_curves& into) {
    const auto [x, text] = place(figure.x, r);
    // What distinguishes a curve besides its tree: where it was measured, and what else the figure varies.
    std::string more = r.device == "gpu" ? fmt::format(", GPU, {}", r.location) : ", CPU";
    if (figure.number == 7) more += fmt::format(", {} bytes", r.radix->key_length);
    if (figure.number == 15 || figure.number == 16) more += fmt::format(", {} keys", size_text(r.keys));
    into.add(x, text, "espalier" + more, r.rate);
    for (const auto& p : r.peers) {
      if (p.seconds > 0) into.add(x, text, p.name + more, static_cast<double>(p.queries) / p.seconds);
    }
  }

  [[nodiscard]] static std::string x_label(figure_axis x) {
    switch (x) {
      case figure_axis::keys:
        return "keys";
      case figure_axis::batch:
        return "keys of a batch";
      case figure_axis::streams:
        return "host threads with a stream each";
      case figure_axis::key_length:
        return "bytes of a key";
      default:
        return "data set";
    }
  }

  const suite_options& what_;
  std::vector<device_choice> devices_;
  std::vector<cuart_figure> figures_;
  std::vector<std::string> chosen_;
  suite_folder folder_;
};

}  // namespace

void run_cuart_suite(const suite_options& what, std::ostream& out) {
  check_suite(what, std::uint64_t{1} << 10, most_cuart_keys);
  cuart_suite(what, out).run();
}

}  // namespace espalier::bench
