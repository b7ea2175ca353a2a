// A user's program against the installed package: builds an index on the CPU and checks every answer.
#include <cstdint>
#include <iostream>
#include <vector>

#include "espalier/static_tree/static_tree.hpp"

int main() {
  std::vector<std::uint32_t> keys, values;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    keys.push_back((i * 7919u) % 1000u * 2u);  // every even number below 2000, in a scrambled order
    values.push_back(keys.back() + 1u);
  }
  const auto tree =
      espalier::static_tree<std::uint32_t, std::uint32_t>::build(keys, values, {}, espalier::device::cpu());

  std::vector<std::uint32_t> queries(2000), answers(2000);
  std::vector<std::uint8_t> found(2000);
  for (std::uint32_t q = 0; q < 2000; ++q) queries[q] = q;
  tree.find(queries, answers, found);
  for (std::uint32_t q = 0; q < 2000; ++q) {
    const bool expected = q % 2 == 0;
    if ((found[q] != 0) != expected || (expected && answers[q] != q + 1)) {
      std::cerr << "key " << q << ": found " << int{found[q]} << ", value " << answers[q] << '\n';
      return 1;
    }
  }
  std::cout << "installed package: " << tree.size() << " keys, 2000 answers right\n";
}
