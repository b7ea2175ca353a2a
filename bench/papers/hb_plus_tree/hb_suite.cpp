// hb_suite.cpp - see hb_suite.hpp.
#include "bench/papers/hb_plus_tree/hb_suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/figure_curves.hpp"
#include "bench/harness/figure_parts.hpp"
#include "bench/harness/runner.hpp"
#include "bench/papers/hb_plus_tree/hb_figures.hpp"

namespace espalier::bench {
namespace {

constexpr const char* hb_introduction =
    "# Hybrid trees: figures of the HB+-tree paper\n\nKeys and values of 64 bits unless said otherwise, trees, queries "
    "and answers in host memory, answers checked. The paper's machines (GTX 780, GTX 770M) are not this one, and their "
    "trees not ours: inner levels are a table and headers of groups, two steps instead of eight or nine. Figures "
    "19 and 21 are left out.\n\n";

class hb_suite {
 public:
  hb_suite(const suite_options& what, std::ostream& out)
      : what_(what),
        devices_(suite_devices(what.base)),
        figures_(hb_figures(what.base, what.most_keys, devices_)),
        chosen_(chosen_parts(what, part_names(figures_))),
        folder_(what.folder, hb_introduction, part_names(figures_), out) {}

  void run() const {
    save_parts(figures_, chosen_, folder_, [this](const hb_figure& figure) { return measure(figure); });
  }

 private:
  [[nodiscard]] suite_part measure(const hb_figure& figure) const {
    suite_part part;
    std::vector<figure_curves> measured(figure.panels.size());
    for (const auto& run : figure.runs) {
      const bool gpu = run.what.dev == device_choice::gpu;
      const timed_log log(fmt::format("figure {}{}{} on the {}", figure.number,
                                      figure.panels[run.panels.front()].letter,
                                      run.label.empty() ? "" : ", " + run.label, gpu ? "GPU" : "CPU"));
      const report result = run.measure(run.what);
      for (const auto p : run.panels) {
        for (const auto& r : result.rows) collect(figure, figure.panels[p], run, r, result.rows, measured[p]);
      }
      append_rows(result, part.reports[run.what.dev]);
    }
    part.tables = fmt::format("## {}\n\nThe paper: {}\n\n", figure.title, figure.paper);
    if (!figure.ours.empty()) part.tables += fmt::format("Ours: {}\n\n", figure.ours);
    for (std::size_t p = 0; p < measured.size(); ++p) show(figure, figure.panels[p], measured[p], part);
    part.tables += conditions(figure);
    return part;
  }
  static void show(const hb_figure& figure, const hb_panel& panel, const figure_curves& measured, suite_part& part) {
    const std::string file = fmt::format("figure-{}{}.svg", figure.number, panel.letter);
    const std::string x = x_label(panel.x);
    const bool named = panel.x == hb_axis::requests;
    part.plots.emplace_back(file, to_svg(measured.plot(panel.title, x, y_label(panel.y), named)));
    if (!panel.letter.empty()) part.tables += fmt::format("### {}\n\n", panel.title);
    part.tables += unit_text(panel.y) + measured.table(x, unit(panel.y)) + markdown_image(panel.title, file);
  }

  [[nodiscard]] std::string conditions(const hb_figure& figure) const {
    const bool on_cpu = figure.number <= 9 || figure.number == 20;  // in the paper, too
    const bool instead = devices_.back() == device_choice::cpu && !on_cpu;
    return fmt::format("{}Sizes up to {} keys. ",
                       instead ? "No GPU was measured: threads of the CPU stood in for it, unlike the paper. " : "",
                       size_text(what_.most_keys)) +
           provenance(what_.base);
  }

