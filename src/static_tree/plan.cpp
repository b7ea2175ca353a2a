// plan.cpp - the cost model. The constants were measured; docs/design/plans.md describes the method and the machines.
#include "static_tree/plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace espalier {

std::string to_string(query_plan p) {
  switch (p) {
    case query_plan::automatic:
      return "automatic";
    case query_plan::small:
      return "small";
    case query_plan::scattered:
      return "scattered";
    case query_plan::ordered:
      return "ordered";
    case query_plan::sort_first:
      return "sort_first";
    case query_plan::partition_first:
      return "partition_first";
  }
  return "unknown";
}

std::string to_string(interval i) {
  switch (i) {
    case interval::closed:
      return "closed";
    case interval::right_open:
      return "right_open";
    case interval::left_open:
      return "left_open";
    case interval::open:
      return "open";
  }
  return "unknown";
}

std::string to_string(aggregates a) {
  switch (a) {
    case aggregates::none:
      return "none";
    case aggregates::sum:
      return "sum";
    case aggregates::min_max:
      return "min_max";
    case aggregates::all:
      return "all";
  }
  return "unknown";
}

namespace detail {
namespace {

/// Seconds per query of an interleaved descent on one CPU core; it grows with the share of cache misses.
constexpr double in_cache = 11.0e-9;
double cpu_descent(std::size_t bytes) {
  constexpr double in_memory = 50.0e-9;
  constexpr double cache = 4.0 * 1024 * 1024, memory = 2.0 * 1024 * 1024 * 1024;
  const double b = std::clamp(static_cast<double>(bytes), cache, memory);
  const double part = std::log2(b / cache) / std::log2(memory / cache);
  return in_cache + (in_memory - in_cache) * part * part;
}

/// Seconds per query of plan partition_first on one CPU core. The queries of a bucket share cache lines and entries of
/// the TLB: the more queries for each KiB of lines, the fewer of the misses of `descent` remain.
double cpu_in_buckets(const plan_input& in, double descent) {
  constexpr double pass = 6.0e-9, per_byte = 0.5e-9;  // partition and restore
  const double arrays = 0.5 * (1 + in.searches);      // of keys that are moved; answers are half of the bytes
  constexpr double fewest_misses = 0.1;
  const double density = 1024.0 * static_cast<double>(in.queries) / static_cast<double>(in.leaf_bytes + 1);
  const double misses = fewest_misses + (1 - fewest_misses) / (1 + density);
  return pass + per_byte * in.word_bytes * arrays + in_cache + (descent - in_cache) * misses;
}

double cpu_seconds(const plan_input& in, query_plan p) {
  constexpr double start_threads = 8.0e-6;  // wakes a pool and waits for it
  constexpr double ordered = 9.5e-9;
  // One radix pass per byte of the word, over keys and positions. Between a Neoverse V1 (3.8 ns) and a Xeon (17 ns).
  constexpr double sort_per_byte = 8.0e-9;
  constexpr double put_back = 5.0e-9;  // results are written to random positions
  const auto n = static_cast<double>(in.queries);
  const double threads = std::max(1u, in.threads);
  const double first = cpu_descent(in.leaf_bytes + in.inner_bytes);
  // The search of an upper end overlaps with that of the lower end, or meets its lines. Buckets of lower ends do not
  // help it.
  constexpr double another = 0.7;
  const double further = another * first * (in.searches - 1), descent = first + further;
  const bool ascending = in.order == batch_order::ascending;
  // Sorted queries that are few compared to the lines touch each line once nevertheless, if in order.
  const double lines = static_cast<double>(in.leaf_bytes) / 64;
  const double sparse = n < lines ? descent * 0.35 : 0;
  switch (p) {
    case query_plan::small:
      return n * descent;
    case query_plan::scattered:
      return start_threads + n * descent / threads;
    case query_plan::partition_first:
      return 3 * start_threads + n * (cpu_in_buckets(in, first) + further) / threads;
    case query_plan::ordered:
      return start_threads + n * (ascending ? ordered * in.searches : descent * 1.2) / threads;
    case query_plan::sort_first:
      return 3 * start_threads + n * (sort_per_byte * in.word_bytes + ordered + sparse + put_back + further) / threads;
    default:
      return 0;
  }
}

double gpu_seconds(const plan_input& in, query_plan p) {
  constexpr double launch = 4.0e-6;
  constexpr double l2 = 50.0e6;
  const auto n = static_cast<double>(in.queries);
  const double searched = n * in.searches;
  // Queries per second of random descents, depending on the bytes that compete for the L2 (H200).
  const double leaves = static_cast<double>(in.leaf_bytes);
  const double pressure = leaves / l2;
  const double rate = pressure <= 1 ? 36.0e9 : std::max(9.0e9, 36.0e9 - 3.3e9 * std::log2(pressure));
  const double ordered_rate = 90.0e9;
  const double sort_rate = in.word_bytes == 4 ? 8.5e9 : 4.0e9;  // includes words, positions and scratch memory
  const bool ascending = in.order == batch_order::ascending;
  switch (p) {
    case query_plan::small:
    case query_plan::scattered:
      return launch + searched / (ascending ? ordered_rate : rate);
    case query_plan::ordered:
      return launch + searched / (ascending ? ordered_rate : rate);
    case query_plan::sort_first:
      return 8 * launch + n / sort_rate + searched / ordered_rate + n / 36.0e9;
    case query_plan::partition_first: {
      // Bytes of a query that the two passes move, for values as wide as keys, and finds in bucket order (H200, fitted
      // to five trees of 2^25 to 2^29 keys, within 4 %).
      const double moved = 4.0 * in.word_bytes + 4;
      const double in_buckets = 34.6e-12 + 5.2e-12 * std::sqrt(leaves / 1.0e9);
      return 8 * launch + n * moved / 5e12 + searched * in_buckets;
    }
    default:
      return 0;
  }
}

/// Whether a plan is considered for a batch. On a GPU `small` is a batch that fits the GPU at once, and an ordered
/// batch runs the same kernel, because neighbouring threads share lines anyway.
bool offers(const plan_input& in, query_plan p) {
  constexpr std::size_t one_wave = std::size_t{1} << 18;
  const bool small = in.queries <= one_wave;
  switch (p) {
    case query_plan::small:
      return !in.on_gpu || small;
    case query_plan::scattered:
      return !in.on_gpu || !small;
    case query_plan::ordered:
      return in.order == batch_order::ascending;
    case query_plan::partition_first:
      return in.order != batch_order::ascending && in.leaf_bytes != 0 && !(in.on_gpu && small);
    default:
      return in.order != batch_order::ascending && !small;
  }
}

}  // namespace

double seconds(const plan_input& in, query_plan p) { return in.on_gpu ? gpu_seconds(in, p) : cpu_seconds(in, p); }

query_plan choose(const plan_input& in, query_plan wanted) {
  if (wanted != query_plan::automatic) return wanted;
  query_plan best = query_plan::scattered;
  for (const query_plan p :
       {query_plan::small, query_plan::ordered, query_plan::sort_first, query_plan::partition_first}) {
    if (offers(in, p) && (!offers(in, best) || seconds(in, p) <= seconds(in, best))) best = p;
  }
  return best;
}

explanation explain(const plan_input& in, query_plan wanted) {
  explanation e;
  for (const query_plan p : {query_plan::small, query_plan::scattered, query_plan::ordered, query_plan::sort_first,
                             query_plan::partition_first}) {
    if (offers(in, p) || p == wanted) e.candidates.push_back({p, seconds(in, p)});
  }
  e.chosen = choose(in, wanted);

  char line[160];
  std::snprintf(line, sizeof line, "plan %s for %zu queries on the %s%s\n", to_string(e.chosen).c_str(), in.queries,
                in.on_gpu ? "GPU" : "CPU", wanted == query_plan::automatic ? "" : " (chosen by the caller)");
  e.text = line;
  for (const auto& c : e.candidates) {
    std::snprintf(line, sizeof line, "  %-15s predicted %.3g ms\n", to_string(c.plan).c_str(), c.seconds * 1e3);
    e.text += line;
  }
  return e;
}

}  // namespace detail
}  // namespace espalier
