// cpu_thread.cpp - a ref in your own threads: each looks up keys one by one, without a lock and without calling the
// owner.
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "espalier/static_tree/static_tree.hpp"
#include "espalier/team/simd_thread.hpp"

namespace {

using index = espalier::static_tree<std::uint64_t, double>;

// The ref is a few pointers, so it is passed by value. A team of one CPU thread searches with vector instructions.
double total_of(index::ref_type ref, std::uint64_t first, std::uint64_t last) {
  const espalier::simd_thread<> team;
  double total = 0;
  for (std::uint64_t key = first; key < last; ++key) {
    double value = 0;
    if (ref.find(team, key, value)) total += value;
  }
  return total;
}

}  // namespace

int main() {
  constexpr std::uint64_t n = 100'000;
  std::vector<std::uint64_t> keys(n);
  std::vector<double> values(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    keys[i] = 3 * i;  // two of three lookups below find nothing
    values[i] = 0.5;
  }
  const auto tree = index::build(keys, values, {.sorted = true}, espalier::device::cpu());

  constexpr unsigned workers = 4;
  std::vector<double> part(workers);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < workers; ++t) {
    threads.emplace_back(
        [ref = tree.ref(), &part, t] { part[t] = total_of(ref, t * 3 * n / workers, (t + 1) * 3 * n / workers); });
  }
  for (std::thread& thread : threads) thread.join();

  double total = 0;
  for (const double p : part) total += p;
  std::printf("%u threads found values that add up to %.1f\n", workers, total);
  return total == 0.5 * n ? 0 : 1;
}
