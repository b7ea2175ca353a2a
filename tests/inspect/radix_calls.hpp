// radix_calls.hpp - traced calls of a radix tree on any device, beside a std::map that is asked the same.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "espalier/core/byte_key.hpp"
#include "espalier/inspect/radix_trace.hpp"
#include "espalier/inspect/replay.hpp"
#include "inspect/radix_run.hpp"

namespace espalier::test {

inline std::vector<std::string> keys_of_numbers(const number_list& numbers) {
  std::vector<std::string> keys;
  for (const std::uint64_t k : numbers) keys.push_back(byte_key(k));
  return keys;
}

/// Writes with repeated keys, questions, and in the end: the same elements, and a trace that leads to them.
inline void expect_traced_calls(const device& dev, unsigned teams) {
  SCOPED_TRACE(std::to_string(teams) + " teams");
  std::mt19937_64 random(teams);
  std::map<std::uint64_t, std::uint64_t> model{{3, 4}, {1000, 5}};
  auto tree = radix_tree<std::uint64_t>::build(keys_of_numbers({3, 1000}), number_list{4, 5}, {}, dev);
  recorded_trace trace = begin_trace(tree);
  trace_recorder recorder(dev, std::uint64_t{1} << 20);
  traced_radix_calls work(tree, recorder, teams);
  for (unsigned round = 0; round < 8; ++round) {
    number_list numbers, values;
    for (unsigned i = 0; i < 150; ++i) {
      numbers.push_back(random() % 400 << random() % 3 * 20);
      values.push_back(random());
    }
    const auto keys = keys_of_numbers(numbers);
    std::uint64_t done = 0, told = 0;
    if (round % 4 == 0) {
      told = work.insert(keys, values).done;
      for (std::size_t i = 0; i < numbers.size(); ++i) done += model.emplace(numbers[i], values[i]).second ? 1 : 0;
    } else if (round % 4 == 1) {
      told = work.insert_or_assign(keys, values).done;
      for (std::size_t i = 0; i < numbers.size(); ++i)
        done += model.insert_or_assign(numbers[i], values[i]).second ? 1 : 0;
    } else if (round % 4 == 2) {
      told = work.update(keys, values).done;
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto at = model.find(numbers[i]);
        if (at == model.end()) continue;
        at->second = values[i];
        ++done;
      }
    } else {
      told = work.erase(keys).done;
      for (const std::uint64_t k : numbers) done += model.erase(k);
    }
    ASSERT_EQ(told, done) << "round " << round;
  }
  number_list there, expected;
  for (const auto& [key, value] : model) {
    there.push_back(key);
    expected.push_back(value);
  }
  EXPECT_EQ(work.find(keys_of_numbers(there)).done, there.size());
  EXPECT_EQ(work.range(0, ~std::uint64_t{0}), there.size());
  end_trace(trace, tree, recorder);

  number_list found(there.size());
  tree.find(keys_of_numbers(there), found);
  EXPECT_EQ(found, expected);
  EXPECT_EQ(tree.size(), model.size());
  EXPECT_TRUE(tree.validate().ok) << tree.validate().problem;
  EXPECT_EQ(trace.lost, 0u);
  EXPECT_EQ(trace.header.device, dev.kind() == device_kind::cpu ? "cpu" : "gpu");
  trace_replay replay(trace);
  replay.go(trace.events.size());
  EXPECT_TRUE(replay.state() == state_of_radix_dump(tree.dump_json()));
  EXPECT_TRUE(replay.state() == trace.final);
  replay.go(0);
  EXPECT_TRUE(replay.state() == trace.start);
}

}  // namespace espalier::test
