// join_benchmark.hpp - `espalier bench joins`: joins of two sides of generated rows, on a CPU or a GPU.
#pragma once

#include <string>
#include <vector>

#include "bench/harness/options.hpp"
#include "bench/harness/row.hpp"

namespace espalier::bench {

struct join_choices {
  options base;                     ///< device, threads, keys (right rows), repeat, seed, command
  std::vector<std::uint64_t> left;  ///< rows; empty: as many as right rows
  std::vector<std::string> ops;
  std::vector<std::string> orders;
  std::vector<std::string> places;
};
inline constexpr const char* join_operations = "asof,window";
inline constexpr const char* join_orders = "sorted,random,groups,random-groups";
inline constexpr const char* join_places = "device,host";

/// One row per operation, order of the sides, place of all columns and size. On a GPU, answers are compared with those
/// of the CPU. Throws bad_arguments, or wrong_answer.
[[nodiscard]] report run_join_benchmarks(const join_choices& what);

/// Throws bad_arguments with one sentence.
[[nodiscard]] join_choices parse_join_choices(const raw_options& raw);

}  // namespace espalier::bench
