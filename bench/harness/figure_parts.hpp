// figure_parts.hpp - suites whose parts are the figures of a paper, named by their numbers.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "bench/harness/suite.hpp"

namespace espalier::bench {

template <class Figure>
[[nodiscard]] std::vector<std::string> part_names(const std::vector<Figure>& figures) {
  std::vector<std::string> names;
  for (const auto& figure : figures) names.push_back(std::to_string(figure.number));
  return names;
}

/// Calls measure(figure) for each selected figure and saves the part that it returns.
template <class Figure, class Measure>
void save_parts(const std::vector<Figure>& figures, const std::vector<std::string>& chosen, const suite_folder& folder,
                const Measure& measure) {
  for (const auto& figure : figures) {
    const std::string name = std::to_string(figure.number);
    if (std::find(chosen.begin(), chosen.end(), name) != chosen.end()) folder.save(name, measure(figure));
  }
}

}  // namespace espalier::bench