  static void collect(const hb_figure& figure, const hb_panel& panel, const hb_run& run, const row& r,
                      const std::vector<row>& all, figure_curves& into) {
    const auto [x, text] = place(panel.x, r, run.what);
    const std::string more = figure.curve(r);
    const std::string name = run.label + (run.label.empty() || more.empty() ? "" : ", ") + more;
    if (panel.y != hb_value::tlb_misses || r.hybrid->tlb_misses)
      into.add(x, text, name, value(figure, panel.y, r, all));
    for (const auto& p : r.peers) {
      if (r.index == "static" && p.seconds > 0) {
        into.add(x, text, p.name, static_cast<double>(p.queries) / p.seconds);
      }
    }
  }
  [[nodiscard]] static double value(const hb_figure& figure, hb_value y, const row& r, const std::vector<row>& all) {
    if (y == hb_value::seconds) return r.seconds;
    if (y == hb_value::send_seconds) return r.hybrid->send_seconds;
    if (y == hb_value::rate) return r.rate;
    if (y == hb_value::tlb_misses) return r.hybrid->tlb_misses.value_or(0);
    if (y == hb_value::pipeline_seconds) {
      const double groups = static_cast<double>(r.queries) / r.pipeline;
      return groups > 0 ? r.seconds * r.threads / groups : 0;
    }
    const auto uniform = std::find_if(all.begin(), all.end(), [&](const row& u) {
      return u.hybrid->requests == "uniform" && u.keys == r.keys && figure.curve(u) == figure.curve(r);
    });
    return uniform == all.end() || uniform->rate <= 0 ? 0 : r.rate / uniform->rate;
  }
  /// Returns the x position of a row as a number and its label. Request orders are in the order of the options.
  [[nodiscard]] static std::pair<double, std::string> place(hb_axis x, const row& r, const options& run) {
    const auto number = [](std::uint64_t n) { return std::pair{static_cast<double>(n), size_text(n)}; };
    switch (x) {
      case hb_axis::keys:
        return number(r.keys);
      case hb_axis::bucket:
        return number(r.hybrid->bucket);
      case hb_axis::batch:
        return number(r.queries);
      case hb_axis::range_length:
        return number(r.hybrid->range_length);
      case hb_axis::pipeline:
        return number(r.pipeline);
      default:
        break;
    }
    double at = 1;
    for (const auto order : run.hybrid.requests) {
      if (name_in(request_names, order) == r.hybrid->requests) break;
      ++at;
    }
    return {at, r.hybrid->requests};
  }

  [[nodiscard]] static std::string x_label(hb_axis x) {
    switch (x) {
      case hb_axis::keys:
        return "keys";
      case hb_axis::bucket:
        return "queries of a bucket";
      case hb_axis::batch:
        return "keys of a batch";
      case hb_axis::range_length:
        return "elements of a range";
      case hb_axis::pipeline:
        return "queries under way in a thread";
      default:
        return "distribution of queries";
    }
  }
  [[nodiscard]] static const char* y_label(hb_value y) {
    return y == hb_value::rate               ? "operations per second"
           : y == hb_value::share_of_uniform ? "times uniform"
           : y == hb_value::tlb_misses       ? "TLB misses of a query"
                                             : "seconds";
  }
  [[nodiscard]] static double unit(hb_value y) {
    switch (y) {
      case hb_value::rate:
        return 1e6;
      case hb_value::seconds:
      case hb_value::send_seconds:
        return 1e-3;
      case hb_value::pipeline_seconds:
        return 1e-6;
      default:
        return 1;
    }
  }
  [[nodiscard]] static std::string unit_text(hb_value y) {
    switch (y) {
      case hb_value::rate:
        return "Millions of operations per second:\n\n";
      case hb_value::seconds:
        return "Milliseconds of one call:\n\n";
      case hb_value::send_seconds:
        return "Milliseconds of the last call in which inner levels were sent:\n\n";
      case hb_value::pipeline_seconds:
        return "Microseconds:\n\n";
      case hb_value::tlb_misses:
        return "TLB misses of a query:\n\n";
      default:
        return "Rate beside that of uniform queries:\n\n";
    }
  }

  const suite_options& what_;
  std::vector<device_choice> devices_;
  std::vector<hb_figure> figures_;
  std::vector<std::string> chosen_;
  suite_folder folder_;
};

}  // namespace

void run_hb_suite(const suite_options& what, std::ostream& out) {
  check_suite(what, std::uint64_t{1} << 10, most_hb_keys);
  hb_suite(what, out).run();
}

}  // namespace espalier::bench
