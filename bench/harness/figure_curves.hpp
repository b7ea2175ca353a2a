// figure_curves.hpp - the curves of one figure: collected point by point, printed as a table and as a plot.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/harness/svg_plot.hpp"

namespace espalier::bench {

/// Points are stored by position on the x axis, then by curve; curves are in the order of measurement.
class figure_curves {
 public:
  /// `place` is the label of x.
  void add(double x, const std::string& place, const std::string& name, double y);

  /// Returns Markdown with values divided by `unit`.
  [[nodiscard]] std::string table(const std::string& x_label, double unit) const;
  /// `named` means that positions on the x axis have names instead of numbers.
  [[nodiscard]] svg_plot plot(const std::string& title, const std::string& x_label, const std::string& y_label,
                              bool named) const;

 private:
  std::vector<std::string> names_;
  std::map<double, std::map<std::string, double>> values_;
  std::map<double, std::string> places_;
};

}  // namespace espalier::bench
