// figure_curves.hpp - the curves of one figure: collected point by point, shown as a table and as a plot.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bench/harness/svg_plot.hpp"

namespace espalier::bench {

/// By place on the x axis, then by curve; curves come in the order in which they were measured.
class figure_curves {
 public:
  /// `place`: how x is written.
  void add(double x, const std::string& place, const std::string& name, double y);

  /// In Markdown, values divided by `unit`.
  [[nodiscard]] std::string table(const std::string& x_label, double unit) const;
  /// `named`: places on the x axis have names instead of numbers.
  [[nodiscard]] svg_plot plot(const std::string& title, const std::string& x_label, const std::string& y_label,
                              bool named) const;

 private:
  std::vector<std::string> names_;
  std::map<double, std::map<std::string, double>> values_;
  std::map<double, std::string> places_;
};

}  // namespace espalier::bench
