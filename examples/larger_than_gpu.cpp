// larger_than_gpu.cpp - an index whose leaves stay in host memory while a GPU (without one, the CPU alone) traverses
// its inner levels.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "espalier/hybrid_tree/hybrid_tree.hpp"

int main() {
  constexpr std::uint64_t n = 1'000'000;
  std::vector<std::uint64_t> keys(n), values(n);
  for (std::uint64_t i = 0; i < n; ++i) keys[i] = i * 2654435761u % (1u << 30), values[i] = i;

  espalier::hybrid_options options;
  options.layout = espalier::hybrid_layout::regular;  // supports batches of writes
  options.gpu_memory = std::size_t{1} << 30;          // at most 1 GiB of the GPU's memory
  auto tree = espalier::hybrid_tree<std::uint64_t, std::uint64_t>::build(keys, values, options);
  tree.tune(keys);  // measures how to divide the levels between host and device

  std::vector<std::uint64_t> out(n);
  std::vector<std::uint8_t> found(n);
  tree.find(keys, out, found);
  std::uint64_t hits = 0;
  for (std::uint64_t i = 0; i < n; ++i) hits += found[i] != 0 && keys[i] == keys[out[i]] ? 1 : 0;

  const std::vector<std::uint64_t> lo{0}, hi{1u << 20};
  std::vector<std::uint64_t> count(1);
  tree.count(lo, hi, count);
  std::printf("%llu of %llu found, %llu keys up to 2^20\n%s\n", static_cast<unsigned long long>(hits),
              static_cast<unsigned long long>(n), static_cast<unsigned long long>(count[0]), tree.explain().c_str());
  return hits == n ? 0 : 1;
}
