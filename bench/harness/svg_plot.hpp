// svg_plot.hpp - plots as SVG: lines over a power-of-two x axis, or marks over named positions; y is a power-of-ten
// axis. Plots are readable in light and dark mode and without colour.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace espalier::bench {

struct svg_series {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< both positive, x ascending
};

struct svg_plot {
  std::string title;
  std::string x_label;
  std::string y_label;
  std::vector<svg_series> series;
  std::vector<std::string> places = {};  ///< if not empty, names of x = 1, 2, ...
};

/// Returns a whole SVG document. Points that are not positive and finite are omitted.
[[nodiscard]] std::string to_svg(const svg_plot& plot);

}  // namespace espalier::bench
