// strings.cpp - strings as keys: prefixes, neighbours, the longest match, and updates.
#include <cstdio>
#include <string>
#include <vector>

#include "espalier/radix_tree/radix_tree.hpp"

int main() {
  using strings = std::vector<std::string>;
  const strings routes{"10.", "10.1.", "10.1.7.", "192.168."};
  const std::vector<unsigned> hops{1, 2, 3, 4};
  auto table = espalier::radix_tree<unsigned>::build(routes, hops);

  // Find the longest route that is a prefix of each address.
  const strings addresses{"10.1.7.20", "10.9.0.1", "172.16.0.1"};
  std::vector<std::uint32_t> lengths(3);
  std::vector<unsigned> hop(3);
  std::vector<std::uint8_t> found(3);
  table.longest_prefix(addresses, lengths, hop, found);
  for (std::size_t i = 0; i < 3; ++i) {
    if (found[i] != 0) {
      std::printf("%s by hop %u (%s)\n", addresses[i].c_str(), hop[i], addresses[i].substr(0, lengths[i]).c_str());
    } else {
      std::printf("%s has no route\n", addresses[i].c_str());
    }
  }

  // List all keys with the prefix "10.1." after one of them was inserted and one erased.
  table.insert(strings{"10.1.9."}, std::vector<unsigned>{5});
  table.erase(strings{"10.1.7."});
  for (const std::string& key : table.prefix(strings{"10.1."}).keys()) std::printf("%s\n", key.c_str());
  return table.size() == 4 ? 0 : 1;
}
