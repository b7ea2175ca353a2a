// figure_curves.cpp - see figure_curves.hpp.
#include "bench/harness/figure_curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "bench/harness/suite.hpp"

namespace espalier::bench {

void figure_curves::add(double x, const std::string& place, const std::string& name, double y) {
  if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.push_back(name);
  values_[x][name] = y;
  places_[x] = place;
}

std::string figure_curves::table(const std::string& x_label, double unit) const {
  std::vector<std::string> head{x_label};
  head.insert(head.end(), names_.begin(), names_.end());
  std::vector<std::vector<std::string>> lines;
  for (const auto& [x, values] : values_) {
    auto& cells = lines.emplace_back();
    cells.push_back(places_.at(x));
    for (const auto& name : names_) {
      const auto at = values.find(name);
      if (at == values.end()) {
        cells.emplace_back();
        continue;
      }
      const double y = at->second / unit;
      cells.push_back(fmt::format("{:.{}f}", y, y < 1 ? 4 : 2));
    }
  }
  return markdown_table(head, lines);
}

svg_plot figure_curves::plot(const std::string& title, const std::string& x_label, const std::string& y_label,
                             bool named) const {
  svg_plot p{title, x_label, y_label, {}, {}};
  for (const auto& name : names_) {
    svg_series s{name, {}};
    for (const auto& [x, values] : values_) {
      if (const auto at = values.find(name); at != values.end()) s.points.emplace_back(x, at->second);
    }
    p.series.push_back(std::move(s));
  }
  if (named) {
    for (const auto& [x, text] : places_) p.places.push_back(text);
  }
  return p;
}

}  // namespace espalier::bench
