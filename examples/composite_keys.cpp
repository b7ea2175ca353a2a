// composite_keys.cpp - rows of a table by (city, day): one row, the rows of a period, and sums by the first column.
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "espalier/radix_tree/columns.hpp"
#include "espalier/radix_tree/radix_tree.hpp"

int main() {
  using strings = std::vector<std::string>;
  using days = std::vector<std::int32_t>;
  const strings city{"Rome", "Oslo", "Oslo", "Rome", "Oslo", "Osaka"};
  const days day{3, -1, 2, 1, 5, 2};
  const std::vector<double> sold{30, 10, 20, 10, 50, 7};
  const auto table = espalier::radix_tree<double>::build(espalier::keys_of_columns(city, day), sold);

  // Days sort as numbers, negative ones first, and the encodings of two cities never overlap.
  const auto oslo = table.range(espalier::keys_of_columns(strings{"Oslo"}, days{-5}),
                                espalier::keys_of_columns(strings{"Oslo"}, days{2}));
  const auto amounts = oslo.values.to_vector();
  const auto rows = espalier::rows_of_keys<std::string, std::int32_t>(oslo);
  for (std::size_t i = 0; i < rows.size(); ++i)
    std::printf("%s, day %d: %g\n", std::get<0>(rows[i]).c_str(), std::get<1>(rows[i]), amounts[i]);

  std::vector<double> sums(3);
  table.sum_prefix(espalier::prefixes_of_columns(strings{"Oslo", "Osaka", "Paris"}), sums);
  std::printf("Oslo %g, Osaka %g, Paris %g\n", sums[0], sums[1], sums[2]);
  return rows.size() == 2 && sums[0] == 80 && sums[1] == 7 && sums[2] == 0 ? 0 : 1;
}
