// timestamps.cpp - an as-of lookup: finds the price that was valid at each trade. Keys are chrono time points.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "espalier/static_tree/static_tree.hpp"

using timestamp = std::chrono::sys_time<std::chrono::microseconds>;

int main() {
  using namespace std::chrono_literals;
  const timestamp open = std::chrono::sys_days{std::chrono::year{2026} / 1 / 5} + 9h;

  // There is a quote every 250 ms with an increasing price.
  std::vector<timestamp> quoted;
  std::vector<double> price;
  for (unsigned i = 0; i < 10'000; ++i) {
    quoted.push_back(open + i * 250ms);
    price.push_back(100.0 + 0.01 * i);
  }
  using quotes = espalier::static_tree<timestamp, double>;
  const auto tree = quotes::build(quoted, price, {.sorted = true, .keep = espalier::aggregates::all});

  // The predecessor is the last quote strictly before the trade. The first trade precedes all quotes.
  const std::vector<timestamp> traded{open - 1s, open + 1s, open + 1s + 1us, open + 24h};
  std::vector<timestamp> quote_time(traded.size());
  std::vector<double> quote_price(traded.size());
  std::vector<std::uint8_t> found(traded.size());
  tree.predecessor(traded, quote_time, quote_price, found);
  for (std::size_t i = 0; i < traded.size(); ++i) {
    const double age = found[i] != 0 ? std::chrono::duration<double>(traded[i] - quote_time[i]).count() : 0;
    std::printf("trade %zu: %s %.2f, %.6f s old\n", i, found[i] != 0 ? "price" : "no quote", quote_price[i], age);
  }

  // Compute the highest price of the first minute, and the mean.
  const std::vector<timestamp> from{open}, to{open + 1min};
  std::vector<double> highest(1), mean(1);
  tree.max(from, to, highest, {}, espalier::interval::right_open);
  tree.avg(from, to, mean, espalier::interval::right_open);
  std::printf("first minute: at most %.2f, %.3f on average\n", highest[0], mean[0]);

  const bool right = found[0] == 0 && quote_time[1] == open + 750ms && quote_time[2] == open + 1s &&
                     quote_price[3] == price.back() && highest[0] == price[239] && mean[0] > 101.19 && mean[0] < 101.2;
  return right ? 0 : 1;
}
