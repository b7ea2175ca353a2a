// bulk.cpp - builds an index of 1,000,000 orders by price, then runs bulk queries: point, range, count, sum.
//
// It runs on the first GPU if there is one, otherwise on all CPU cores; the code below does not name a device.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "espalier/static_tree/static_tree.hpp"

int main() {
  constexpr std::uint32_t orders = 1'000'000;
  std::vector<std::uint32_t> price(orders), quantity(orders);
  for (std::uint32_t i = 0; i < orders; ++i) {
    price[i] = static_cast<std::uint32_t>((i * std::uint64_t{2654435761}) % orders);  // distinct prices in random order
    quantity[i] = price[i] % 10;
  }
  using index = espalier::static_tree<std::uint32_t, std::uint32_t>;
  const auto tree = index::build(price, quantity, {.keep = espalier::aggregates::sum});
  std::printf("%s", tree.explain(1000).text.c_str());

  // Look up the quantities that were ordered at these prices.
  const std::vector<std::uint32_t> asked{17, 999'999, 5'000'000};
  std::vector<std::uint32_t> answer(asked.size());
  std::vector<std::uint8_t> found(asked.size());
  tree.find(asked, answer, found);

  // List all orders at [100, 105] and at [400, 402]: offsets and one flat array.
  const std::vector<std::uint32_t> lo{100, 400}, hi{105, 402};
  const auto range = tree.range(lo, hi);
  const auto offsets = range.offsets.to_vector();
  const auto prices = range.keys.to_vector();

  // Count and sum the orders below half the top price. The cost does not depend on the length of the range.
  const std::vector<std::uint32_t> from{0}, to{orders / 2};
  std::vector<std::uint64_t> count(1), sum(1);
  tree.count(from, to, count, {.ends = espalier::interval::right_open});
  tree.sum(from, to, sum, espalier::interval::right_open);
  std::printf("%llu orders of %llu pieces below %u\n", static_cast<unsigned long long>(count[0]),
              static_cast<unsigned long long>(sum[0]), to[0]);

  const bool right = found[0] == 1 && answer[0] == 7 && found[1] == 1 && answer[1] == 9 && found[2] == 0 &&
                     offsets == std::vector<std::uint64_t>{0, 6, 9} && prices.front() == 100 && prices.back() == 402 &&
                     count[0] == orders / 2 && sum[0] == orders / 20 * 45;
  return right ? 0 : 1;
}
