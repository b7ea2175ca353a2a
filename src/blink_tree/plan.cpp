// plan.cpp - the cost model of writes. The GPU's rates fit batches of 2^8 to 2^24 u64 pairs into 2^26 keys on an H200
// (bench/results/gpu-blink-distributions-2.json, random), the CPU's rates batches of 2^14 to 2^20 u64 pairs into 2^20
// to 2^26 keys on two Neoverse cores (docs/design/blink-tree.md); the rate of a single writer on a GPU is a guess.
#include "blink_tree/plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace espalier {

std::string to_string(protocol p) {
  switch (p) {
    case protocol::blink:
      return "link";
    case protocol::latch_coupling:
      return "couple";
    default:
      return "none";
  }
}
std::string to_string(inner_index u) { return u == inner_index::express_lane ? "express" : "classic"; }
std::string to_string(write_path p) {
  switch (p) {
    case write_path::per_key:
      return "per_key";
    case write_path::bulk:
      return "bulk";
    default:
      return "automatic";
  }
}

namespace detail {

write_explanation plan_write(const write_question& q, const write_options& options) {
  write_explanation e;
  const auto n = static_cast<double>(q.n);
  // A GPU merges with steps over all leaves, whatever the batch, except for updates; a CPU reads the touched leaves,
  // but rewrites the list of all leaves if one was split. Key by key, only the size of the batch counts.
  const double leaf_bytes = static_cast<double>(q.leaf_slots) * static_cast<double>(q.node_bytes) / 12;
  if (q.on_gpu) {
    // Keys of the same leaf wait for each other; if that takes longer, the elements that the first pass refused are
    // merged.
    const double meet = (n - 1) / static_cast<double>(std::max<std::size_t>(q.leaves, 1));
    const bool inserts = q.op == write_op::insert || q.op == write_op::insert_or_assign;
    const double wait = inserts ? 180e-6 : 5e-6 + n * 0.45e-9;
    e.per_key_seconds = 45e-6 + n / (q.one_writer ? 1e6 : inserts ? 2.2e9 : 3.5e9) + meet * wait;
    e.bulk_seconds = 180e-6 + n / 5e9 + (q.op == write_op::update ? 0 : leaf_bytes / 5e12);
  } else {
    const double threads = q.one_writer ? 1 : q.threads;
    e.per_key_seconds = n * (q.op == write_op::update ? 100e-9 : 130e-9) / threads;
    const double merge = q.op == write_op::update  ? n * 140e-9
                         : q.op == write_op::erase ? n * 100e-9 + leaf_bytes / 200e9
                                                   : n * 120e-9 + leaf_bytes / 60e9;
    e.bulk_seconds = merge / q.threads + 200e-6;
  }
  e.chosen = options.path != write_path::automatic ? options.path
             : e.bulk_seconds < e.per_key_seconds  ? write_path::bulk
                                                   : write_path::per_key;
  char text[200];
  std::snprintf(text, sizeof(text), "%s: key by key about %.3g s, sorted and merged about %.3g s%s",
                to_string(e.chosen).c_str(), e.per_key_seconds, e.bulk_seconds,
                options.path != write_path::automatic ? " (path chosen by the caller)" : "");
  e.text = text;
  return e;
}

// On a GPU thousands of teams that access one key wait for each other, which costs more than sorting the batch; a CPU
// has few threads. Below some thousand elements the launches cost more than either.
write_explanation plan_mixed(std::size_t n, bool mixed, const write_options& options, bool on_gpu, bool has_live_refs) {
  const bool ordered = options.semantics == batch_semantics::ordered;
  const bool asked = options.path != write_path::automatic;
  const bool wish = asked ? options.path == write_path::bulk : ordered || (on_gpu && mixed && n >= 4096);
  write_explanation e;
  e.chosen = wish && !has_live_refs ? write_path::bulk : write_path::per_key;
  e.text = e.chosen == write_path::bulk ? "bulk: sorted, equal keys taken together"
           : wish                       ? "per_key: element by element, since a ref is in use"
                                        : "per_key: element by element";
  if (asked && wish == (e.chosen == write_path::bulk)) e.text += " (path chosen by the caller)";
  return e;
}

namespace {

/// Batches up to this size are answered by the calling thread of a CPU.
constexpr std::size_t one_thread_reads = 512;

/// Seconds of n point queries on a CPU, as they come and bucket by bucket. Fitted to finds in 2^18 to 2^24 keys of a
/// Cascade Lake (docs/design/partition-first.md, B-link tree on a CPU): a query misses the caches at the lines of its
/// leaf, in buckets the less often, the more queries each KiB of leaves has.
struct read_seconds {
  double scattered, in_buckets;
};
read_seconds cpu_seconds(const read_question& q) {
  constexpr double start_threads = 8e-6, in_cache = 17e-9, fewest_misses = 0.1;
  const double bytes = std::max(static_cast<double>(q.leaf_bytes), 4.0 * 1024 * 1024);
  const double one = 38e-9 + 0.65e-9 * q.word_bytes * std::log2(bytes / (4.0 * 1024 * 1024));
  const double density = 1024.0 * static_cast<double>(q.n) / bytes;
  const double misses = fewest_misses + (1 - fewest_misses) / (1 + density / 6);
  const double passes = 6e-9 + 0.5e-9 * q.word_bytes;
  const unsigned threads = q.n <= one_thread_reads ? 1 : std::max(1u, q.threads);
  const double each = static_cast<double>(q.n) / threads;
  return {(threads == 1 ? 0 : start_threads) + each * one,
          3 * (threads == 1 ? 0 : start_threads) + each * (passes + in_cache + (one - in_cache) * misses)};
}

/// Whether a batch in no known order is large enough for buckets. GPU: from 2^25 keys on, in batches that make up for
/// some 40 us of launches; smaller trees were not measured. CPU: leaves beyond the private cache of a core.
bool is_worth_buckets(const read_question& q) {
  if (q.on_gpu) return q.n >= (std::size_t{1} << 22) && q.leaf_bytes >= 400'000'000;
  if (q.n < (std::size_t{1} << 17) || q.leaf_bytes < (std::size_t{1} << 22)) return false;
  const read_seconds s = cpu_seconds(q);
  return s.in_buckets < s.scattered;
}

const char* reason_of(const read_question& q, const query_options& options, batch_sample seen) {
  if (options.plan == query_plan::partition_first && q.has_buckets) return " (chosen by the caller)";
  if (!q.has_buckets) return ": there are no buckets, since the tree has no express lane or a ref is in use";
  if (options.plan != query_plan::automatic) return " (no buckets at the wish of the caller)";
  if (options.order == batch_order::ascending) return ": the batch ascends";
  if (!is_worth_buckets(q)) return ": the batch or the tree is too small for buckets";
  if (seen == batch_sample::ordered) return ": the batch ascends or descends";
  if (seen == batch_sample::few_leaves) return ": the batch asks for few leaves";
  return ": many queries in no order, and leaves beyond the caches";
}

}  // namespace

bool partitions_reads(const read_question& q, const query_options& options) {
  if (!q.has_buckets) return false;
  if (options.plan != query_plan::automatic) return options.plan == query_plan::partition_first;
  return options.order != batch_order::ascending && is_worth_buckets(q);
}

explanation plan_reads(const read_question& q, const query_options& options, batch_sample seen) {
  const bool asked = options.plan == query_plan::partition_first;
  const bool sample_agrees = asked || seen == batch_sample::none || seen == batch_sample::spread;
  const query_plan as_they_come = !q.on_gpu && q.n <= one_thread_reads ? query_plan::small : query_plan::scattered;
  explanation e;
  e.chosen = partitions_reads(q, options) && sample_agrees ? query_plan::partition_first : as_they_come;
  if (!q.on_gpu) {
    const read_seconds s = cpu_seconds(q);
    e.candidates.push_back({as_they_come, s.scattered});
    if (q.has_buckets) e.candidates.push_back({query_plan::partition_first, s.in_buckets});
  }
  char line[200];
  std::snprintf(line, sizeof line, "plan %s for %zu queries on the %s%s\n", to_string(e.chosen).c_str(), q.n,
                q.on_gpu ? "GPU" : "CPU", reason_of(q, options, seen));
  e.text = line;
  for (const auto& c : e.candidates) {
    std::snprintf(line, sizeof line, "  %-15s predicted %.3g ms\n", to_string(c.plan).c_str(), c.seconds * 1e3);
    e.text += line;
  }
  return e;
}

namespace {

// Seconds on an H200, fitted to gpu-blink-distributions (docs/design/blink-tree.md).

/// Time to sort and merge; the steps process all leaves of the span.
double merge_seconds(std::size_t n, std::size_t span, std::size_t node_bytes) {
  return 160e-6 + static_cast<double>(n) / 5e9 + static_cast<double>(span) * static_cast<double>(node_bytes) / 4e12;
}
/// Time of a second pass key by key, with splits: elements of the same leaf wait for each other.
double second_pass_seconds(std::size_t n, double queue) {
  return 20e-6 + queue * (6e-6 + static_cast<double>(n) * 0.45e-9);
}
double upper_levels_seconds(const leaf_sizes& tree) {
  return 100e-6 + static_cast<double>(tree.leaves) * static_cast<double>(tree.node_bytes) / 21e12;
}

}  // namespace

float merges_dense_from() { return 16.0f; }

bool merges_first(const batch_spread& spread, std::size_t n, const leaf_sizes& tree) {
  // Most of the elements left after a first pass are close together.
  const double rest = std::min(second_pass_seconds(n, static_cast<double>(spread.queue)), 130e-6);
  return merge_seconds(n, spread.span, tree.node_bytes) <
         upper_levels_seconds(tree) + 45e-6 + static_cast<double>(n) / 2.2e9 + rest;
}

bool merges_refused(std::size_t refused, std::size_t leaves) { return refused * 16 >= leaves; }

batch_spread even_spread(std::size_t n, const leaf_sizes& tree) {
  const std::size_t leaves = std::max<std::size_t>(tree.leaves, 1);
  return {1.0f + static_cast<float>(n) / static_cast<float>(leaves), static_cast<std::uint32_t>(leaves)};
}

// Of keys that are spread over the tree, a seventh finds a full leaf. A sample takes about 20 us.
bool may_have_met(std::size_t refused, std::size_t n) { return refused >= 64 && refused * 4 >= n; }

bool merges_rest(const batch_spread& spread, std::size_t refused, const leaf_sizes& tree) {
  return merge_seconds(refused, spread.span, tree.node_bytes) <
         second_pass_seconds(refused, static_cast<double>(spread.queue));
}

}  // namespace detail
}  // namespace espalier
