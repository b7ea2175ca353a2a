// shared_map.cpp - an ordered map that four threads write concurrently, key by key, without a lock of your own.
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "espalier/blink_tree/blink_tree.hpp"
#include "espalier/team/scalar_team.hpp"

namespace {

using map = espalier::blink_tree<std::uint32_t, std::uint32_t>;  // sensor -> its first reading

void take_readings(map::ref_type ref, std::uint32_t from, std::uint32_t to, std::uint32_t& fresh) {
  const espalier::scalar_team team;  // the calling thread
  for (std::uint32_t i = from; i < to; ++i) {
    const std::uint32_t sensor = (i * 2654435761u) % 50'000;
    if (ref.insert(team, sensor, i) == espalier::write_result::inserted) ++fresh;
  }
}

}  // namespace

int main() {
  map sensors(espalier::device::cpu());
  const auto ref = sensors.ref(50'000);  // reserves nodes for 50,000 new keys
  constexpr unsigned workers = 4, each = 100'000;
  std::vector<std::uint32_t> fresh(workers);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < workers; ++t)
    threads.emplace_back([=, &fresh] { take_readings(ref, t * each, (t + 1) * each, fresh[t]); });
  for (std::thread& thread : threads) thread.join();

  std::uint32_t total = 0;
  for (const std::uint32_t f : fresh) total += f;
  sensors.maintain();  // the threads are done: rebuilds the inner levels
  std::vector<std::uint32_t> lo{100}, hi{199};
  std::vector<std::uint64_t> count(1);
  sensors.count(lo, hi, count);
  std::printf("%u sensors, each counted once; %llu of them between 100 and 199\n", total,
              static_cast<unsigned long long>(count[0]));
  return total == sensors.size() && count[0] == 100 && sensors.validate() ? 0 : 1;
}
