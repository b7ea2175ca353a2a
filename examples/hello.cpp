// hello.cpp - the example of docs/cpp.md, word for word.
#include <cstdio>
#include <vector>
#include "espalier/static_tree/static_tree.hpp"

int main() {
  std::vector<std::uint32_t> price{30, 10, 20, 20}, pieces{3, 1, 5, 7};
  // On the first GPU if there is one, else on all CPU cores.
  auto tree = espalier::static_tree<std::uint32_t, std::uint32_t>::build(
      price, pieces, {.keep = espalier::aggregates::sum});

  std::vector<std::uint32_t> ask{20, 25}, answer(2);
  std::vector<std::uint8_t> found(2);
  tree.find(ask, answer, found);                     // 20 -> 5 (the first of two), 25 -> not found

  std::vector<std::uint32_t> lo{10}, hi{20};
  std::vector<std::uint64_t> sum(1);
  tree.sum(lo, hi, sum);                             // 1 + 5 + 7, at the same cost for a billion elements
  auto between = tree.range(lo, hi);                 // offsets, keys, values: exact and compact
  std::printf("%u %u %llu %zu\n", answer[0], found[1], static_cast<unsigned long long>(sum[0]), between.keys.size());
}
